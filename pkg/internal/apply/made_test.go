package apply_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/informer/projection"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/madevalues"
)

// masked is a server of one Secret that has it in a form that nobody would look for.
type masked struct{ secret []byte }

func mask(data []byte) []byte {
	out := make([]byte, len(data))
	for i, b := range data {
		out[i] = b ^ 0x5a
	}
	return out
}

// RoundTrip implements http.RoundTripper.
func (m *masked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		var object, patch map[string]any
		if err := json.Unmarshal(body, &patch); err != nil {
			return nil, err
		}
		object = patch
		if r.Method == http.MethodPatch {
			object = nil
			if err := json.Unmarshal(mask(m.secret), &object); err != nil {
				return nil, err
			}
			data := object["data"].(map[string]any)
			for key, value := range patch["data"].(map[string]any) {
				data[key] = value
			}
			object["metadata"].(map[string]any)["annotations"] = patch["metadata"].(map[string]any)["annotations"]
		} else {
			object["metadata"].(map[string]any)["uid"] = "uid"
		}
		object["metadata"].(map[string]any)["resourceVersion"] = "1"
		written, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		m.secret = mask(written)
		clear(body)
		clear(written)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(mask(m.secret))), Request: r}, nil
}

// value is what the server has under a key, masked.
func (m *masked) value(t *testing.T, key string) []byte {
	t.Helper()
	var object struct{ Data map[string][]byte }
	if err := json.Unmarshal(mask(m.secret), &object); err != nil {
		t.Fatal(err)
	}
	return mask(object.Data[key])
}

// TestHeap: once a value is written no live object of the process has it: not what is answered and kept, and not what writes it.
func TestHeap(t *testing.T) {
	server := &masked{}
	client, err := objectclient.NewForConfigAndClient(&rest.Config{Host: "http://api", QPS: -1}, &http.Client{Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	kept := projection.New(projection.Config{Fields: fields.AllFields(), Secrets: true})
	decode := func(data []byte) (*unstructured.Unstructured, error) {
		object, err := kept.Decode(data)
		return object.Unstructured, err
	}
	set, _ := recipe.CharacterSet("alphanumeric")
	request := &madevalues.Request{Recipes: []recipe.Recipe{
		recipe.Random{Key: "password", Length: 40, Characters: set, Rotation: recipe.Rotation{KeepPrevious: "previous"}},
		recipe.KeyPair{PrivateKey: "key", PublicKey: "pub"},
	}}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "ns"}}}
	action := plan.Action{Verb: plan.Create, Child: "c", GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Namespace: "ns", Name: "s", Object: object, Make: request}
	for _, partial := range []bool{true, false} {
		applier := apply.Applier{Client: client, Manager: "ambit/p", Identity: "me", Now: func() time.Time { return now }, Random: rand.Reader}
		if partial {
			applier.Writer = client.WriterOf(gvr, "ns", decode)
		}
		var outcomes []apply.Outcome
		for _, verb := range []plan.Verb{plan.Create, plan.MakeValues, plan.MakeValues} {
			action.Verb, action.UID = verb, "uid"
			if verb == plan.MakeValues {
				request.Recipes[0] = recipe.Random{Key: "password", Length: 41 + len(outcomes), Characters: set, Rotation: recipe.Rotation{KeepPrevious: "previous"}}
			}
			outcome, err := applier.CarryOut(t.Context(), action, apply.Target{Resource: gvr})
			if err != nil || outcome.Problem != nil || outcome.Object == nil {
				t.Fatalf("%s: %+v, %v", verb, outcome, err)
			}
			outcomes = append(outcomes, outcome)
		}
		for _, key := range []string{"password", "previous", "key"} { // never all at once in this process
			if at := searchHeap(t, server.value(t, key)); at != "" {
				t.Errorf("partial answers %t: the %s of the Secret is in the heap: %s", partial, key, at)
			}
		}
		runtime.KeepAlive(outcomes)
	}
	canary := append([]byte("canary-"), mask([]byte("0123456789"))...)
	if searchHeap(t, mask(canary)) == "" {
		t.Error("what is in the heap is not found")
	}
	runtime.KeepAlive(canary)
}

// searchHeap returns in which form a masked value is in a live object of the heap; empty if in none.
func searchHeap(t *testing.T, maskedValue []byte) string {
	t.Helper()
	if len(maskedValue) < 10 {
		t.Fatalf("a value of %d bytes", len(maskedValue))
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "heap"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	runtime.GC()
	runtime.GC()
	debug.WriteHeapDump(file.Fd())
	dump, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	value := mask(maskedValue)
	tail := value[len(value)/2:]
	encoded := []byte(base64.StdEncoding.EncodeToString(value))
	for name, form := range map[string][]byte{"as it is": tail, "base64": encoded[len(encoded)/2 : len(encoded)-4]} {
		if bytes.Contains(dump, form) {
			return name
		}
	}
	return ""
}
