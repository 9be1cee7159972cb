package objectclient

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// writes is what a Writer has in common with a dynamic client.
type writes interface {
	Create(ctx context.Context, object *unstructured.Unstructured, opts metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
}

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// TestWriterRequests: a Writer sends what a dynamic client sends, but for the order of fields, with all options that there are.
func TestWriterRequests(t *testing.T) {
	force := true
	all := metav1.PatchOptions{DryRun: []string{"All"}, Force: &force, FieldManager: "us", FieldValidation: "Warn"}
	for field, value := range reflect.ValueOf(all).Fields() {
		if field.Name != "TypeMeta" && value.IsZero() {
			t.Errorf("option %s is new: setParams has to send it", field.Name)
		}
	}
	calls := map[string]func(writes) (*unstructured.Unstructured, error){
		"Create": func(w writes) (*unstructured.Unstructured, error) {
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"n": int64(3)}}}
			return w.Create(t.Context(), object, metav1.CreateOptions{FieldManager: "us/x", FieldValidation: "Strict"})
		},
		"DryRun": func(w writes) (*unstructured.Unstructured, error) {
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1"}}
			return w.Create(t.Context(), object, metav1.CreateOptions{DryRun: all.DryRun})
		},
		"Options": func(w writes) (*unstructured.Unstructured, error) {
			return w.Patch(t.Context(), "a", types.StrategicMergePatchType, []byte(`{"a":1}`), all)
		},
		"Apply": func(w writes) (*unstructured.Unstructured, error) {
			return w.Patch(t.Context(), "a:b", types.ApplyPatchType, []byte(`{"a":1}`), metav1.PatchOptions{FieldManager: "us", Force: &force})
		},
		"Status": func(w writes) (*unstructured.Unstructured, error) {
			return w.Patch(t.Context(), "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "status")
		},
	}
	for name, call := range calls {
		for _, gvr := range []schema.GroupVersionResource{deployments, {Version: "v1", Resource: "configmaps"}} {
			for _, namespace := range []string{"ns", ""} {
				var sent []string
				transport := &http.Client{Transport: recorder(func(r *http.Request, body string) {
					sent = append(sent, strings.Join([]string{r.Method, r.URL.String(), r.Header.Get("Content-Type"), r.Header.Get("Accept"), body}, "\n"))
				})}
				theirs, ours := bothClients(t, transport)
				if _, err := call(theirs.Resource(gvr).Namespace(namespace)); err != nil {
					t.Fatal(err)
				}
				if _, err := call(ours.WriterOf(gvr, namespace, decodeWhole)); err != nil {
					t.Fatal(err)
				}
				sent[0] = strings.TrimSpace(sent[0]) // client-go ends a body with a new line
				if name == "Create" {
					sent = []string{sortedBody(t, sent[0]), sortedBody(t, sent[1])}
				}
				if diff := cmp.Diff(sent[0], sent[1]); diff != "" {
					t.Errorf("%s of %s in %q (-client-go +got):\n%s", name, gvr.Resource, namespace, diff)
				}
			}
		}
	}
}

// TestWriterAnswers: where a dynamic client gives an object, so does a Writer, and where that gives an
// error, it gives one of the same meaning.
func TestWriterAnswers(t *testing.T) {
	const object = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"x":[1.5,null]}}`
	for name, s := range map[string]server{
		"Object":    {200, object},
		"Created":   {201, object},
		"Conflict":  {409, `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","reason":"Conflict","code":409}`},
		"Forbidden": {403, `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","reason":"Forbidden","code":403}`},
		"PlainText": {503, "not now"},
		"Empty":     {200, ``},
		"NoKind":    {200, `{"apiVersion":"v1"}`},
		"NoObject":  {200, `["kind"]`},
		"Invalid":   {200, object + "}"},
	} {
		t.Run(name, func(t *testing.T) {
			theirs, ours := bothClients(t, &http.Client{Transport: s})
			patch := func(w writes) (*unstructured.Unstructured, error) {
				return w.Patch(t.Context(), "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			}
			want, wantErr := patch(theirs.Resource(deployments).Namespace("ns"))
			got, gotErr := patch(ours.WriterOf(deployments, "ns", decodeWhole))
			if (wantErr == nil) != (gotErr == nil) || reflect.TypeOf(wantErr) != reflect.TypeOf(gotErr) && s.code != 200 {
				t.Errorf("error %v, client-go says %v", gotErr, wantErr)
			}
			if wantErr != nil {
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-client-go +got:\n%s", diff)
			}
		})
	}
}

// TestWriterRefuses: no request goes to another path than that of the object.
func TestWriterRefuses(t *testing.T) {
	_, ours := bothClients(t, &http.Client{Transport: recorder(func(r *http.Request, _ string) { t.Errorf("%s was asked for", r.URL) })})
	for _, names := range [][2]string{{"ns", ""}, {"ns", ".."}, {"ns", "a/b"}, {"..", "a"}, {"a/b", "a"}} {
		if _, err := ours.WriterOf(deployments, names[0], decodeWhole).Patch(t.Context(), names[1], types.MergePatchType, nil, metav1.PatchOptions{}); err == nil {
			t.Errorf("%q in %q gave no error", names[1], names[0])
		}
	}
	if _, err := ours.WriterOf(deployments, "ns", decodeWhole).Create(t.Context(), &unstructured.Unstructured{}, metav1.CreateOptions{}, "status"); err == nil {
		t.Error("to create a subresource gave no error")
	}
}

// recorder is a server that tells what it is asked.
type recorder func(r *http.Request, body string)

// RoundTrip implements http.RoundTripper.
func (tell recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	tell(r, string(body))
	return server{200, `{"apiVersion":"v1","kind":"ConfigMap"}`}.RoundTrip(r)
}

// sortedBody sorts the fields of the JSON in the last line.
func sortedBody(t *testing.T, request string) string {
	t.Helper()
	at := strings.LastIndex(request, "\n") + 1
	var body any
	if err := json.Unmarshal([]byte(request[at:]), &body); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return request[:at] + string(sorted)
}

func bothClients(t *testing.T, transport *http.Client) (theirs dynamic.Interface, ours *Client) {
	t.Helper()
	config := &rest.Config{Host: "http://api", QPS: -1}
	theirs, err := dynamic.NewForConfigAndClient(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	ours, err = NewForConfigAndClient(config, transport)
	if err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// decodeWhole leaves nothing out.
func decodeWhole(data []byte) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	return object, json.Unmarshal(data, &object.Object)
}
