// Package stage is where operators for Memcacheds are measured: a control plane on which
// only they write, the owners that they serve, and what there is to see of their work: an
// owner that has converged, and the requests of a user.
package stage
