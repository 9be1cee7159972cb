package e2e

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/test/cluster"
)

// streamsAre waits until the story's user has exactly these watches open at the
// API server, each as "resource namespace", with * for all namespaces.
func (w *world) streamsAre(want ...string) {
	w.t.Helper()
	want = append([]string{}, want...)
	slices.Sort(want)
	w.streams("all of them", want, func(cluster.Request) bool { return true })
}

// streamsIn is streamsAre for one namespace.
func (w *world) streamsIn(namespace string, resources ...string) {
	w.t.Helper()
	want := []string{}
	for _, resource := range resources {
		want = append(want, resource+" "+namespace)
	}
	slices.Sort(want)
	w.streams("those in "+namespace, want, func(r cluster.Request) bool { return r.Namespace == namespace })
}

func (w *world) streams(which string, want []string, counts func(cluster.Request) bool) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the open streams, %s, are %q", which, want), func(context.Context) error {
		open, err := w.control.Audit().OpenWatches(w.user)
		if err != nil {
			return err
		}
		got := []string{}
		for _, r := range open {
			if counts(r) {
				got = append(got, r.Resource+" "+orAll(r.Namespace))
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// streamsLast is streamsAre when they stay: a watch that was opened before RBAC objects were watched ends within four
// seconds, and is opened once more.
func (w *world) streamsLast(want ...string) {
	w.t.Helper()
	w.streamsAre(want...)
	w.patiently(5 * time.Second)
	w.streamsAre(want...)
}

func orAll(namespace string) string {
	if namespace == "" {
		return "*"
	}
	return namespace
}

// since are the requests of the story's user.
func (w *world) since(mark cluster.Mark, counts func(cluster.Request) bool) []cluster.Request {
	w.t.Helper()
	requests, err := w.control.Audit().Since(mark, w.user)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.DeleteFunc(requests, func(r cluster.Request) bool { return !counts(r) })
}

// none fails the test for each request since mark that counts.
func (w *world) none(mark cluster.Mark, what string, counts func(cluster.Request) bool) {
	w.t.Helper()
	for _, r := range w.since(mark, counts) {
		w.t.Errorf("%s: %s %s (%d, %s)", what, r.Verb, r.URI, r.Code, r.Stage)
	}
}

func isRefused(r cluster.Request) bool { return r.Code == 401 || r.Code == 403 }
