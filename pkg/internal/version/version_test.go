package version

import "testing"

func TestString(t *testing.T) {
	built := version
	t.Cleanup(func() { version = built })

	cases := map[string]struct{ reason, set, want string }{
		"Linked":  {"The linker's value is the version.", "v0.1.0-3-gabc1234", "v0.1.0-3-gabc1234"},
		"Nothing": {"An empty linker value must not print as nothing.", "", "devel"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			version = tc.set
			if got := String(); got != tc.want {
				t.Errorf("%s String() = %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
