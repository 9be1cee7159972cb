package objectstore

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestSize: the estimate is near to what the heap says, for objects that share nothing.
func TestSize(t *testing.T) {
	for name, payload := range map[string]int{"small": 0, "large": 4000} {
		t.Run(name, func(t *testing.T) {
			const n = 2000
			before := heap()
			s := newStore()
			s.ReplaceAll(nil, "1")
			for i := range n {
				s.SetObject(sizedObject(i, payload))
			}
			took, said := heap()-before, s.EstimateBytes()
			if said < took/2 || said > took*2 {
				t.Errorf("%d objects take %d bytes, the estimate is %d", n, took, said)
			}
			runtime.KeepAlive(s)
		})
	}
	if got := newStore().EstimateBytes(); got != 0 {
		t.Errorf("an empty store takes %d bytes", got)
	}
}

func sizedObject(i, payload int) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing",
		"metadata": map[string]any{"namespace": "default", "name": fmt.Sprintf("thing-%d", i), "generation": int64(i)},
		"spec":     map[string]any{"list": []any{fmt.Sprintf("a-%d", i), fmt.Sprintf("b-%d", i)}, "text": strings.Repeat("x", payload+i%2)},
	}}
}

// heap is what is in use. Pools are emptied by the second collection only.
func heap() int {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}
