package streamstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// TestShows: whether a stream has come to a write. It has a at 5, and is itself at 7.
func TestShows(t *testing.T) {
	cases := map[string]struct {
		reason string
		object *corev1.ConfigMap
		want   bool
	}{
		"Same":      {reason: "it is shown as it was written", object: configMap("one", "a", "5"), want: true},
		"Past":      {reason: "the stream has come further", object: configMap("one", "a", "6"), want: true},
		"NotYet":    {reason: "the write is later than the stream", object: configMap("one", "a", "8")},
		"New":       {reason: "so is that of an object that it does not have", object: configMap("one", "b", "8")},
		"Gone":      {reason: "what was written before and is not there has gone again", object: configMap("one", "b", "6"), want: true},
		"Elsewhere": {reason: "a stream has no part in another namespace", object: configMap("two", "a", "8"), want: true},
	}
	for name, tc := range cases {
		s := newStage(Options{}, "one")
		must(t, s.storage("one").Replace([]any{configMap("one", "a", "5")}, "7"))
		if got := s.StreamOf("one").showsLocked(tc.object); got != tc.want {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
	}
}

// TestShowsDeletion: whether a stream shows that an object was deleted.
func TestShowsDeletion(t *testing.T) {
	withUID := func(o *corev1.ConfigMap, uid string) *corev1.ConfigMap { o.UID = types.UID(uid); return o }
	going := withUID(configMap("one", "going", "5"), "1")
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	cases := map[string]struct {
		reason string
		object *corev1.ConfigMap
		before string
		want   bool
	}{
		"There":     {reason: "it is still shown", object: withUID(configMap("one", "a", "5"), "1"), before: "5"},
		"Going":     {reason: "it has finalizers, and is on its way", object: withUID(configMap("one", "going", "5"), "1"), want: true},
		"Another":   {reason: "another one has its name", object: withUID(configMap("one", "a", "5"), "2"), want: true},
		"Gone":      {reason: "it was shown, and is not any more", object: configMap("one", "b", "8"), before: "6", want: true},
		"NotSeen":   {reason: "the stream has not come to the object yet", object: configMap("one", "b", "8")},
		"Unknown":   {reason: "nobody knows where to wait for", object: configMap("one", "b", ""), want: true},
		"Elsewhere": {reason: "a stream has no part in another namespace", object: configMap("two", "b", "8"), want: true},
	}
	for name, tc := range cases {
		s := newStage(Options{}, "one")
		must(t, s.storage("one").Replace([]any{withUID(configMap("one", "a", "5"), "1"), going}, "7"))
		if got := s.StreamOf("one").showsDeletionLocked(tc.object, tc.before); got != tc.want {
			t.Errorf("%s: %s: got %v", name, tc.reason, got)
		}
	}
}

// TestAwaitWritten: a writer waits for the event of its write or for a bookmark after it, and not for a stream that is
// refused or has ended.
func TestAwaitWritten(t *testing.T) {
	given := errors.New("given up")
	cases := map[string]struct {
		happens func(s *stage, end func(), giveUp func())
		err     error
	}{
		"Event":    {happens: func(s *stage, _, _ func()) { _ = s.storage("one").Update(configMap("one", "a", "8")) }},
		"Bookmark": {happens: func(s *stage, _, _ func()) { s.storage("one").UpdateResourceVersion("9") }},
		"List":     {happens: func(s *stage, _, _ func()) { _ = s.storage("one").Replace(nil, "8") }},
		"Refused":  {happens: func(s *stage, _, _ func()) { s.storage("one").DropAll(informer.Status{State: informer.Forbidden}) }},
		"Ended":    {happens: func(_ *stage, end, _ func()) { end() }},
		"GivenUp":  {happens: func(_ *stage, _, giveUp func()) { giveUp() }, err: given},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(Options{}, "one")
				must(t, s.storage("one").Replace([]any{configMap("one", "a", "5")}, "7"))
				ctx, cancel := context.WithCancelCause(t.Context())
				ended, done := make(chan struct{}), make(chan error, 1)
				go func() { done <- s.StreamOf("one").AwaitWritten(ctx, ended, configMap("one", "a", "8")) }()
				must(t, s.storage("one").Add(configMap("one", "b", "7"))) // something else
				synctest.Wait()
				if len(done) > 0 {
					t.Fatal("it did not wait")
				}
				tc.happens(s, func() { close(ended) }, func() { cancel(given) })
				synctest.Wait()
				if len(done) == 0 {
					t.Fatal("it still waits")
				}
				if err := <-done; !errors.Is(err, tc.err) {
					t.Errorf("got %v, want %v", err, tc.err)
				}
			})
		})
	}
}

// TestVersionShown: that of the object as it is stored, whatever is asked with.
func TestVersionShown(t *testing.T) {
	s := newStage(Options{}, "one")
	must(t, s.storage("one").Replace([]any{configMap("one", "a", "5")}, "7"))
	for name, want := range map[string]string{"a": "5", "b": ""} {
		if got := s.StreamOf("one").VersionShown(configMap("one", name, "9")); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
