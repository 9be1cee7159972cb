package access

import (
	"context"
	"testing"
	"time"
)

// TestJoin: what two users want to know is asked once, and what one declared is released when it ends.
func TestJoin(t *testing.T) {
	inBubble(t, Options{}, func(b *bench) {
		other := b.reviewer.ForUser()
		ctx, stop := context.WithCancel(b.Context())
		ended := make(chan error, 1)
		go func() { ended <- other.Start(ctx) }()
		team, mine, theirs := Key{Namespace: "team"}, newListener(), newListener()
		b.reviewer.Require(mine, Key{Namespace: "alone"}, []Access{list}, Payer{})
		b.pass(time.Second)
		alone := b.server.count()
		b.reviewer.Require(mine, Key{Namespace: "alone"}, nil, Payer{})
		b.reviewer.Require(mine, team, []Access{list}, Payer{})
		other.Require(theirs, team, []Access{list}, Payer{Group: "other"})
		b.pass(time.Second)
		expect(b, "reviews for both", alone, b.server.count()-alone)
		expect(b, "known to both", Denied, other.Decide(team, list))
		other.SetEventDriven(true)
		b.reviewer.SetEventDriven(false)
		b.pass(time.Second)
		b.reviewer.mu.Lock()
		expect(b, "one is enough", true, b.reviewer.triggered)
		b.reviewer.mu.Unlock()
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		b.reviewer.mu.Lock()
		expect(b, "who follows RBAC objects has ended", false, b.reviewer.triggered)
		expect(b, "subscribers left", 1, len(b.reviewer.places[team].subs))
		b.reviewer.mu.Unlock()
		other.Require(theirs, Key{Namespace: "late"}, []Access{list}, Payer{})
		b.reviewer.mu.Lock()
		expect(b, "places after the end of one", 1, len(b.reviewer.places))
		b.reviewer.mu.Unlock()
		before := b.server.count()
		b.pass(5 * time.Minute)
		if b.server.count() == before {
			b.Error("nothing is asked for who goes on")
		}
		if err := other.Start(b.Context()); err == nil {
			b.Error("it starts twice")
		}
	})
}
