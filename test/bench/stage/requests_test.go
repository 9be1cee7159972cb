package stage

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/cluster"
)

func TestCount(t *testing.T) {
	got := count([]cluster.Request{
		{Verb: "create", Resource: "deployments", Code: 201},
		{Verb: "create", Resource: "deployments", Code: 409},
		{Verb: "patch", Resource: "memcacheds", Subresource: "status", Code: 200},
		{Verb: "create", Resource: "selfsubjectaccessreviews", Code: 201},
		{Verb: "list", Resource: "pods", Code: 200},
		{Verb: "get", URI: "/apis", Code: 200},
		{Verb: "watch", Resource: "pods", Code: 200, Stage: "ResponseStarted"},
		{Verb: "watch", Resource: "pods", Code: 200, Stage: "ResponseComplete"},
	})
	want := Counted{Writes: 3, Reads: 3, Failed: 1, Watches: 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Discovery and reviews are reads, a refused write is a write, a watch counts when it opens: -want +got:\n%s", diff)
	}
}
