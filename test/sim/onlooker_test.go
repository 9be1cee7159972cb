package sim_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

// lookOn calls see for each change of a resource in a namespace, all for none, one at a time, until the function that it returns is called, and
// has returned. It fails if a stream ends before.
func (s *stage) lookOn(resource schema.GroupVersionResource, namespace string, see func(apiwatch.EventType, *unstructured.Unstructured)) (end func()) {
	s.Helper()
	const years = 10 * 366 * 24 * 3600 // a watch that names no timeout ends after an hour or so
	stream, err := s.admin.Resource(resource).Namespace(namespace).Watch(s.Context(), metav1.ListOptions{TimeoutSeconds: ptr.To[int64](years)})
	if err != nil {
		s.Fatal(err)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != apiwatch.Bookmark {
				see(event.Type, object)
			}
		}
		select {
		case <-stopped:
		default:
			s.Errorf("the stream of %s has ended", resource.Resource)
		}
	}()
	return func() {
		close(stopped)
		stream.Stop()
		<-done
	}
}
