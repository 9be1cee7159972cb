package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/test/bench/quantile"
	"github.com/ambit-dev/ambit/test/bench/report"
)

const (
	// touchEvery is the pace of the touches: slower than any side needs for one.
	touchEvery = 50 * time.Millisecond
	// touchBlock is how many owners of a side are touched in a row: enough for its programs to be as warm as at work.
	touchBlock = 20
	// touchStride spreads touches over the owners: a prime.
	touchStride = 7919
)

// toucher measures touches of all sides in alternation, each of them on a control plane of its own. A machine
// is a tenth faster or slower from one quarter of a minute to the next, which turns of a side one after
// another would take for a difference of the sides. For one goroutine.
type toucher struct {
	planes []*bench // as many as sides
	// took and requests are what touches have taken and had a side send, by its name.
	took     map[string][]time.Duration
	requests map[string]int
}

// measureTouches returns a sample of each side, by name, and leaves nothing behind.
func measureTouches(ctx context.Context, o options, sides []side) (samples map[string]sample, err error) {
	t := &toucher{took: map[string][]time.Duration{}, requests: map[string]int{}}
	defer func() {
		for _, plane := range t.planes {
			err = errors.Join(err, plane.stage.Close())
		}
	}()
	for range sides {
		plane, err := open(ctx, o, sides, touchMemory+o.Owners)
		if err != nil {
			return nil, err
		}
		t.planes = append(t.planes, plane)
	}
	// Control planes differ by a few percent, whatever they serve: in the second half the last side has the first.
	for half, order := range [][]side{sides, reversed(sides)} {
		report.Progress("touching owners, half %d of 2", half+1)
		if err := t.measureHalf(ctx, order); err != nil {
			return nil, err
		}
	}
	samples = map[string]sample{}
	for _, s := range sides {
		took := milliseconds(t.took[s.name])
		samples[s.name] = sample{
			touchP50: quantile.Of(took, 0.50), touchP99: quantile.Of(took, 0.99),
			touchRequests: float64(t.requests[s.name]) / float64(len(took)),
		}
	}
	return samples, nil
}

func reversed(sides []side) []side {
	sides = slices.Clone(sides)
	slices.Reverse(sides)
	return sides
}

// measureHalf measures half of the touches, the sides in that order on the control planes.
func (t *toucher) measureHalf(ctx context.Context, order []side) (err error) {
	turns := make([]*turn, len(order))
	for i, s := range order {
		turns[i] = t.planes[i].newTurn(s)
		defer func() { err = errors.Join(err, turns[i].clearStage(ctx)) }()
		if err := turns[i].serveOwners(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for _, on := range turns {
		on.began = on.stage.Requests.Now()
	}
	if err := t.alternateTouches(ctx, turns); err != nil {
		return err
	}
	for _, on := range turns {
		err := on.within(ctx, func(ctx context.Context) error { return t.countRequests(ctx, on) })
		if err != nil {
			return fmt.Errorf("%s: %w", on.side.name, err)
		}
	}
	return nil
}

// alternateTouches touches a block of owners of each side, then the next block of each.
func (t *toucher) alternateTouches(ctx context.Context, turns []*turn) error {
	pace := time.NewTicker(touchEvery)
	defer pace.Stop()
	for first := 0; first < turns[0].Touches; first += touchBlock {
		for k := range turns {
			on := turns[(first/touchBlock+k)%len(turns)] // nobody always comes after the same one
			err := on.within(ctx, func(ctx context.Context) error { return t.measureBlock(ctx, on, first, pace.C) })
			if err != nil {
				return fmt.Errorf("%s: %w", on.side.name, err)
			}
		}
	}
	return nil
}

// measureBlock measures from changes of owners' sizes until their Deployments have them, one after the other.
func (t *toucher) measureBlock(ctx context.Context, on *turn, first int, pace <-chan time.Time) error {
	for i := first; i < min(first+touchBlock, on.Touches); i++ {
		select {
		case <-pace:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		started := time.Now()
		at, err := on.stage.Grow(ctx, on.owners[(i*touchStride)%len(on.owners)])
		if err != nil {
			return err
		}
		t.took[on.side.name] = append(t.took[on.side.name], at.Sub(started))
	}
	return nil
}

// countRequests counts what the side has sent since its touches began.
func (t *toucher) countRequests(ctx context.Context, on *turn) error {
	counted, err := on.stage.Requests.Quiet(ctx, on.side.user(), on.began, 0)
	t.requests[on.side.name] += counted.Writes + counted.Reads
	return err
}
