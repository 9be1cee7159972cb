package registry

import (
	"fmt"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/test/policytext"
)

// BenchmarkRegistry is what each event costs, by the number of policies, where nothing is new.
func BenchmarkRegistry(b *testing.B) {
	for _, n := range []int{100, 500, 2000} {
		shown := manifest.Snapshot{Complete: []manifest.Location{{Kind: manifest.ConfigMap}}}
		for i := range n {
			t := manifest.Manifest{
				Origin: manifest.Origin{Kind: manifest.ConfigMap, Namespace: fmt.Sprintf("team-%d", i), Name: "policies", Key: "a.yaml"},
				Data:   []byte(policytext.Document(fmt.Sprintf("policy-%d v1", i))),
			}
			t = t.WithDigest()
			shown.Manifests = append(shown.Manifests, t)
		}
		now := time.Now()
		registry := New("own", false)
		registry.TakeSnapshot(shown, now)
		registry.DecidePolicies(now)
		b.Run(fmt.Sprintf("read/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				registry.TakeSnapshot(shown, now)
			}
		})
		b.Run(fmt.Sprintf("decide/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				registry.DecidePolicies(now)
			}
		})
	}
}
