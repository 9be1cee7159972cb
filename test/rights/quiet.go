package main

import (
	"context"
	"time"
)

// quiet measures what the open watches cost while nothing happens.
func (t *trial) quiet(ctx context.Context, got *result) error {
	got.streams = t.streams.total()
	progress("%s: %s with %d watches open", t.way.title, t.Quiet, got.streams)
	before, err := t.meter(ctx)
	if err != nil {
		return err
	}
	mark := t.control.Audit().Mark()
	if err := pause(ctx, t.Quiet); err != nil {
		return err
	}
	after, err := t.meter(ctx)
	if err != nil {
		return err
	}
	log, err := t.control.Audit().Since(mark, t.way.user)
	if err != nil {
		return err
	}
	seen, seconds := count(log), after.at.Sub(before.at).Seconds()
	got.cost = &cost{
		reopened: float64(seen.watches) / seconds,
		listed:   float64(seen.lists) / seconds,
		counted:  (after.reopens - before.reopens) / seconds,
		cpu:      (after.cpu - before.cpu).Seconds() / seconds,
	}
	return nil
}

// meter is what Ambit has used and done until a moment.
type meter struct {
	at      time.Time
	cpu     time.Duration
	reopens float64
}

func (t *trial) meter(ctx context.Context) (meter, error) {
	m, err := scrape(ctx, t.metricsURL)
	if err != nil {
		return meter{}, err
	}
	use, err := t.ambit.Usage()
	return meter{at: time.Now(), cpu: use.CPU, reopens: m.get("ambit_watch_reopens_total")}, err
}
