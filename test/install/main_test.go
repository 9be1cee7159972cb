package install

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ambit-dev/ambit/test/ambitbinary"
	"github.com/ambit-dev/ambit/test/cluster"
)

// root is the folder of the repository, as seen from this one.
const root = "../.."

// Users of the control plane, without any right at first.
const (
	operator = "operator" // may do everything in one namespace
	author   = "author"   // may edit policies in one namespace
	runner   = "runner"   // may edit policies and run Pods in one namespace
	actor    = "actor"    // may edit policies and impersonate one account
	tenant   = "tenant"   // has the roles view, edit and admin in turn
)

var control *cluster.Cluster

// built builds ambit once, when a test first needs it, and returns its path.
var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(builtFolder(), "ambit")
	return path, ambitbinary.Build(root, path)
})

// builtFolder is for this process alone. TestMain removes it.
func builtFolder() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("ambit-install-%d", os.Getpid()))
}

func TestMain(m *testing.M) {
	users := map[string][]string{operator: nil, author: nil, runner: nil, actor: nil, tenant: nil}
	options := cluster.Options{Users: users, CRDs: []string{root + "/manifests/demo/crd.yaml"}}
	code := cluster.Main(m, options, func(c *cluster.Cluster) { control = c })
	if err := os.RemoveAll(builtFolder()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
