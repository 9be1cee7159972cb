package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/test/cluster"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	results := []result{
		{step: "made", took: 1250 * time.Millisecond, lastWrite: 900 * time.Millisecond, cpu: 2 * time.Second, rss: 31.5 * (1 << 20),
			asked: requests{writes: map[request]int{{"patch", "tenants/status", 0}: 1, {"patch", "tenants/status", 404}: 1, {"create", "limitranges", 0}: 100}, reads: 7}},
		{step: "peace", took: time.Minute, rss: 32 << 20},
	}
	var out bytes.Buffer
	if err := write(&out, options{Namespaces: 100, Peace: time.Minute}, results); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			got = append(got, line)
		}
	}
	want := []string{
		"took last write writes failed reads CPU resident",
		"made 1.25 s 900 ms 102 1 7 2.00 s 31.5 MiB",
		"peace 60.00 s - 0 0 0 - 32.0 MiB",
		"writes made peace",
		"create limitranges 100 0",
		"patch tenants/status 1 0",
		"patch tenants/status (404) 1 0",
	}
	if diff := cmp.Diff(want, got[3:]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.HasPrefix(got[0], "A tenant of 100 namespaces, 1m0s of peace;") {
		t.Errorf("The table says what was measured: %q", got[0])
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	log := []cluster.Request{
		{Verb: "watch", Resource: "pods", Code: 200, Stage: "ResponseStarted", Logged: at(900)},
		{Verb: "list", Resource: "pods", Code: 200, Logged: at(800)},
		{Verb: "get", Code: 200, Logged: at(800)},
		{Verb: "create", Resource: "selfsubjectaccessreviews", Code: 201, Logged: at(700)},
		{Verb: "create", Resource: "limitranges", Code: 201, Logged: at(300)},
		{Verb: "create", Resource: "limitranges", Code: 409, Logged: at(100)},
		{Verb: "patch", Resource: "tenants", Subresource: "status", Code: 200, Logged: at(200)},
	}
	want := requests{writes: map[request]int{{"create", "limitranges", 0}: 1, {"create", "limitranges", 409}: 1, {"patch", "tenants/status", 0}: 1}, reads: 3}
	got := count(log)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(requests{}, request{})); diff != "" {
		t.Errorf("Reviews write nothing, watches are no requests (-want +got):\n%s", diff)
	}
	if got.all() != 3 || got.failed() != 1 || lastWrite(log, began) != 300*time.Millisecond {
		t.Errorf("%d writes, the last after %s; want 3, 300ms", got.all(), lastWrite(log, began))
	}
}

func TestIsReady(t *testing.T) {
	t.Parallel()
	owner := func(seen int64, ready string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{
			"observedGeneration": seen, "conditions": []any{map[string]any{"type": "Ready", "status": ready}}}}}
	}
	cases := map[string]struct {
		reason string
		owner  *unstructured.Unstructured
		want   bool
	}{
		"Ready": {"It is, and of this generation.", owner(2, "True"), true},
		"Not":   {"It is not.", owner(2, "False"), false},
		"Old":   {"It was.", owner(1, "True"), false},
		"New":   {"Nothing is said yet.", &unstructured.Unstructured{Object: map[string]any{}}, false},
	}
	for name, tc := range cases {
		if got := isReady(tc.owner); got != tc.want {
			t.Errorf("%s: %s isReady() = %t, want %t", name, tc.reason, got, tc.want)
		}
	}
}
