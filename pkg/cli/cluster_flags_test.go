package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// kubeconfigText names a cluster and two users.
const kubeconfigText = `apiVersion: v1
kind: Config
current-context: first
contexts:
- {name: first, context: {cluster: here, user: one}}
- {name: second, context: {cluster: here, user: two}}
clusters:
- {name: here, cluster: {server: "https://here.example.com"}}
users:
- {name: one, user: {token: token-one}}
- {name: two, user: {token: token-two}}
`

// TestClusterFlags: what the flags change of what the kubeconfig says.
func TestClusterFlags(t *testing.T) {
	type connection struct {
		Host, Token string
		As          rest.ImpersonationConfig
	}
	cases := map[string]struct {
		reason string
		args   []string
		bare   bool // there is no kubeconfig
		want   connection
		err    string // a part of the error
	}{
		"Kubeconfig": {reason: "Its current context counts.", want: connection{Host: "https://here.example.com", Token: "token-one"}},
		"Context": {
			reason: "A flag names another context.",
			args:   []string{"--context", "second"}, want: connection{Host: "https://here.example.com", Token: "token-two"},
		},
		"User": {
			reason: "Or another user of it.",
			args:   []string{"--user", "two"}, want: connection{Host: "https://here.example.com", Token: "token-two"},
		},
		"Server": {
			reason: "Server and token of flags go before those of the file.",
			args:   []string{"-s", "https://there.example.com", "--token", "t"}, want: connection{Host: "https://there.example.com", Token: "t"},
		},
		"As": {
			reason: "Who to act as has several values of one extra, and a value may hold =.",
			args:   []string{"--as", "jane", "--as-uid", "7", "--as-group", "a", "--as-group", "b", "--as-user-extra", "scope=x", "--as-user-extra", "scope=y=z"},
			want: connection{Host: "https://here.example.com", Token: "token-one", As: rest.ImpersonationConfig{
				UserName: "jane", UID: "7", Groups: []string{"a", "b"}, Extra: map[string][]string{"scope": {"x", "y=z"}},
			}},
		},
		"ExtraAlone":    {reason: "An extra without a value is a mistake, not ignored.", args: []string{"--as-user-extra", "scope"}, err: `invalid argument "scope" for "--as-user-extra" flag: must be KEY=VALUE`},
		"ExtraUnkeyed":  {reason: "So is one without a key.", args: []string{"--as-user-extra", "=x"}, err: "must be KEY=VALUE"},
		"NoSuchContext": {reason: "What the file has not got is said.", args: []string{"--context", "third"}, err: `reading the kubeconfig: context "third" does not exist`},
		"Nowhere":       {reason: "Without a kubeconfig and outside of a cluster nothing is guessed.", bare: true, err: "there is no kubeconfig, and no cluster around this process"},
		"ServerAlone":   {reason: "A server is enough, also the one that client-go would guess.", bare: true, args: []string{"--server", defaultServer}, want: connection{Host: defaultServer}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			t.Setenv("KUBECONFIG", file)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			if !tc.bare {
				if err := os.WriteFile(file, []byte(kubeconfigText), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var cluster clusterFlags
			flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
			flags.SetOutput(io.Discard)
			cluster.addFlags(flags)
			err := flags.Parse(tc.args)
			var config *rest.Config
			if err == nil {
				config, err = cluster.restConfig()
			}
			if err != nil || tc.err != "" {
				if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			got := connection{Host: config.Host, Token: config.BearerToken, As: config.Impersonate}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
