// Package stories holds no code: its tests tell, against a real control plane,
// how policies behave from end to end. Each story runs Ambit in this process as
// a user that has only the rights that the story grants.
package stories
