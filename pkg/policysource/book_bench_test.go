package policysource

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkBook is what each event costs, by the number of policies, where nothing is new.
func BenchmarkBook(b *testing.B) {
	for _, n := range []int{100, 500, 2000} {
		shown := snapshot{complete: []place{{kind: ConfigMap}}}
		for i := range n {
			t := text{
				origin: Origin{Kind: ConfigMap, Namespace: fmt.Sprintf("team-%d", i), Name: "policies", Key: "a.yaml"},
				data:   []byte(documentText(fmt.Sprintf("policy-%d v1", i))),
			}
			t.digest, t.size = digestOf(t)
			shown.texts = append(shown.texts, t)
		}
		now := time.Now()
		book := newBook("own")
		book.read(shown, now)
		book.decide(now)
		b.Run(fmt.Sprintf("read/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				book.read(shown, now)
			}
		})
		b.Run(fmt.Sprintf("decide/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				book.decide(now)
			}
		})
	}
}
