package sim_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/test/sim"
)

var (
	madePlans = flag.Int("made-plans", 20, "how many plans of faults TestMadePlans runs")
	madeSeed  = flag.Uint64("made-seed", 0, "the seed of the only plan that TestMadePlans runs; 0: as many as there are to be")
)

// propagation is how long clients may take to get a bundle in plans.
const propagation = 10 * time.Minute

// shortLived is the policy of plans: a plan of hours goes through every kind of renewal.
func shortLived() string {
	return strings.NewReplacer("{lifetime: 17520h}", "{lifetime: 8h, renewAt: 0.5, propagation: 10m}", "2160h, keep", "3h, keep", "lifetime: 2160h}", "lifetime: 2h}").Replace(madePolicy)
}

// mortals are Faults that end processes, which are users, between two requests, and lose answers.
type mortals struct {
	*counts
	random *rand.Rand
	// left is how many requests a process may still send; none: as many as it likes. Then it is dead.
	left map[string]int
	// lossy is how many of a hundred answers are lost.
	lossy int
}

// Before implements sim.Faults.
func (m *mortals) Before(_ context.Context, r sim.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left, mortal := m.left[r.User]; mortal && left == 0 {
		return apierrors.NewServiceUnavailable("the process has ended")
	} else if mortal {
		m.left[r.User] = left - 1
	}
	return nil
}

// After implements sim.Faults. The last answer of a process that ends is lost.
func (m *mortals) After(_ context.Context, r sim.Request, answer error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	left, mortal := m.left[r.User]
	if isAmbit := strings.HasPrefix(r.User, ambitUser); isAmbit && (mortal && left == 0 || m.random.IntN(100) < m.lossy) {
		return apierrors.NewTimeoutError("the answer is lost", 0)
	}
	return answer
}

// version is what a Secret or the trusted bundle was from one instant on.
type version struct {
	at   time.Time
	uid  string
	data map[string]string // as it stands, in base64
	note string            // its rotation token
}

// judgeOfMade notes every version of what is made, and says what may never be.
type judgeOfMade struct {
	mu       sync.Mutex
	versions map[string][]version
}

func (j *judgeOfMade) watch(s *stage) (end func()) {
	var streams []func()
	for _, resource := range []string{"secrets", "configmaps"} {
		gvr := secrets
		if resource == "configmaps" {
			gvr = resources()[resource]
		}
		stream, err := s.admin.Resource(gvr).Namespace("one").Watch(s.Context(), metav1.ListOptions{})
		if err != nil {
			s.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for event := range stream.ResultChan() {
				if object, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != "DELETED" && event.Type != "BOOKMARK" {
					j.note(object)
				}
			}
		}()
		streams = append(streams, func() { stream.Stop(); <-done })
	}
	return func() {
		for _, stop := range streams {
			stop()
		}
	}
}

func (j *judgeOfMade) note(object *unstructured.Unstructured) {
	j.mu.Lock()
	defer j.mu.Unlock()
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	name := object.GetName()
	j.versions[name] = append(j.versions[name], version{at: time.Now(), uid: string(object.GetUID()), data: data, note: object.GetAnnotations()[v1alpha1.AnnotationRotate]})
}

// check returns everything that may never be. spoilt are the instants at which a user has taken a value away.
func (j *judgeOfMade) check(spoilt map[time.Time]bool) (found []string) {
	for _, name := range []string{"db", "ca", "tls"} {
		key := map[string]string{"db": "password", "ca": "tls.key", "tls": "tls.key"}[name]
		var before version
		for i, v := range j.versions[name] {
			if i > 0 && v.uid == before.uid && v.data[key] != before.data[key] && before.data[key] != "" {
				if why := j.whyChanged(name, before, v); why != "" && !spoilt[v.at] {
					found = append(found, fmt.Sprintf("%s: at %s %s of %s was written over: %s", v.at.Format(time.TimeOnly), key, name, before.at.Format(time.TimeOnly), why))
				}
			}
			before = v
		}
	}
	return append(found, j.checkTrust()...)
}

// whyChanged says why a value should not have been made anew; empty if it should.
func (j *judgeOfMade) whyChanged(name string, before, after version) string {
	switch {
	case after.data["tls.key"] == "eA==": // a user has spoilt it
		return ""
	case before.data["tls.key"] == "eA==":
		return ""
	case before.note != "" && j.firstWith(name, before.note).note == before.note && !j.usedToken(name, before):
		return ""
	case name == "db":
		if since := after.at.Sub(j.madeSince(name, "password", before)); since < 3*time.Hour-time.Second {
			return fmt.Sprintf("it was %s old", since)
		}
		return ""
	}
	certificate := parse(decode(before.data["tls.crt"]))
	if name == "ca" {
		if after.data["tls.crt"] != before.data["next.crt"] {
			return "it is not the next one"
		}
		return ""
	}
	if ca := j.lastBefore("ca", after.at); parse(decode(ca.data["tls.crt"])) != nil && certificate.CheckSignatureFrom(parse(decode(ca.data["tls.crt"]))) != nil {
		return ""
	}
	if life := certificate.NotAfter.Sub(certificate.NotBefore); after.at.Sub(certificate.NotBefore) < life*6/10 {
		return "it had most of its life before it"
	}
	return ""
}

// usedToken reports whether the token of a version was acted on before it: the value has changed since the token came.
func (j *judgeOfMade) usedToken(name string, v version) bool {
	key := map[string]string{"db": "password", "ca": "tls.key", "tls": "tls.key"}[name]
	first := j.firstWith(name, v.note)
	return first.uid == v.uid && first.data[key] != v.data[key]
}

func (j *judgeOfMade) firstWith(name, token string) version {
	for _, v := range j.versions[name] {
		if v.note == token {
			return v
		}
	}
	return version{}
}

// madeSince is since when a version's value has been there.
func (j *judgeOfMade) madeSince(name, key string, v version) time.Time {
	for _, one := range j.versions[name] {
		if one.uid == v.uid && one.data[key] == v.data[key] {
			return one.at
		}
	}
	return v.at
}

func (j *judgeOfMade) lastBefore(name string, at time.Time) (last version) {
	for _, v := range j.versions[name] {
		if v.at.After(at) {
			break
		}
		last = v
	}
	return last
}

// checkTrust says when a client whose bundle is not older than the propagation refuses a certificate that is served.
func (j *judgeOfMade) checkTrust() (found []string) {
	bundles := j.versions["ca"]
	for _, served := range j.versions["tls"] {
		leaf := parse(decode(served.data["tls.crt"]))
		if leaf == nil || !served.at.Before(leaf.NotAfter) {
			continue
		}
		for i, b := range bundles {
			if b.at.After(served.at) || b.uid != j.lastBefore("ca", served.at).uid || b.data["ca.crt"] == "" {
				continue
			}
			if i+1 < len(bundles) && served.at.Sub(bundles[i+1].at) >= propagation {
				continue // every client has a newer one
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM([]byte(decode(b.data["ca.crt"])))
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "db.one.svc", CurrentTime: served.at}); err != nil && j.isOfCA(leaf, b.uid) {
				found = append(found, fmt.Sprintf("at %s the certificate is refused by who has the bundle of %s: %v", served.at.Format(time.TimeOnly), b.at.Format(time.TimeOnly), err))
			}
		}
	}
	return found
}

// isOfCA reports whether a certificate was signed by a CA that this Secret, known by its uid, has ever had: another Secret is made anew with another CA.
func (j *judgeOfMade) isOfCA(leaf *x509.Certificate, uid string) bool {
	for _, v := range j.versions["ca"] {
		if ca := parse(decode(v.data["tls.crt"])); v.uid == uid && ca != nil && leaf.CheckSignatureFrom(ca) == nil {
			return true
		}
	}
	return false
}

func parse(text string) *x509.Certificate {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return certificate
}

// TestMadePlans: whatever ends and is lost, and when, there are never two values, no valid one is written over, and no certificate is
// served that clients refuse; and in the end all is made.
func TestMadePlans(t *testing.T) {
	seeds := make([]uint64, 0, *madePlans)
	for seed := range uint64(*madePlans) {
		seeds = append(seeds, seed+1)
	}
	if *madeSeed > 0 {
		seeds = []uint64{*madeSeed}
	}
	for _, seed := range seeds {
		synctest.Test(t, func(t *testing.T) { playMade(t, seed) })
		if t.Failed() {
			t.Fatalf("it is the plan of -made-seed %d", seed)
		}
	}
}

// madePlan is one plan of faults under way.
type madePlan struct {
	*stage
	faults  *mortals
	random  *rand.Rand
	running map[string]func()
	starts  int
	spoilt  map[time.Time]bool
}

func playMade(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	p := &madePlan{random: random, running: map[string]func(){}, spoilt: map[time.Time]bool{}}
	p.stage = newMadeStage(t, func(c *counts) sim.Faults {
		p.faults = &mortals{counts: c, random: rand.New(rand.NewPCG(seed, 1)), left: map[string]int{}, lossy: random.IntN(3) * 15}
		return p.faults
	})
	ctx, cancel := context.WithCancel(t.Context())
	var controllers sync.WaitGroup
	controllers.Go(func() { p.server.Run(ctx) })
	judge := &judgeOfMade{versions: map[string][]version{}}
	end := judge.watch(p.stage)
	p.owner("one", 3)
	p.start()
	for range 4 + random.IntN(8) {
		p.step()
	}
	p.settle()
	for _, stop := range p.running {
		stop()
	}
	cancel()
	controllers.Wait()
	end()
	for _, crime := range judge.check(p.spoilt) {
		t.Errorf("plan %d: %s", seed, crime)
	}
}

// start starts a process, as a user of its own.
func (p *madePlan) start() {
	user := fmt.Sprintf("%s-%d", ambitUser, p.starts)
	p.starts++
	for _, role := range []string{"owners", "triggers", "secrets"} {
		name := role + "-" + user
		p.create("clusterrolebindings", "", fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s}, roleRef: {kind: ClusterRole, name: %s}, subjects: [{kind: User, name: %s}]}", name, role, user))
	}
	p.running[user] = startAmbit(p.T, p.server, user, controller.Options{Programs: programs(p.T, shortLived())})
}

// step does one thing that users or machines do.
func (p *madePlan) step() {
	switch p.random.IntN(9) {
	case 0, 1: // a process ends after so many requests, and another one starts
		for user := range p.running {
			p.faults.mu.Lock()
			p.faults.left[user] = p.random.IntN(12)
			p.faults.mu.Unlock()
		}
		time.Sleep(time.Duration(p.random.IntN(3600)) * time.Second)
		for user, stop := range p.running {
			stop()
			delete(p.running, user)
		}
		p.start()
	case 2: // a second process
		if len(p.running) < 2 {
			p.start()
		}
	case 3:
		p.tryPatch("db", fmt.Sprintf(`{"metadata":{"annotations":{"ambit.dev/rotate":"t%d"}}}`, p.random.IntN(1000)))
	case 4:
		name := []string{"ca", "tls"}[p.random.IntN(2)]
		p.tryPatch(name, fmt.Sprintf(`{"metadata":{"annotations":{"ambit.dev/rotate":"t%d"}}}`, p.random.IntN(1000)))
	case 5:
		p.tryPatch([]string{"db", "ca", "tls"}[p.random.IntN(3)], `{"metadata":{"annotations":{"ambit.dev/made":null}}}`)
	case 6: // the owner is made anew
		_ = p.admin.Resource(memcacheds).Namespace("one").Delete(p.Context(), "cache", metav1.DeleteOptions{}) // it may be gone
		p.until("the owner is gone", func() bool { return p.read(memcacheds, "one", "cache") == nil })
		p.owner("one", 1+p.random.IntN(9))
	case 7:
		p.resize("one", 1+p.random.IntN(9))
	case 8:
		p.tryPatch("tls", `{"data":{"tls.key":"eA=="}}`)
	}
	time.Sleep(time.Duration(p.random.IntN(2*3600)) * time.Second)
}

// tryPatch patches a Secret, if there is one.
func (p *madePlan) tryPatch(name, patch string) {
	if p.read(secrets, "one", name) != nil {
		p.patchSecret(name, patch)
	}
}

// settle ends all faults, and waits until all is made.
func (p *madePlan) settle() {
	p.Helper()
	p.faults.mu.Lock()
	p.faults.lossy = 0
	clear(p.faults.left)
	p.faults.mu.Unlock()
	time.Sleep(5 * time.Minute)
	p.until("all is made", func() bool {
		return p.isReady() && p.read(resources()["configmaps"], "one", "trust") != nil && len(p.secret("db")["password"]) == 32 && p.verify() == nil
	})
}

// decode is a value of a Secret.
func decode(text string) string {
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(value)
}
