package life

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// awaitHolder returns when the ConfigMap has changed since it was read, when it is time to
// look again, or when ctx ends. Without a version it returns at once.
func (l *Lock) awaitHolder(ctx context.Context) {
	if l.version == "" {
		return
	}
	if !l.blind && l.watchUntilGone(ctx) {
		return
	}
	wakeup.WaitFor(ctx, l.options.Clock, l.options.Poll, nil)
}

// watchUntilGone waits for a change by a watch. It is false if that could not be opened.
func (l *Lock) watchUntilGone(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	seconds := int64(l.options.Look/time.Second) + 1
	stream, err := l.options.Client.ConfigMaps(l.options.Namespace).Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector(metav1.ObjectNameField, l.options.Name).String(),
		ResourceVersion: l.version, TimeoutSeconds: &seconds,
	})
	if err != nil {
		if apierrors.IsForbidden(err) {
			l.options.Logger.Info("the leader's ConfigMap may not be watched: it is looked at every so often", "every", l.options.Poll)
			l.blind = true
		}
		return false
	}
	defer stream.Stop()
	timer := l.options.Clock.NewTimer(l.options.Look)
	defer timer.Stop()
	select {
	case event, open := <-stream.ResultChan():
		// A watch that breaks at once must not be opened again at once.
		return open && event.Type != watch.Error
	case <-timer.C():
	case <-ctx.Done():
	}
	return true
}
