package objectclient

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// server answers every request alike.
type server struct {
	code int
	body string
}

// RoundTrip implements http.RoundTripper.
func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: s.code, Status: http.StatusText(s.code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(s.body)), Request: r,
	}, nil
}

// TestAnswers: every answer is what client-go's own client makes of it, and where that is an error
// there is one.
func TestAnswers(t *testing.T) {
	const object = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","generation":9007199254740993},"spec":{"x":[1.5,null,"\u00e9"]}}`
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	for name, s := range map[string]server{
		"Object":      {200, object},
		"Created":     {201, object},
		"List":        {200, `{"apiVersion":"apps/v1","kind":"DeploymentList","metadata":{"resourceVersion":"7"},"items":[` + object + `]}`},
		"Status":      {200, `{"apiVersion":"v1","kind":"Status","status":"Success","details":{"uid":"u"}}`},
		"Failure":     {200, `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","code":500}`},
		"Conflict":    {409, `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","reason":"Conflict","code":409}`},
		"PlainText":   {503, "not now"},
		"Empty":       {200, ``},
		"NoKind":      {200, `{"apiVersion":"v1"}`},
		"NoText":      {200, `{"apiVersion":"v1","kind":7}`},
		"NoObject":    {200, `["kind"]`},
		"Null":        {200, `null`},
		"Invalid":     {200, object + "}"},
		"LargeNumber": {200, `{"kind":"Deployment","spec":1e999}`},
	} {
		t.Run(name, func(t *testing.T) {
			config, transport := &rest.Config{Host: "http://api", QPS: -1}, &http.Client{Transport: s}
			theirs, err := dynamic.NewForConfigAndClient(config, transport)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := NewForConfigAndClient(config, transport)
			if err != nil {
				t.Fatal(err)
			}
			for verb, call := range map[string]func(dynamic.ResourceInterface) (any, error){
				"get":  func(c dynamic.ResourceInterface) (any, error) { return c.Get(t.Context(), "a", metav1.GetOptions{}) },
				"list": func(c dynamic.ResourceInterface) (any, error) { return c.List(t.Context(), metav1.ListOptions{}) },
				"apply": func(c dynamic.ResourceInterface) (any, error) {
					object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
					return c.Apply(t.Context(), "a", object, metav1.ApplyOptions{FieldManager: "m"})
				},
				"delete": func(c dynamic.ResourceInterface) (any, error) {
					return nil, c.Delete(t.Context(), "a", metav1.DeleteOptions{})
				},
			} {
				want, wantErr := call(theirs.Resource(gvr).Namespace("ns"))
				got, gotErr := call(ours.Resource(gvr).Namespace("ns"))
				if (wantErr == nil) != (gotErr == nil) || reflect.TypeOf(wantErr) != reflect.TypeOf(gotErr) && s.code != 200 {
					t.Errorf("%s: error %v, client-go says %v", verb, gotErr, wantErr)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-client-go +got):\n%s", verb, diff)
				}
			}
		})
	}
}

// FuzzDecode: whatever is an object for client-go is the same object here.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{`{"kind":"a"}`, `{"kind":"a","items":[{"kind":"b"}]}`, `{"kind":"a","kind":1}`, `{"kind":"Status","a":{"b":[{},-0.0]}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, got := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		_, wantKind, wantErr := unstructured.UnstructuredJSONScheme.Decode(data, nil, want)
		_, gotKind, gotErr := serializer{}.Decode(data, nil, got)
		if (wantErr == nil) != (gotErr == nil) {
			t.Fatalf("%q: error %v, client-go says %v", data, gotErr, wantErr)
		}
		if wantErr != nil {
			return
		}
		if !reflect.DeepEqual(want, got) || *wantKind != *gotKind {
			t.Errorf("of %q came %v, %v, want %v, %v", data, gotKind, got, wantKind, want)
		}
	})
}
