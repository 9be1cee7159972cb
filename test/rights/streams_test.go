package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/cluster"
)

// second is a moment, in microseconds too.
func second(s float64) time.Time {
	return time.Unix(1_900_000_000, 0).Add(time.Duration(s * float64(time.Second)))
}

func TestClosing(t *testing.T) {
	t.Parallel()
	ended := func(namespace string, at float64, code int) cluster.Request {
		return cluster.Request{Verb: "watch", Namespace: namespace, Code: code, Stage: "ResponseComplete", Time: second(0), Logged: second(at)}
	}
	opened := cluster.Request{Verb: "watch", Namespace: "one", Code: 200, Stage: "ResponseStarted", Time: second(12), Logged: second(12)}
	cases := map[string]struct {
		reason string
		log    []cluster.Request
		want   time.Time
	}{
		"Last": {"The last of the watches counts, to the microsecond.",
			[]cluster.Request{ended("one", 11.000002, 200), ended("one", 10.5, 200)}, second(11.000002)},
		"None":      {"What was closed before had nothing to close.", nil, second(10)},
		"Before":    {"Watches that ended before the moment are of another time.", []cluster.Request{ended("one", 9, 200)}, second(10)},
		"After":     {"So are those that ended because the owner was deleted.", []cluster.Request{ended("one", 21, 200)}, second(10)},
		"Refused":   {"A watch that was refused was never open.", []cluster.Request{ended("one", 11, 200), ended("one", 12, 403)}, second(11)},
		"Elsewhere": {"Other namespaces are not looked at.", []cluster.Request{ended("two", 11, 200), ended("", 12, 200)}, second(10)},
		"Opened":    {"An opening is no end.", []cluster.Request{opened}, second(10)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := closing(tc.log, "one", second(10), second(20)); !got.Equal(tc.want) {
				t.Errorf("%s closing() = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	got := count([]cluster.Request{
		{Verb: "watch", Resource: "pods", Code: 200, Stage: "ResponseStarted"},
		{Verb: "watch", Resource: "pods", Code: 200, Stage: "ResponseComplete"},
		{Verb: "watch", Resource: "pods", Code: 403, Stage: "ResponseComplete"},
		{Verb: "list", Resource: "pods", Code: 200, Stage: "ResponseComplete"},
		{Verb: "create", Resource: "selfsubjectrulesreviews", Code: 201, Stage: "ResponseComplete"},
		{Verb: "create", Resource: "selfsubjectaccessreviews", Code: 201, Stage: "ResponseComplete"},
		{Verb: "create", Resource: "deployments", Code: 201, Stage: "ResponseComplete"},
	})
	if diff := cmp.Diff(traffic{watches: 1, lists: 1, reviews: 2}, got, cmp.AllowUnexported(traffic{})); diff != "" {
		t.Errorf("Each request counts once: -want +got\n%s", diff)
	}
}
