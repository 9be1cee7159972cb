// Package kubebuilder has the operator that everybody begins with, for tests of package scopedcache: a Memcached
// operator in the layout and the shape that kubebuilder v4 scaffolds, which nothing here has been fitted to.
//
// The folders are those of a scaffolded project: api/v1alpha1 has the kind, internal/controller the reconciler, and
// cmd the program. The CustomResourceDefinition is that of examples/memcached. It differs from a scaffolded project in
// three things. There is no init and no global scheme, as nowhere in Ambit. Metrics are not guarded by access reviews,
// for which Ambit would need more modules; they are no reads of a cache. And the program's manager options are a
// parameter of newManager: the tests of cmd run it as it is, and with one more line.
package kubebuilder
