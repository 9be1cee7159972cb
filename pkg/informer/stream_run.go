package informer

import (
	"context"
	"time"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// runEpochs is the stream's goroutine: epoch after epoch until ctx ends or the stream
// is stopped.
func (s *stream) runEpochs(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		s.stopStream()
		for _, st := range s.currentInformers() {
			st.stopInformer()
		}
	}()
	if !s.setCancel(cancel) {
		return
	}
	refusals := 0
	for ctx.Err() == nil {
		e, v := s.runEpoch(ctx)
		if ctx.Err() != nil {
			return
		}
		if !s.finishEpoch(e) {
			continue
		}
		if e.wasLive() {
			refusals = 0
		}
		refusals++
		e.closeEpoch(v)
		wait := s.env.epochBackoff(v.Class, refusals)
		e.reportClosed(v, wait)
		s.waitOrWake(ctx, wait)
	}
}

func (s *stream) setCancel(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel = cancel
	return !s.stopped
}

// runEpoch runs one epoch. It returns the epoch and what ended it. After the end of ctx, or of an epoch that was
// superseded, that means nothing.
func (s *stream) runEpoch(ctx context.Context) (*epoch, listwatch.Classification) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	e := s.beginEpoch(end)
	source, err := e.connectSource()
	if err != nil {
		return e, listwatch.Classification{Class: listwatch.Degraded, Reason: "NoClient", Err: err}
	}
	w := s.env.requests.NewListWatcher(listwatch.Config{
		Source: source, Resource: s.key.GVR.Resource,
		LabelSelector: s.key.LabelSelector, FieldSelector: s.key.FieldSelector, Fresh: e.continues,
		Epoch: e, Wait: s.waitOrWake, OnFailure: e.reportFailure,
		Logger: s.env.options.Logger.WithValues("stream", s.key.String()),
	})
	s.setListWatcher(e, w)
	if refusal := w.RunUntilRefused(ctx, e.reflectorStore()); refusal != nil {
		return e, *refusal
	}
	return e, listwatch.Classification{Class: listwatch.Forbidden} // by revoke
}

// beginEpoch starts an epoch, which end ends, for all informers of the stream. After one that was superseded it goes on
// where that was.
func (s *stream) beginEpoch(end context.CancelFunc) *epoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.epoch
	e := &epoch{stream: s, end: end, continues: before != nil && before.superseded.Load()}
	s.epoch = e
	for _, st := range s.informers {
		e.feeds = append(e.feeds, &feed{epoch: e, sharedInformer: st, number: st.enterEpoch(e.continues)})
	}
	return e
}

// finishEpoch reports whether an epoch has ended by itself, and not so that somebody can join.
func (s *stream) finishEpoch(e *epoch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.finished = !e.superseded.Load()
	return e.finished
}

// setListWatcher sets the list-watcher of an epoch.
func (s *stream) setListWatcher(e *epoch, w *listwatch.ListWatcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.listWatcher = w
}

// epochBackoff returns how long to wait before the next epoch, after so many refusals in a
// row.
func (e *environment) epochBackoff(class listwatch.Class, refusals int) time.Duration {
	after := e.options.Reconnect
	switch {
	case class == listwatch.Missing:
		after = e.options.Lookup
	case class.IsFinal():
		after = e.options.Retry
	}
	return after(refusals)
}
