package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestSchemasAreRead: what the start has read is used once more by the first source, and
// after that each policy that is new is compiled by the schemas that there are then.
func TestSchemasAreRead(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"paths": {}}`)
	}))
	defer server.Close()
	kinds := []schema.GroupVersionKind{{Group: "example.com", Version: "v1", Kind: "Thing"}, {Version: "v1", Kind: "ConfigMap"}}
	r := newSchemas(&rest.Config{Host: server.URL}, logr.Discard())
	for i, want := range []int32{1, 1, 2, 3, 4} {
		read := r.schemasOf
		if i == 0 {
			read = r.atStart
		}
		slices.Reverse(kinds) // the order of policies is no reason to ask again
		if read(t.Context(), kinds) == nil {
			t.Fatal("there are none")
		}
		if got := asked.Load(); got != want {
			t.Errorf("after %d policies it was asked %d times for schemas, want %d", i+1, got, want)
		}
	}
}
