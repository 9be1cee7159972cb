package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/bench/quantile"
	"github.com/ambit-dev/ambit/test/cluster"
)

// flapSample is one resize of an owner in the namespace that is never touched:
// the nth of that owner.
type flapSample struct {
	owner string
	nth   int
}

// The sorts of samples: those in peace, those while namespaces flap, and those that
// only level the owners: they end with the size 2 for all.
const (
	flapQuiet  = "undisturbed"
	flapDuring = "during the flaps"
	flapLevel  = "leveling"
)

// flapFixed ends a phase after so many samples.
func flapFixed(n int) func(int) bool { return func(taken int) bool { return taken >= n } }

// sampledRound takes samples as long as a round of flaps lasts, and then as many in
// peace: what else the machine does meanwhile, and the mode of Ambit, are the same for
// both.
func (f *flaps) sampledRound(blind bool) {
	f.w.t.Helper()
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(f.w.t.Context())
	defer cancel()
	go func() { done <- f.sample(ctx, flapDuring, func(int) bool { return ctx.Err() != nil }) }()
	f.round(blind)
	cancel()
	if err := <-done; err != nil {
		f.w.t.Fatal(err)
	}
	f.converged("after the samples during a round")
	f.sampled(flapQuiet, flapFixed(len(f.samples[flapDuring])-len(f.samples[flapQuiet])))
}

func (f *flaps) sampled(phase string, enough func(int) bool) {
	f.w.t.Helper()
	if err := f.sample(f.w.t.Context(), phase, enough); err != nil {
		f.w.t.Fatal(err)
	}
}

// sample resizes the owners in turn, at a steady pace, each time waiting until
// the Deployment is written, until it has taken enough samples. When they were
// received and written is in the audit log. The end of ctx is no error: it ends a
// phase.
func (f *flaps) sample(ctx context.Context, phase string, enough func(taken int) bool) error {
	pace := time.NewTicker(flapPace)
	defer pace.Stop()
	for taken := 0; !enough(taken); taken++ {
		owner, nth := f.untouched[f.turn%flapStill], f.turn/flapStill
		f.turn++
		f.samples[phase] = append(f.samples[phase], flapSample{owner: owner, nth: nth})
		// A sample that has begun is finished: it is paired by its number.
		if err := f.resizeStill(context.WithoutCancel(ctx), owner, int32(2-nth%2)); err != nil {
			return err
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
		}
	}
	return nil
}

func (f *flaps) resizeStill(ctx context.Context, owner string, size int32) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
	if _, err := f.w.objects.Resource(memcacheds).Namespace(f.still).Patch(ctx, owner, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("resizing %s: %w", owner, err)
	}
	for {
		d, err := f.w.typed.AppsV1().Deployments(f.still).Get(ctx, owner, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("waiting for Deployment %s: %w", owner, err)
		}
		if *d.Spec.Replicas == size {
			return nil
		}
		if err := flapWait(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for Deployment %s of size %d: %w", owner, size, err)
		}
	}
}

// latencies compares how long it took from the moment that the API server
// received a resize to the moment that it answered the write of the Deployment,
// both by its own clock: during the flaps, and between their rounds.
func (f *flaps) latencies() {
	f.w.t.Helper()
	by := map[string][]flapTook{}
	f.w.eventually("all samples are in the audit log", func(context.Context) error {
		requests, err := f.w.control.Audit().Since(cluster.Mark{}, "")
		if err != nil {
			return err
		}
		for phase, samples := range f.samples {
			if by[phase], err = f.pair(requests, samples); err != nil {
				return err
			}
		}
		return nil
	})
	for _, phase := range []string{flapQuiet, flapDuring} {
		ms := milliseconds(by[phase], flapTook.whole)
		f.w.t.Logf("resize to Deployment written, %s: %d samples, p50 %.1f ms, p99 %.1f ms, max %.1f ms", phase, len(ms), quantile.Of(ms, 0.5), quantile.Of(ms, 0.99), quantile.Of(ms, 1))
		f.w.t.Logf("p99 of the parts: %.1f ms the API server with the resize, %.1f ms from there until the write arrives, %.1f ms the API server with the write",
			quantile.Of(milliseconds(by[phase], flapTook.resizing), 0.99), quantile.Of(milliseconds(by[phase], flapTook.between), 0.99), quantile.Of(milliseconds(by[phase], flapTook.writing), 0.99))
	}
	undisturbed, during := milliseconds(by[flapQuiet], flapTook.whole), milliseconds(by[flapDuring], flapTook.whole)
	quiet, disturbed := quantile.Of(undisturbed, 0.99), quantile.Of(during, 0.99)
	f.w.t.Logf("undisturbed, between the rounds: %d samples, p99 %.1f ms; during the flaps: %d samples, p99 %.1f ms, which is %.2f times as long",
		len(undisturbed), quiet, len(during), disturbed, disturbed/quiet)
	if len(undisturbed) != len(during) || len(during) < flapSamples {
		f.w.t.Errorf("%d samples undisturbed, %d during the flaps: want as many, and at least %d", len(undisturbed), len(during), flapSamples)
	}
	if disturbed > flapSlower*quiet {
		f.w.t.Errorf("p99 is %.1f ms during the flaps, more than %.0f times the undisturbed %.1f ms", disturbed, flapSlower, quiet)
	}
}

// flapTook is what the audit log says of one sample.
type flapTook struct{ resize, write cluster.Request }

func (t flapTook) whole() time.Duration    { return t.write.Logged.Sub(t.resize.Time) }
func (t flapTook) resizing() time.Duration { return t.resize.Logged.Sub(t.resize.Time) }
func (t flapTook) between() time.Duration  { return t.write.Time.Sub(t.resize.Logged) }
func (t flapTook) writing() time.Duration  { return t.write.Logged.Sub(t.write.Time) }

func milliseconds(took []flapTook, part func(flapTook) time.Duration) []float64 {
	var list []float64
	for _, t := range took {
		list = append(list, float64(part(t).Microseconds())/1000)
	}
	return list
}

// pair finds the resize and the write of each sample.
func (f *flaps) pair(requests []cluster.Request, samples []flapSample) ([]flapTook, error) {
	resized, written := map[string][]cluster.Request{}, map[string][]cluster.Request{}
	for _, r := range requests {
		switch {
		case r.Namespace != f.still || r.Verb != "patch" || r.Code != 200 || r.Subresource != "":
		case r.Resource == "memcacheds" && r.User != f.w.user:
			resized[r.Name] = append(resized[r.Name], r)
		case r.Resource == "deployments" && r.User == f.w.user:
			written[r.Name] = append(written[r.Name], r)
		}
	}
	var took []flapTook
	for _, s := range samples {
		if s.nth >= len(resized[s.owner]) {
			return nil, fmt.Errorf("resize %d of %s is not there", s.nth, s.owner)
		}
		at := resized[s.owner][s.nth].Time
		i := slices.IndexFunc(written[s.owner], func(r cluster.Request) bool { return r.Time.After(at) })
		if i < 0 {
			return nil, errors.New("the write after a resize is not there")
		}
		took = append(took, flapTook{resize: resized[s.owner][s.nth], write: written[s.owner][i]})
	}
	return took, nil
}
