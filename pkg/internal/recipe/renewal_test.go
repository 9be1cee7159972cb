package recipe_test

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
	_ "github.com/ambit-dev/ambit/test/draws/fewer"
)

// handed is something that was handed out, for as long as it was what one gets.
type handed struct {
	text     string
	from, to time.Time // to: when something else took its place; zero: not yet
}

type history []handed

func (h history) note(text string, now time.Time) history {
	if n := len(h); n > 0 {
		if h[n-1].text == text {
			return h
		}
		h[n-1].to = now
	}
	return append(h, handed{text: text, from: now})
}

// verifier says whether clients with a bundle take a server's certificate, from now until that ends.
type verifier map[[2]string]bool

func (v verifier) verify(bundle, certificate string, now time.Time) error {
	if v[[2]string{bundle, certificate}] {
		return nil
	}
	block, _ := pem.Decode([]byte(certificate))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !now.Before(leaf.NotAfter) { // nobody serves it any more
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle))
	for _, at := range []time.Time{now, leaf.NotAfter.Add(-time.Second)} {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: "web.team.svc", Roots: roots, CurrentTime: at}); err != nil {
			return err
		}
	}
	v[[2]string{bundle, certificate}] = true
	return nil
}

// TestRenewal: through lifetimes of CAs, with rotations that users ask for, records that they take away and an Ambit that is late, every certificate that
// was ever issued and has not ended is verified by every client, whenever within the propagation it took its bundle.
func TestRenewal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		leaf := serving()
		leaf.Lifetime = time.Duration(rapid.IntRange(100, 3000).Draw(rt, "leaf")) * time.Minute
		leaf.RenewAt = rapid.Float64Range(0.4, 0.8).Draw(rt, "renewLeafAt")
		ca := authority()
		ca.Propagation = time.Duration(rapid.IntRange(1, 60).Draw(rt, "propagation")) * time.Minute
		late := time.Duration(rapid.IntRange(0, 30).Draw(rt, "late")) * time.Minute
		ca.LeafLifetime = leaf.Lifetime
		if rapid.Bool().Draw(rt, "unknown") {
			ca.LeafLifetime = 0
		}
		ca.RenewAt = rapid.Float64Range(0.3, 0.6).Draw(rt, "renewAt")
		ca.Lifetime = (leaf.Lifetime+ca.Propagation+2*late)*3 + time.Duration(rapid.IntRange(0, 500).Draw(rt, "longer"))*time.Minute
		if problems := ca.FindProblems(); problems != nil {
			rt.Fatalf("the CA is refused: %v", problems)
		}
		w := newWorld(t)
		w.add("ca")
		w.add("leaf")
		var bundles, leaves history
		seen := verifier{}
		end := w.now.Add(2 * ca.Lifetime)
		signers := map[string]bool{}
		for step := 0; w.now.Before(end); step++ {
			name := rapid.SampledFrom([]string{"ca", "leaf"}).Draw(rt, "which")
			switch rapid.IntRange(0, 9).Draw(rt, "user") {
			case 0:
				w.annotations(name)[v1alpha1.AnnotationRotate] = fmt.Sprint(step)
			case 1: // nobody knows any more when it was made
				delete(w.annotations(name), v1alpha1.AnnotationMade)
			}
			until := w.reconcile("ca", ca)
			bundles = bundles.note(w.value("ca", "ca.crt"), w.now)
			until2 := w.reconcile("leaf", leaf)
			leaves = leaves.note(w.value("leaf", "tls.crt"), w.now)
			signers[w.value("ca", "tls.crt")] = true
			if until2.Before(until) {
				until = until2
			}
			if !until.After(w.now) {
				rt.Fatalf("at %s it is valid until %s", w.now, until)
			}
			seen.checkAll(rt, bundles, leaves, ca.Propagation, until)
			w.now = until.Add(time.Duration(rapid.Int64Range(0, int64(late/time.Second)).Draw(rt, "wait")) * time.Second)
		}
		seen.checkAll(rt, bundles, leaves, ca.Propagation, w.now)
		if list, err := secretview.ParseCertificates([]byte(bundles[len(bundles)-1].text)); err != nil || len(list) > 12 {
			rt.Errorf("the bundle has %d CAs, %v", len(list), err)
		}
		if len(signers) < 3 {
			rt.Errorf("there were %d CAs in two lifetimes", len(signers))
		}
	})
}

func (v verifier) checkAll(rt *rapid.T, bundles, leaves history, propagation time.Duration, now time.Time) {
	for _, b := range bundles {
		if !b.to.IsZero() && !b.to.Add(propagation).After(now) {
			continue // every client has a newer one
		}
		for i := range leaves[max(0, len(leaves)-12):] { // older ones have ended
			if err := v.verify(b.text, leaves[len(leaves)-1-i].text, now); err != nil {
				rt.Fatalf("at %s a client with the bundle of %s refuses the certificate of %s: %v", now, b.from, leaves[len(leaves)-1-i].from, err)
			}
		}
	}
}

// TestUntil: the verdict is the same at every instant before the one that it names, and what is made is valid, whatever users do.
func TestUntil(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		ca, leaf, word := authority(), serving(), password(24)
		ca.Lifetime, ca.LeafLifetime, leaf.Lifetime = 100*time.Hour, 20*time.Hour, 20*time.Hour
		word.Rotation = recipe.Rotation{After: 30 * time.Hour, KeepPrevious: "previous"}
		recipes := map[string][]recipe.Recipe{
			"ca": {ca}, "leaf": {leaf},
			"s": {word, recipe.KeyPair{PrivateKey: "k", PublicKey: "pub", Rotation: recipe.Rotation{After: 7 * time.Hour}}},
		}
		for _, name := range []string{"ca", "leaf", "s"} {
			w.add(name)
		}
		for range 12 {
			name := rapid.SampledFrom([]string{"ca", "leaf", "s"}).Draw(rt, "name")
			switch keys := secretview.SortedKeys(w.data(name)); rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0:
				w.now = w.now.Add(time.Duration(rapid.IntRange(-20*3600, 60*3600).Draw(rt, "seconds")) * time.Second)
			case 1:
				w.annotations(name)[v1alpha1.AnnotationRotate] = rapid.StringMatching(`[a-c]`).Draw(rt, "token")
			case 2:
				if len(keys) > 0 {
					delete(w.data(name), rapid.SampledFrom(keys).Draw(rt, "key"))
				}
			case 3:
				delete(w.annotations(name), v1alpha1.AnnotationMade)
			case 4:
				if _, err := w.make(name, recipes[name]...); err == nil {
					if v := w.check(name, recipes[name]...); !v.IsValid() {
						rt.Fatalf("at %s what was made is not valid: %s", w.now, v.ReasonText())
					}
				} else if v := w.check(name, recipes[name]...); v.IsValid() || v.Findings[0].Code != recipe.NoIssuer && v.Findings[0].Code != recipe.Missing {
					rt.Fatalf("%v, and the verdict is %+v", err, v)
				}
			}
			for name, list := range recipes {
				v := w.check(name, list...)
				last := w.now.Add(1000 * time.Hour)
				if !v.Until.IsZero() {
					last = v.Until
				}
				if !last.After(w.now) {
					rt.Fatalf("%s at %s: until %s", name, w.now, v.Until)
				}
				began := w.now
				for _, after := range []time.Duration{0, last.Sub(began) / 3, last.Sub(began) - time.Second} {
					w.now = began.Add(after.Truncate(time.Second))
					if diff := cmp.Diff(v, w.check(name, list...)); diff != "" {
						rt.Fatalf("%s %s after %s, before %s: -then +now:\n%s", name, after, began, last, diff)
					}
				}
				w.now = began
			}
		}
	})
}
