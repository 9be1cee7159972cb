package recipe

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// The keys of a certificate's and of a CA's Secret.
const (
	keyCertificate = "tls.crt"
	keyPrivate     = "tls.key"
	keyBundle      = "ca.crt"
	keyNextCA      = "next.crt"
	keyNextPrivate = "next.key"
)

// CA is a certificate authority: one that signs, the next one while it joins, and the bundle that clients trust.
type CA struct {
	CommonName string
	Algorithm  Algorithm
	Lifetime   time.Duration
	// RenewAt is the part of the lifetime after which the next CA joins the bundle.
	RenewAt float64
	// Propagation is how long a client may take to get the bundle, and the next CA waits before it signs.
	Propagation time.Duration
	// LeafLifetime is the longest lifetime of a certificate of this CA; 0: it is not known.
	LeafLifetime time.Duration
}

// String is the text form.
func (r CA) String() string { return "CA " + r.CommonName }

// PrivateKeys are those of the CA that signs, and of the next one.
func (r CA) PrivateKeys() []string { return []string{keyPrivate, keyNextPrivate} }

// PublicKeys are the certificates of both, and the bundle.
func (r CA) PublicKeys() []string { return []string{keyCertificate, keyBundle, keyNextCA} }

// FindProblems says whether the CA is replaced before certificates of it could outlive it.
func (r CA) FindProblems() []string {
	list := slices.Concat(algorithmProblems(r.Algorithm), lifetimeProblems(r.Lifetime, r.RenewAt), nameProblems(r.CommonName))
	if r.Propagation < 0 {
		list = append(list, "the propagation must not be negative")
	}
	if len(list) > 0 {
		return list
	}
	signs := partOf(r.Lifetime, r.RenewAt) + r.Propagation
	if left := r.Lifetime - signs; left < max(r.LeafLifetime, time.Second) {
		return []string{fmt.Sprintf("the CA signs for %s of its %s, so that a certificate of %s could outlive it: "+
			"give it a longer lifetime, or an earlier renewAt", shortDuration(signs), shortDuration(r.Lifetime), shortDuration(r.LeafLifetime))}
	}
	return nil
}

// leastLifetime is the shortest lifetime that whole seconds can be renewed in.
const leastLifetime = 4 * time.Second

func lifetimeProblems(lifetime time.Duration, renewAt float64) []string {
	if lifetime < leastLifetime || lifetime%time.Second != 0 {
		return []string{fmt.Sprintf("the lifetime must be whole seconds, and at least %s", leastLifetime)}
	}
	if !(renewAt >= 0.1 && renewAt <= 0.9) {
		return []string{"renewAt must be between 0.1 and 0.9"}
	}
	return nil
}

// nameProblems says whether a text can be a common name.
func nameProblems(name string) []string {
	if len(name) > 64 {
		return []string{"the common name must have at most 64 bytes"}
	}
	return nil
}

func partOf(d time.Duration, part float64) time.Duration {
	return time.Duration(float64(d) * part).Truncate(time.Second)
}

// backdatedBy is how much earlier than now certificates begin, for clocks that are behind.
func backdatedBy(lifetime time.Duration) time.Duration {
	return min(5*time.Minute, (lifetime / 10).Truncate(time.Second))
}

// madeAt is when a certificate was made that begins backdatedBy before that.
func madeAt(c *x509.Certificate) time.Time {
	life := c.NotAfter.Sub(c.NotBefore)
	if life >= 55*time.Minute {
		return c.NotBefore.Add(5 * time.Minute)
	}
	return c.NotBefore.Add((life / 11).Truncate(time.Second))
}

// renewalOf is when a certificate is to be renewed.
func renewalOf(c *x509.Certificate, lifetime time.Duration, renewAt float64) time.Time {
	made := madeAt(c)
	return made.Add(max(time.Second, partOf(min(lifetime, c.NotAfter.Sub(made)), renewAt)))
}

// readAuthority is a CA in a Secret: its certificate, if the key belongs to it.
func readAuthority(v secretview.View, certificate, key string) (*x509.Certificate, Code, string) {
	text, there := v.Public[certificate]
	fact, hasKey := v.Facts[key]
	if !there || !hasKey {
		return nil, Missing, "is missing"
	}
	list, err := secretview.ParseCertificates(text)
	switch {
	case err != nil || !list[0].IsCA || !list[0].BasicConstraintsValid:
		return nil, WrongForm, "is no CA certificate"
	case fact.PublicKey == "":
		return nil, WrongForm, "has a private key that cannot be read"
	case fact.PublicKey != secretview.KeyFingerprint(list[0].PublicKey):
		return nil, KeyMismatch, "has a private key that is not that of the certificate"
	}
	return list[0], "", ""
}

func (r CA) checkValues(in Input) Verdict {
	signer, code, text := readAuthority(in.Secret, keyCertificate, keyPrivate)
	if signer == nil {
		return singleFinding(r, code, text, keyCertificate, keyPrivate, keyBundle)
	}
	if !in.Now.Before(signer.NotAfter) {
		return singleFinding(r, Ended, "has ended", keyCertificate, keyPrivate, keyBundle)
	}
	next := nextCA(in)
	if v := r.checkNext(in, signer, next); !v.IsValid() {
		v.Until = earliestOf(v.Until, signer.NotAfter)
		if next != nil {
			v.Until = earliestOf(v.Until, next.NotAfter)
		}
		return v
	}
	if _, recorded := in.Secret.Record[keyPrivate]; !recorded {
		v := singleFinding(r, NotRecorded, "is not recorded in annotation ambit.dev/made", keyPrivate)
		v.Until = r.nextChange(in, signer, next)
		return v
	}
	bundle, until := r.wantedBundle(in, signer, next)
	until = earliestOf(until, r.nextChange(in, signer, next))
	if !bytes.Equal(in.Secret.Public[keyBundle], encodeBundle(bundle)) {
		v := singleFinding(r, BundleDiffers, "has not the CAs that clients are to trust", keyBundle)
		v.Until = until
		return v
	}
	return validUntil(until)
}

// nextCA is the next CA, if there is one that can be used.
func nextCA(in Input) *x509.Certificate {
	next, _, _ := readAuthority(in.Secret, keyNextCA, keyNextPrivate)
	if next == nil || !in.Now.Before(next.NotAfter) {
		return nil
	}
	return next
}

// checkNext says whether the next CA is to be made, or is to sign.
func (r CA) checkNext(in Input, signer, next *x509.Certificate) Verdict {
	entry, recorded := in.Secret.Record[keyPrivate]
	switch {
	case next != nil && !in.Now.Before(madeAt(next).Add(r.Propagation)):
		return singleFinding(r, NextIsDue, "has a next CA that is to sign from now on", slices.Concat(r.PrivateKeys(), r.PublicKeys())...)
	case next != nil:
		return Verdict{} // a rotation that is asked for now begins when this one is done
	case recorded && isRotationAsked(in.Secret, entry) && !isBundleFull(in):
		return singleFinding(r, RotationAsked, "is to be rotated: annotation ambit.dev/rotate has changed", keyNextCA, keyNextPrivate, keyBundle)
	case signer.Subject.CommonName != r.CommonName:
		return singleFinding(r, NamesDiffer, "has another name", keyNextCA, keyNextPrivate, keyBundle)
	case in.Now.Before(signer.NotBefore):
		v := singleFinding(r, NotYetValid, "is not valid yet", keyNextCA, keyNextPrivate, keyBundle)
		v.Until = signer.NotBefore
		return v
	case !in.Now.Before(renewalOf(signer, r.Lifetime, r.RenewAt)):
		return singleFinding(r, RenewalDue, "is to be renewed", keyNextCA, keyNextPrivate, keyBundle)
	}
	return Verdict{}
}

// mostRotated is how many CAs may be in the bundle for one more to be asked for: whoever asks again and again waits until
// one of them leaves.
const mostRotated = 8

func isBundleFull(in Input) bool {
	there, err := secretview.ParseCertificates(in.Secret.Public[keyBundle])
	return err == nil && len(there) >= mostRotated
}

// nextChange is when checkNext says something else.
func (r CA) nextChange(in Input, signer, next *x509.Certificate) time.Time {
	if next == nil {
		return earliestOf(renewalOf(signer, r.Lifetime, r.RenewAt), signer.NotAfter)
	}
	return earliestOf(earliestOf(madeAt(next).Add(r.Propagation), signer.NotAfter), next.NotAfter)
}

// wantedBundle are the CAs that clients are to trust, and when it is to have others. What is in the bundle and neither signs
// nor is to, signed before.
func (r CA) wantedBundle(in Input, signer, next *x509.Certificate) (bundle []*x509.Certificate, until time.Time) {
	bundle = []*x509.Certificate{signer}
	if next != nil {
		bundle = append(bundle, next)
	}
	there, err := secretview.ParseCertificates(in.Secret.Public[keyBundle])
	if err != nil {
		return bundle, time.Time{}
	}
	for _, old := range there {
		leaves := r.leavesAt(in, old)
		if slices.ContainsFunc(bundle, old.Equal) || !in.Now.Before(leaves) || !old.IsCA {
			continue
		}
		bundle, until = append(bundle, old), earliestOf(until, leaves)
	}
	return bundle, until
}

// leavesAt is when a CA that signs no more leaves the bundle: every certificate of it has ended then.
func (r CA) leavesAt(in Input, old *x509.Certificate) time.Time {
	entry, recorded := in.Secret.Record[keyPrivate]
	if r.LeafLifetime <= 0 || !recorded {
		return old.NotAfter
	}
	return earliestOf(old.NotAfter, entry.At.Add(r.LeafLifetime+r.Propagation))
}

func (r CA) makeValues(w *workbench) error {
	switch code := r.checkValues(w.in).Findings[0].Code; code {
	case Missing, WrongForm, KeyMismatch, Ended:
		return r.replaceSigner(w)
	case NextIsDue:
		r.promoteNext(w)
	case BundleDiffers:
	default:
		if err := r.makeAuthority(w, keyNextCA, keyNextPrivate); err != nil {
			return err
		}
		if entry, recorded := w.in.Secret.Record[keyPrivate]; recorded {
			entry.Rotate = w.in.Secret.Rotate
			w.in.Secret.Record[keyPrivate] = entry
		}
	}
	return r.writeBundle(w)
}

// replaceSigner puts a CA in place of one that cannot sign: the next one if there is one, or a new one.
func (r CA) replaceSigner(w *workbench) error {
	if nextCA(w.in) != nil {
		r.promoteNext(w)
		return r.writeBundle(w)
	}
	if err := r.makeAuthority(w, keyCertificate, keyPrivate); err != nil {
		return err
	}
	w.removeKeys(keyNextCA, keyNextPrivate)
	return r.writeBundle(w)
}

// promoteNext has the next CA sign. The one before stays in the bundle.
func (r CA) promoteNext(w *workbench) {
	rotate := w.in.Secret.Record[keyPrivate].Rotate
	w.setPrivate(r, keyPrivate, bytes.Clone(w.values[keyNextPrivate].RevealValue()))
	w.setPublic(keyCertificate, w.in.Secret.Public[keyNextCA])
	w.removeKeys(keyNextCA, keyNextPrivate)
	w.in.Secret.Record[keyPrivate] = secretview.Entry{At: w.now, Rotate: rotate}
}

// writeBundle has the bundle say which CAs are to be trusted.
func (r CA) writeBundle(w *workbench) error {
	signer, _, text := readAuthority(w.in.Secret, keyCertificate, keyPrivate)
	if signer == nil {
		return fmt.Errorf("the CA %s", text)
	}
	bundle, _ := r.wantedBundle(w.in, signer, nextCA(w.in))
	w.setPublic(keyBundle, encodeBundle(bundle))
	return nil
}

// makeAuthority makes a CA that signs itself.
func (r CA) makeAuthority(w *workbench, certificate, key string) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: r.CommonName}, NotBefore: w.now.Add(-backdatedBy(r.Lifetime)), NotAfter: w.now.Add(r.Lifetime),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
	}
	private, err := generateKey(r.Algorithm, w.random)
	if err != nil {
		return secretError("making a private key", err)
	}
	text, err := signCertificate(w.random, template, template, keyPairOf{private, private})
	if err != nil {
		return err
	}
	encoded, err := encodePrivateKey(private)
	if err != nil {
		return err
	}
	w.setPublic(certificate, text)
	w.setPrivate(r, key, encoded)
	w.recordMade(key)
	return nil
}

// keyPairOf are the key that a certificate is for, and the one that signs it.
type keyPairOf struct{ subject, signer crypto.Signer }

// signCertificate makes a certificate for the public half of the subject's key.
func signCertificate(random io.Reader, template, parent *x509.Certificate, keys keyPairOf) ([]byte, error) {
	der, err := x509.CreateCertificate(random, template, parent, keys.subject.Public(), keys.signer)
	if err != nil {
		return nil, secretError("signing a certificate", err)
	}
	return encodeCertificate(der), nil
}

func encodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeBundle(list []*x509.Certificate) []byte {
	var text []byte
	for _, c := range list {
		text = append(text, encodeCertificate(c.Raw)...)
	}
	return text
}
