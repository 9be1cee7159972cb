package manager

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mebibyte = 1 << 20

func TestMemoryLook(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	before := memoryReturner{allocated: 500 * mebibyte, hadBurst: true, returned: start, returnedAt: 100 * mebibyte, pause: 2 * time.Second}
	type outcome struct {
		GiveBack bool
		Pause    time.Duration
	}
	cases := map[string]struct {
		reason string
		after  time.Duration // since memory was given back last
		use    memoryUse
		want   outcome
	}{
		"AfterBurst": {
			"Nothing is allocated any more, and half of the memory is garbage.", time.Minute,
			memoryUse{used: 40 * mebibyte, spare: 40 * mebibyte, allocated: 500 * mebibyte}, outcome{true, lookSoon},
		},
		"AtWork": {
			"What is given back at work is taken again.", time.Minute,
			memoryUse{used: 40 * mebibyte, spare: 40 * mebibyte, allocated: 503 * mebibyte}, outcome{false, lookSoon},
		},
		"LargeHeap": {
			"Some watch events are no work for a process of this size.", time.Minute,
			memoryUse{used: 320 * mebibyte, spare: 90 * mebibyte, allocated: 503 * mebibyte}, outcome{true, lookSoon},
		},
		"TooSoon": {
			"A load that comes and goes is not slowed down.", returnPause - 1,
			memoryUse{used: 40 * mebibyte, spare: 40 * mebibyte, allocated: 500 * mebibyte}, outcome{false, lookSoon},
		},
		"LittleSpare": {
			"A collection would cost more than it gives.", time.Minute,
			memoryUse{used: 40 * mebibyte, spare: 4 * mebibyte, allocated: 500 * mebibyte}, outcome{false, 4 * time.Second},
		},
		"LittleSpareSmallHeap": {
			"A little is not worth it, whatever share of a small heap it is.", time.Minute,
			memoryUse{used: 3 * mebibyte, spare: mebibyte / 2, allocated: 500 * mebibyte}, outcome{false, 4 * time.Second},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := before
			got := outcome{r.decideReturn(start.Add(tc.after), tc.use), r.pause}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s look(): -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMemoryStays: what cannot be given back is not tried for again and again.
func TestMemoryStays(t *testing.T) {
	r, now, use := &memoryReturner{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), memoryUse{used: 8 * mebibyte, spare: 50 * mebibyte}
	given := 0
	for range 320 {
		now, use.allocated = now.Add(returnPause), use.allocated+mebibyte/8
		if r.decideReturn(now, use) {
			given++
		}
	}
	if want := 320 / 8 / 8; given != want {
		t.Errorf("Memory was given back %d times, want %d: once each time that as much as is in use was allocated.", given, want)
	}
}

// TestMemoryAfterLightWork: work that comes and goes, and is no burst, has memory given back every few minutes
// only, however often it is quiet in between; a burst, of several looks together, has it given back at once.
func TestMemoryAfterLightWork(t *testing.T) {
	r, now, use := &memoryReturner{}, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), memoryUse{used: 12 * mebibyte, spare: 6 * mebibyte, allocated: 30 * mebibyte}
	given := []time.Duration{}
	began := now
	look := func(allocated uint64) {
		use.allocated += allocated * mebibyte
		if now = now.Add(lookSoon); r.decideReturn(now, use) {
			given = append(given, now.Sub(began))
		}
	}
	look(0)
	for range 300 { // twenty minutes
		for _, allocated := range []uint64{3, 3, 0, 0} {
			look(allocated)
		}
	}
	if len(given) != 4 || given[0] > 4*time.Second {
		t.Errorf("Memory was given back at %v, want once after the start, and then every five minutes.", given)
	}
	given, began = nil, now
	for _, allocated := range []uint64{13, 13, 0, 0, 3, 0, 0, 3, 0, 0} {
		look(allocated)
	}
	if diff := cmp.Diff([]time.Duration{3 * lookSoon}, given); diff != "" {
		t.Errorf("After a burst memory was given back at other times than at the first quiet look (-want +got):\n%s", diff)
	}
}

// TestReturnMemory is a start, an hour of quiet, a burst of half a minute, and quiet again.
func TestReturnMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		burst := func(since time.Duration) bool { return since > time.Hour && since <= time.Hour+30*time.Second }
		use := memoryUse{used: 10 * mebibyte, spare: 20 * mebibyte, allocated: 30 * mebibyte}
		looks, given := 0, []time.Duration{}
		read := func() memoryUse {
			if looks++; burst(time.Since(began)) {
				use.allocated += 30 * mebibyte
				use.spare += 5 * mebibyte
			}
			return use
		}
		giveBack := func() {
			given = append(given, time.Since(began).Round(time.Second))
			use.spare = 0
		}
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
		defer stop()
		returnWhenQuiet(ctx, read, giveBack)
		if len(given) != 2 || given[0] > 2*time.Second || given[1] < time.Hour+30*time.Second || given[1] > time.Hour+33*time.Second {
			t.Errorf("Memory was given back at %v, want once after the start, and once a second or two after the burst.", given)
		}
		if most := int(2*time.Hour/lookLate) + 60; looks > most {
			t.Errorf("Looked %d times in two hours, want at most %d: quiet is quiet.", looks, most)
		}
	})
}

// TestReadMemoryUse: the runtime knows the figures that are asked for.
func TestReadMemoryUse(t *testing.T) {
	if use := readMemoryUse(); use.allocated == 0 {
		t.Errorf("readMemoryUse() = %+v, want what the test has allocated.", use)
	}
}
