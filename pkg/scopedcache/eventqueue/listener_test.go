package eventqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	toolscache "k8s.io/client-go/tools/cache"
)

// TestResync: a handler is told of the objects of each resync as often as that says, and after it what came before.
func TestResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[string]int{}
		handler := toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(_, object any) { told[object.(string)]++ }}
		of := func(name string) func() []any { return func() []any { return []any{name} } }
		l := NewListener("handler", handler, Resync{time.Minute, of("often")}, Resync{time.Hour, of("rarely")}, Resync{0, of("never")})
		done, ended := make(chan struct{}), make(chan struct{})
		go func() { defer close(ended); l.RunHandler(done) }()
		time.Sleep(100 * time.Minute)
		synctest.Wait()
		if n := told["often"]; n < 90 || n > 111 {
			t.Errorf("told %d times in 100 minutes of what is due each minute", n)
		}
		delete(told, "often")
		if diff := cmp.Diff(map[string]int{"rarely": 1}, told); diff != "" {
			t.Errorf("told of the rest (-want +got):\n%s", diff)
		}
		close(done)
		<-ended
	})
}
