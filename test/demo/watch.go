package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// seen are the objects that a watch shows, by name.
type seen map[string]*unstructured.Unstructured

// until watches the objects of a kind in a namespace until done says so; what
// names the awaited for the error when ctx ends first.
func until(ctx context.Context, objects dynamic.ResourceInterface, what string, done func(seen) bool) error {
	for ctx.Err() == nil {
		ok, err := watchOnce(ctx, objects, done)
		if err != nil {
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
		if ok {
			return nil
		}
	}
	return fmt.Errorf("waiting until %s: %w", what, context.Cause(ctx))
}

// watchOnce lists, then watches until done says so or the watch ends.
func watchOnce(ctx context.Context, objects dynamic.ResourceInterface, done func(seen) bool) (bool, error) {
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return false, ignoreEnd(ctx, err)
	}
	now := seen{}
	for i := range list.Items {
		now[list.Items[i].GetName()] = &list.Items[i]
	}
	if done(now) {
		return true, nil
	}
	w, err := objects.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return false, ignoreEnd(ctx, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if !now.take(event) {
			return false, nil
		}
		if done(now) {
			return true, nil
		}
	}
	return false, nil
}

// ignoreEnd returns nil if the request failed because ctx ended.
func ignoreEnd(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// take notes an event; false if the watch has to be opened again.
func (s seen) take(event watch.Event) bool {
	object, ok := event.Object.(*unstructured.Unstructured)
	switch {
	case !ok || event.Type == watch.Error:
		return false
	case event.Type == watch.Deleted:
		delete(s, object.GetName())
	case event.Type == watch.Added, event.Type == watch.Modified:
		s[object.GetName()] = object
	}
	return true
}

// number returns the integer at a path of an object; 0 if there is none, or no
// object.
func number(object *unstructured.Unstructured, path ...string) int64 {
	if object == nil {
		return 0
	}
	n, _, err := unstructured.NestedInt64(object.Object, path...)
	if err != nil {
		return 0
	}
	return n
}

// text returns the string at a path of an object; "" if there is none.
func text(object *unstructured.Unstructured, path ...string) string {
	s, _, err := unstructured.NestedString(object.Object, path...)
	if err != nil {
		return ""
	}
	return s
}
