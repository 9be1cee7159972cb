package suites

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRewriteFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason, source, want string
		clients              bool
		calls                int
		function             string
	}{
		"values and calls": {
			reason: "a constructor is replaced where it is called and where it is handed on",
			source: `package a
import (
	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)
var _ = CacheTest(cache.New, cache.Options{})
var c, err = cache.New(cfg, cache.Options{})
`,
			want: `package a
import (
	. "github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)
var _ = CacheTest(ambitNewCache, cache.Options{})
var c, err = ambitNewCache(cfg, cache.Options{})
`,
			calls: 2,
		},
		"another name": {
			reason: "what counts is the path of the import",
			source: `package a
import (
	"github.com/onsi/ginkgo/v2"
	cache "example.com/other"
	crmanager "sigs.k8s.io/controller-runtime/pkg/manager"
)
func TestA(t *testing.T) { ginkgo.RunSpecs(t, "A") }
var m, err = crmanager.New(cfg, crmanager.Options{})
var c = cache.New()
`,
			want: `package a
import (
	"github.com/onsi/ginkgo/v2"
	cache "example.com/other"
	crmanager "sigs.k8s.io/controller-runtime/pkg/manager"
)
func TestA(t *testing.T) { ginkgo.RunSpecs(t, "A") }
var m, err = ambitNewManager(cfg, crmanager.Options{})
var c = cache.New()
`,
			calls: 1, function: "TestA",
		},
		"clients": {
			reason: "they are replaced where a cache is",
			source: `package a
import (
	"github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)
var c, err = client.New(cache.New(cfg, cache.Options{}))
`,
			want: `package a
import (
	"github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)
var c, err = ambitNewClient(ambitNewCache(cfg, cache.Options{}))
`,
			clients: true, calls: 1,
		},
		"only clients": {
			reason: "a file without a cache stays as it is",
			source: `package a
import (
	"github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)
var c, err = client.New(cfg, client.Options{})
`,
			want: `package a
import (
	"github.com/onsi/ginkgo/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)
var c, err = client.New(cfg, client.Options{})
`,
			clients: true,
		},
		"without ginkgo": {
			reason: "an example is no case of a suite",
			source: `package a
import "sigs.k8s.io/controller-runtime/pkg/manager"
var m, err = manager.New(cfg, manager.Options{})
`,
			want: `package a
import "sigs.k8s.io/controller-runtime/pkg/manager"
var m, err = manager.New(cfg, manager.Options{})
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rewriteFile([]byte(c.source), c.clients)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.source)); diff != "" || got.calls != c.calls || got.function != c.function {
				t.Errorf("%s: %d calls, suite %q\n%s", c.reason, got.calls, got.function, diff)
			}
		})
	}
}

// TestRewritePackage: what runs all cases, what runs those of a file, and what is refused.
func TestRewritePackage(t *testing.T) {
	t.Parallel()
	const (
		header = "package a\nimport (\n. \"github.com/onsi/ginkgo/v2\"\n\"sigs.k8s.io/controller-runtime/pkg/cache\"\n)\n"
		setUp  = header + "func TestSuite(t *testing.T) { RunSpecs(t, \"A\") }\n"
		makes  = "var c, err = cache.New(nil, cache.Options{})\n"
	)
	for name, c := range map[string]struct {
		reason  string
		files   map[string]string
		focus   []string
		refused bool
	}{
		"one file": {
			reason: "only its cases are run",
			files:  map[string]string{"a_suite_test.go": setUp, "a_test.go": header + makes, "b_test.go": header},
			focus:  []string{`(^|/)a_test\.go`},
		},
		"shared": {
			reason: "all cases are run when the cache is made for all",
			files:  map[string]string{"a_suite_test.go": setUp + makes, "b_test.go": header},
		},
		"nothing to replace": {
			reason:  "a suite that makes its caches in another way would prove nothing",
			files:   map[string]string{"a_suite_test.go": setUp},
			refused: true,
		},
		"no suite": {
			reason:  "nothing would run the cases",
			files:   map[string]string{"a_test.go": header + makes},
			refused: true,
		},
		"two suites": {
			reason:  "the cases of one would not be run",
			files:   map[string]string{"a_test.go": setUp + makes, "b_test.go": setUp},
			refused: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := rewritePackage(dir, false)
			if (err != nil) != c.refused {
				t.Fatalf("%s: %v", c.reason, err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(c.focus, got.focus()); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
			if _, err := os.Stat(filepath.Join(dir, "ambit_a_test.go")); err != nil {
				t.Error(err)
			}
		})
	}
}
