// Package version knows which build of Ambit this is. It reads nothing at run
// time: `make build` sets the version through the linker.
package version

// version is set with -ldflags "-X .../pkg/internal/version.version=...".
// Nothing else may change it.
var version = "devel"

// String returns the version of this build as `git describe` put it, such as
// `v0.1.0-3-gabc1234` or, without tags, a commit; `devel` for a build that did
// not come from the Makefile. It is never empty.
func String() string {
	if version == "" {
		return "devel"
	}
	return version
}
