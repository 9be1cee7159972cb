package permissions

import (
	"errors"
	"testing"
)

func TestJoinUnique(t *testing.T) {
	cases := map[string]struct {
		reason   string
		failures []error
		want     string
	}{
		"None":    {"No error is none.", []error{nil, nil}, ""},
		"Same":    {"The same trouble is said once.", []error{errors.New("refused"), nil, errors.New("refused")}, "refused"},
		"Several": {"All errors are said, in order.", []error{errors.New("refused"), errors.New("timeout")}, "refused\ntimeout"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := joinUnique(tc.failures); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
