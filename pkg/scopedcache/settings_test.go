package scopedcache

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newNoInformer(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return nil
}

// TestRefused: what is not supported is refused by name, when the cache is made.
func TestRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		own     Options
		options cache.Options
		want    string
	}{
		"NewInformer": {
			options: cache.Options{NewInformer: newNoInformer},
			want:    "making a scoped cache: NewInformer is not supported: its informers are those of Ambit",
		},
		"Twice": {
			own:     Options{Namespaces: InNamespaces("a")},
			options: cache.Options{DefaultNamespaces: map[string]cache.Config{"b": {}}},
			want:    "making a scoped cache: both DefaultNamespaces and Namespaces are given",
		},
		"Empty": {
			own:  Options{Namespaces: InNamespaces("a", "")},
			want: "naming the namespaces of a cache: one of the names is empty",
		},
		"Field": {
			own:  Options{Fields: map[client.Object][]string{&appsv1.Deployment{}: Fields("spec.replica")}},
			want: "keeping fields: there is no Deployment.spec.replica",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(tc.own)(&rest.Config{}, tc.options)
			if err == nil || err.Error() != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}
