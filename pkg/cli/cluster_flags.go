package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ambit-dev/ambit/pkg/internal/version"
)

// clusterFlags are kubectl's flags for reaching a cluster, those that make sense for a
// program that runs on: no timeout for its streams, no cache folder, no default namespace.
// They are those of client-go: kubectl's own come with kustomize.
type clusterFlags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
	// noUser: there is no flag for a user of the kubeconfig.
	noUser bool
}

// addFlags adds the flags.
func (f *clusterFlags) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "Path to the kubeconfig file")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.Timeout, names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	names.ClusterOverrideFlags.DisableCompression = clientcmd.FlagInfo{}
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	if f.noUser {
		names.ContextOverrideFlags.AuthInfoName = clientcmd.FlagInfo{}
	}
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
	flags.Var(userExtra{f}, "as-user-extra", "Extra of the user to impersonate: KEY=VALUE, this flag can be repeated to specify multiple extras, and multiple values of one.")
}

// userExtra is the flag --as-user-extra, which client-go has not got.
type userExtra struct{ flags *clusterFlags }

// String is the default, which is not shown.
func (userExtra) String() string { return "" }

// Type names the value in the help.
func (userExtra) Type() string { return "KEY=VALUE" }

// Set adds a value.
func (u userExtra) Set(text string) error {
	key, value, found := strings.Cut(text, "=")
	if !found || key == "" {
		return errors.New("must be KEY=VALUE")
	}
	user := &u.flags.overrides.AuthInfo
	if user.ImpersonateUserExtra == nil {
		user.ImpersonateUserExtra = map[string][]string{}
	}
	user.ImpersonateUserExtra[key] = append(user.ImpersonateUserExtra[key], value)
	return nil
}

// defaultServer is what client-go falls back to where nothing names a server. An operator
// that went on with it would only say that nobody answers.
const defaultServer = "http://localhost:8080"

// restConfig returns how the flags say to reach the API server: as the kubeconfig says,
// or without one as the Pod does that the process is in.
func (f *clusterFlags) restConfig() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath, rules.DefaultClientConfig = f.kubeconfig, &clientcmd.DefaultClientConfig
	overrides := f.overrides
	overrides.ClusterDefaults = clientcmd.ClusterDefaults
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if config.Host == defaultServer && f.overrides.ClusterInfo.Server == "" {
		return nil, errors.New("there is no kubeconfig, and no cluster around this process: use --kubeconfig or --server")
	}
	config.UserAgent = "ambit/" + version.String()
	return config, nil
}
