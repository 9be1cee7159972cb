package projection

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
	"github.com/ambit-dev/ambit/pkg/internal/packed"
)

// BenchmarkProject is what an object costs on entry, and what is kept of it: a
// Deployment and a Pod as the real API server and its controllers made them,
// with the fields that the Memcached policy reads.
func BenchmarkProject(b *testing.B) {
	for _, c := range benchmarkCases() {
		b.Run(c.file, func(b *testing.B) { benchmarkProject(b, newProjector(c.config), readCompact(b, c.file)) })
	}
}

// benchmarkCase is an object and what is kept of it.
type benchmarkCase struct {
	file   string
	config Config
}

func benchmarkCases() []benchmarkCase {
	return []benchmarkCase{
		{"deployment.json", Config{Manager: "ambit/memcached", Fields: deploymentFields()}},
		{"pod.json", Config{Fields: fields.New("metadata.generation", "metadata.ownerReferences", "metadata.finalizers", "status.phase")}},
	}
}

// readCompact reads an object as an API server sends it.
func readCompact(b *testing.B, file string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		b.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		b.Fatal(err)
	}
	return compact.Bytes()
}

// BenchmarkDecode is what an event costs from its bytes to the object that is kept: as a whole first,
// and only what is kept. The objects are those of many owners.
func BenchmarkDecode(b *testing.B) {
	const many = 1000
	for _, c := range benchmarkCases() {
		data := make([][]byte, many)
		for i := range data {
			data[i] = another(readCompact(b, c.file), i)
		}
		for name, decode := range map[string]func(*Projection, []byte) error{
			"whole": func(p *Projection, data []byte) error {
				object := &unstructured.Unstructured{}
				if err := object.UnmarshalJSON(data); err != nil {
					return err
				}
				_, err := p.ProjectDelivered(object)
				return err
			},
			"kept": func(p *Projection, data []byte) error {
				d := jsonwalk.NewDecoder(bytes.NewReader(data))
				value, err := d.ReadValue()
				if err != nil {
					return err
				}
				_, err = p.Decode(value)
				return err
			},
		} {
			b.Run(c.file+"/"+name, func(b *testing.B) {
				p := New(c.config)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if err := decode(p, data[i%many]); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkPack is what it costs to pack an object for the store, and to unpack it for a reader.
func BenchmarkPack(b *testing.B) {
	const many = 1000
	for _, c := range benchmarkCases() {
		p := New(c.config)
		objects, stored := make([]*unstructured.Unstructured, many), make([]packed.Map, many)
		for i := range objects {
			decoded, err := p.Decode(another(readCompact(b, c.file), i))
			if err != nil {
				b.Fatal(err)
			}
			objects[i] = decoded.Unstructured
			stored[i] = p.Pack(objects[i])
		}
		b.Run(c.file+"/pack", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Pack(objects[i%many])
			}
			b.ReportMetric(float64(stored[many-1].SizeBytes()), "B-packed/object")
		})
		b.Run(c.file+"/unpack", func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				p.Unpack(stored[i%many])
			}
		})
	}
}

// deploymentFields is what the policy sets and reads of its Deployment.
func deploymentFields() *fields.Set {
	pod, container := "spec.template.spec.", "spec.template.spec.containers.*."
	return fields.New("metadata.generation", "metadata.ownerReferences", "metadata.finalizers",
		"spec.replicas", "spec.selector", "spec.template.metadata.labels", pod+"securityContext",
		container+"name", container+"image", container+"imagePullPolicy", container+"command",
		container+"ports", container+"securityContext", "status.availableReplicas")
}

func benchmarkProject(b *testing.B, p projector, data []byte) {
	object := decoded(b, data)
	b.ReportAllocs()
	for b.Loop() {
		p.projectObject(object)
	}
	b.ReportMetric(kept(b, data, func(obj *unstructured.Unstructured) *unstructured.Unstructured { return obj }), "B-whole/object")
	b.ReportMetric(kept(b, data, p.projectObject), "B-alone/object")
	in := newInterner()
	b.ReportMetric(kept(b, data, func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		object := p.projectObject(obj)
		in.internObject(object)
		return object
	}), "B-kept/object")
	decoding := Projection{form: &form{projector: p, interner: newInterner()}}
	b.ReportMetric(kept(b, data, func(obj *unstructured.Unstructured) *unstructured.Unstructured {
		data, err := json.Marshal(obj.Object)
		if err != nil {
			b.Fatal(err)
		}
		object, err := decoding.Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		return object.Unstructured
	}), "B-decoded/object")
}

// kept is what memory an object takes after reduce, one of many.
func kept(b *testing.B, data []byte, reduce func(*unstructured.Unstructured) *unstructured.Unstructured) float64 {
	const many = 1000
	objects := make([]*unstructured.Unstructured, many)
	before := memory()
	for i := range objects {
		objects[i] = reduce(decoded(b, another(data, i)))
	}
	bytes := float64(memory() - before)
	runtime.KeepAlive(objects)
	return bytes / many
}

// another returns the object of another owner.
func another(data []byte, i int) []byte {
	data = bytes.ReplaceAll(data, []byte("sample"), fmt.Append(nil, "sample-", i))
	return bytes.ReplaceAll(data, []byte("11111111-"), fmt.Appendf(nil, "%08d-", i))
}

func decoded(b *testing.B, data []byte) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, object); err != nil {
		b.Fatal(err)
	}
	return object
}

// BenchmarkIntern is what sharing costs for each event.
func BenchmarkIntern(b *testing.B) {
	data, err := os.ReadFile("testdata/deployment.json")
	if err != nil {
		b.Fatal(err)
	}
	p := newProjector(Config{Manager: "ambit/memcached", Fields: deploymentFields()})
	object, in := p.projectObject(decoded(b, data)), newInterner()
	b.ReportAllocs()
	for b.Loop() {
		in.internObject(object)
	}
}

// memory is what is in use after a collection, stacks included.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc + stats.StackInuse)
}
