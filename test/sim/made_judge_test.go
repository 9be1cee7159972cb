package sim_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// version is what a Secret or the trusted bundle was from one instant on.
type version struct {
	at   time.Time
	uid  string
	data map[string]string // as it stands, in base64
	note string            // its rotation token
	// recorded: it has the annotation that says since when its values are there. Without it they count as old as the Secret.
	recorded bool
	created  time.Time
}

// judgeOfMade notes every version of what is made, and says what may never be.
type judgeOfMade struct {
	violations
	mu       sync.Mutex
	versions map[string][]version
}

func (j *judgeOfMade) watch(s *stage) (end func()) {
	s.Helper()
	see := func(change apiwatch.EventType, object *unstructured.Unstructured) {
		if change != apiwatch.Deleted {
			j.note(object)
		}
	}
	values, bundles := s.lookOn(secrets, "one", see), s.lookOn(resources()["configmaps"], "one", see)
	return func() {
		values()
		bundles()
	}
}

func (j *judgeOfMade) note(object *unstructured.Unstructured) {
	j.mu.Lock()
	defer j.mu.Unlock()
	data, _, _ := unstructured.NestedStringMap(object.Object, "data")
	name := object.GetName()
	annotations := object.GetAnnotations()
	j.versions[name] = append(j.versions[name], version{at: time.Now(), uid: string(object.GetUID()), data: data, note: annotations[v1alpha1.AnnotationRotate],
		recorded: annotations[v1alpha1.AnnotationMade] != "", created: object.GetCreationTimestamp().Time})
}

// check looks for all that may never be.
func (j *judgeOfMade) check() {
	for _, name := range []string{"db", "ca", "tls"} {
		key := map[string]string{"db": "password", "ca": "tls.key", "tls": "tls.key"}[name]
		var before version
		for i, v := range j.versions[name] {
			if i > 0 && v.uid == before.uid && v.data[key] != before.data[key] && before.data[key] != "" && !hasNewToken(j.versions[name][:i], key) {
				if why := j.whyChanged(name, before, v); why != "" {
					j.violated("a valid value stays", "%s: %s of %s was written over: %s", v.at.Format(time.TimeOnly), key, name, why)
				}
			}
			before = v
		}
	}
	j.checkTrust()
}

// whyChanged says why a value that no token asked for should not have been made anew; empty if it should.
func (j *judgeOfMade) whyChanged(name string, before, after version) string {
	switch {
	case after.data["tls.key"] == "eA==": // a user has spoilt it
		return ""
	case before.data["tls.key"] == "eA==":
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

// hasNewToken reports whether the last of the versions has a token that was not acted on: the value of the key is the one that was there when
// the token came. A token that comes back after another one asks anew.
func hasNewToken(versions []version, key string) bool {
	last := versions[len(versions)-1]
	came := last
	for _, v := range slices.Backward(versions) {
		if v.uid != last.uid || v.note != last.note {
			break
		}
		came = v
	}
	return last.note != "" && came.data[key] == last.data[key]
}

// madeSince is since when a version's value has been there, as far as the Secret says.
func (j *judgeOfMade) madeSince(name, key string, v version) time.Time {
	since := v.at
	for _, one := range j.versions[name] {
		switch {
		case one.at.After(v.at) || one.uid != v.uid || one.data[key] != v.data[key]:
		case !one.recorded:
			return v.created
		default:
			since = earlier(since, one.at)
		}
	}
	return since
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

// checkTrust says when a client refuses a certificate that has not ended, whose bundle is that of now, or was until the propagation ago. A server
// may serve any certificate that there was, until it ends.
func (j *judgeOfMade) checkTrust() {
	bundles := j.versions["ca"]
	for i, b := range bundles {
		if b.data["ca.crt"] == "" {
			continue
		}
		last := time.Now()
		if i+1 < len(bundles) {
			last = bundles[i+1].at.Add(propagation - time.Second) // times count in whole seconds
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(decode(b.data["ca.crt"])))
		for _, served := range j.versions["tls"] {
			leaf := parse(decode(served.data["tls.crt"]))
			if leaf == nil || !j.isOfCA(leaf, b.uid) || i+1 < len(bundles) && bundles[i+1].uid != b.uid && !served.at.Before(bundles[i+1].at) {
				continue
			}
			for _, at := range []time.Time{later(b.at, served.at), earlier(last, leaf.NotAfter.Add(-time.Second))} {
				if at.Before(b.at) || at.Before(served.at) || at.After(last) || !at.Before(leaf.NotAfter) {
					continue
				}
				if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "db.one.svc", CurrentTime: at}); err != nil {
					j.violated("a certificate is trusted until it ends", "at %s that of %s is refused by who has the bundle of %s: %v",
						at.Format(time.TimeOnly), served.at.Format(time.TimeOnly), b.at.Format(time.TimeOnly), err)
					break
				}
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
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

// countValues is how many different passwords and private keys there were.
func (j *judgeOfMade) countValues() int {
	values := map[string]bool{}
	for name, key := range map[string]string{"db": "password", "ca": "tls.key", "tls": "tls.key"} {
		for _, v := range j.versions[name] {
			values[v.data[key]] = true
		}
	}
	return len(values)
}

// tell lists what there was: of private values their length, of certificates their serial numbers.
func (j *judgeOfMade) tell(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(j.versions)) {
		for _, v := range j.versions[name] {
			parts := []string{}
			for _, key := range slices.Sorted(maps.Keys(v.data)) {
				text := decode(v.data[key])
				if name == "trust" {
					text = decode(text)
				}
				parts = append(parts, key+": "+describeValue(text))
			}
			t.Logf("%s %s of %.8s rotate=%q %s", v.at.UTC().Format("02 15:04:05"), name, v.uid, v.note, strings.Join(parts, ", "))
		}
	}
}

// describeValue says which certificates a value has, with the CAs that have signed them, or how long it is.
func describeValue(text string) string {
	var found []string
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
			found = append(found, fmt.Sprintf("%.6x by key %.6x until %s", certificate.SubjectKeyId, certificate.AuthorityKeyId, certificate.NotAfter.Format("02 15:04:05")))
		}
	}
	if len(found) > 0 {
		return "[" + strings.Join(found, "; ") + "]"
	}
	return fmt.Sprintf("%d bytes", len(text))
}

// decode is a value of a Secret.
func decode(text string) string {
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return ""
	}
	return string(value)
}
