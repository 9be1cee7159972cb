// Package e2e holds no code: its tests are stories, which tell on a real control plane that
// Ambit keeps a promise. Each runs Ambit in this process as a user that has only the
// rights that the story grants. README.md says which promise each one tells.
package e2e
