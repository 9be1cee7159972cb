package recipe

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// Certificate is one that a CA issues, with its private key and the bundle to verify it.
type Certificate struct {
	// Issuer is the name of the CA's Secret in Input.Issuers.
	Issuer     string
	CommonName string
	// DNSNames and Addresses are whom it is for.
	DNSNames, Addresses []string
	// Client: it is for a client; Server: for a server. Neither: for a server.
	Client, Server bool
	Algorithm      Algorithm
	Lifetime       time.Duration
	// RenewAt is the part of the lifetime after which it is renewed.
	RenewAt float64
}

// String is the text form.
func (r Certificate) String() string { return "certificate of " + r.Issuer }

// PrivateKeys is the key of its private key.
func (r Certificate) PrivateKeys() []string { return []string{keyPrivate} }

// PublicKeys are those of the certificate and of the bundle.
func (r Certificate) PublicKeys() []string { return []string{keyCertificate, keyBundle} }

// mostNames is how many names a certificate may be for.
const mostNames = 64

// FindProblems says whether it can be made like that.
func (r Certificate) FindProblems() []string {
	list := slices.Concat(algorithmProblems(r.Algorithm), lifetimeProblems(r.Lifetime, r.RenewAt), nameProblems(r.CommonName))
	if n := len(r.DNSNames) + len(r.Addresses); n > mostNames || n == 0 && r.CommonName == "" {
		list = append(list, fmt.Sprintf("it must be for a common name, or 1 to %d dnsNames and ipAddresses, and is for %d", mostNames, n))
	}
	for _, name := range r.DNSNames {
		if !isDNSName(name) {
			list = append(list, fmt.Sprintf("%q is no DNS name", name))
		}
	}
	for _, address := range r.Addresses {
		if a, err := netip.ParseAddr(address); err != nil || a.Zone() != "" {
			list = append(list, fmt.Sprintf("%q is no IP address", address))
		}
	}
	return list
}

// isDNSName reports whether a text is a DNS name, with an asterisk in place of the first label or without.
func isDNSName(name string) bool {
	name = strings.TrimPrefix(name, "*.")
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
		}) {
			return false
		}
	}
	return true
}

// issuerOf is the CA that signs, the chain above it that clients may not have, and the bundle to verify it. Its key need
// not be known: of a CA that Ambit has not made nothing but what is public is kept.
func issuerOf(v secretview.View) (ca *x509.Certificate, chain, bundle []byte, problem string) {
	text, there := v.Public[keyCertificate]
	list, err := secretview.ParseCertificates(text)
	switch {
	case !there:
		return nil, nil, nil, "is missing"
	case err != nil || !list[0].IsCA || !list[0].BasicConstraintsValid:
		return nil, nil, nil, "has no CA certificate in tls.crt"
	}
	ca = list[0]
	bundle = v.Public[keyBundle]
	if _, err := secretview.ParseCertificates(bundle); err != nil {
		bundle = v.Public[keyCertificate]
	}
	if !bytes.Equal(ca.RawIssuer, ca.RawSubject) {
		chain = v.Public[keyCertificate]
	}
	return ca, chain, bundle, ""
}

func (r Certificate) checkValues(in Input) Verdict {
	ca, _, bundle, problem := issuerOf(in.Issuers[r.Issuer])
	if ca == nil {
		return singleFinding(r, NoIssuer, "cannot be issued: its CA "+problem)
	}
	text, there := in.Secret.Public[keyCertificate]
	fact, hasKey := in.Secret.Facts[keyPrivate]
	if !there || !hasKey {
		return r.unlessEnded(in, ca, singleFinding(r, Missing, "is missing"))
	}
	list, err := secretview.ParseCertificates(text)
	if err != nil {
		return r.unlessEnded(in, ca, singleFinding(r, WrongForm, "is no certificate"))
	}
	if v := r.checkCertificate(in, list[0], ca, fact); !v.IsValid() {
		return r.unlessEnded(in, ca, v)
	}
	until := earliestOf(renewalOf(list[0], r.Lifetime, r.RenewAt), list[0].NotAfter)
	if _, recorded := in.Secret.Record[keyPrivate]; !recorded {
		v := singleFinding(r, NotRecorded, "is not recorded in annotation ambit.dev/made", keyPrivate)
		v.Until = until
		return v
	}
	if !bytes.Equal(in.Secret.Public[keyBundle], bundle) {
		v := singleFinding(r, BundleDiffers, "has not the bundle of its CA", keyBundle)
		v.Until = until
		return v
	}
	return validUntil(until)
}

// unlessEnded says of a certificate that is to be issued anew whether its CA can do that.
func (r Certificate) unlessEnded(in Input, ca *x509.Certificate, v Verdict) Verdict {
	last := ca.NotAfter.Add(-r.Lifetime / 10)
	if !in.Now.Before(last) {
		return singleFinding(r, NoIssuer, "cannot be issued: its CA ends before it would")
	}
	v.Until = earliestOf(v.Until, last)
	return v
}

// checkCertificate says whether a certificate is the one that the recipe wants, and valid.
func (r Certificate) checkCertificate(in Input, c, ca *x509.Certificate, key secretview.Fact) Verdict {
	entry, recorded := in.Secret.Record[keyPrivate]
	v := Verdict{}
	switch {
	case key.PublicKey == "":
		v = singleFinding(r, WrongForm, "has a private key that cannot be read")
	case key.PublicKey != secretview.KeyFingerprint(c.PublicKey):
		v = singleFinding(r, KeyMismatch, "has a private key that is not that of the certificate")
	case !r.isFor(c):
		v = singleFinding(r, NamesDiffer, "is for other names or uses")
	case c.CheckSignatureFrom(ca) != nil || c.NotAfter.After(ca.NotAfter):
		v = singleFinding(r, OtherIssuer, "is not of the CA that signs now")
	case recorded && isRotationAsked(in.Secret, entry):
		v = singleFinding(r, RotationAsked, "is to be rotated: annotation ambit.dev/rotate has changed")
	case in.Now.Before(c.NotBefore):
		v = singleFinding(r, NotYetValid, "is not valid yet")
		v.Until = c.NotBefore
	case !in.Now.Before(c.NotAfter):
		v = singleFinding(r, Ended, "has ended")
	case !in.Now.Before(renewalOf(c, r.Lifetime, r.RenewAt)):
		v = singleFinding(r, RenewalDue, "is to be renewed")
		v.Until = c.NotAfter
	}
	return v
}

// isFor reports whether a certificate has exactly the names and uses of the recipe.
func (r Certificate) isFor(c *x509.Certificate) bool {
	var addresses []string
	for _, address := range c.IPAddresses {
		addresses = append(addresses, address.String())
	}
	return c.Subject.CommonName == r.CommonName && sameSet(c.DNSNames, r.DNSNames) && sameSet(addresses, r.plainAddresses()) && slices.Equal(c.ExtKeyUsage, r.extendedUsages())
}

// plainAddresses are the addresses as certificates say them.
func (r Certificate) plainAddresses() (list []string) {
	for _, address := range r.Addresses {
		if a, err := netip.ParseAddr(address); err == nil {
			list = append(list, a.Unmap().String())
		}
	}
	return list
}

func (r Certificate) extendedUsages() []x509.ExtKeyUsage {
	var list []x509.ExtKeyUsage
	if r.Server || !r.Client {
		list = append(list, x509.ExtKeyUsageServerAuth)
	}
	if r.Client {
		list = append(list, x509.ExtKeyUsageClientAuth)
	}
	return list
}

// sameSet reports whether two lists have the same texts, in whatever order.
func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// makeValues issues a certificate, or writes the bundle alone if only that is not right.
func (r Certificate) makeValues(w *workbench) error {
	issuer := w.issuers[r.Issuer]
	ca, chain, bundle, problem := issuerOf(issuer.View)
	if ca == nil {
		return fmt.Errorf("its CA %s", problem)
	}
	if r.checkValues(w.in).Findings[0].Code != BundleDiffers {
		if err := r.issueCertificate(w, ca, chain, issuer.Private[keyPrivate]); err != nil {
			return err
		}
	}
	w.setPublic(keyBundle, bundle)
	return nil
}

func (r Certificate) issueCertificate(w *workbench, ca *x509.Certificate, chain []byte, caKey Private) error {
	signer, err := secretview.ParsePrivateKey(caKey.RevealValue())
	switch {
	case err != nil:
		return fmt.Errorf("reading the key of its CA: %w", err)
	case secretview.KeyFingerprint(signer.Public()) != secretview.KeyFingerprint(ca.PublicKey):
		return errors.New("the key of its CA is not that of the CA's certificate")
	}
	key, err := generateKey(r.Algorithm, w.random)
	if err != nil {
		return secretError("making a private key", err)
	}
	text, err := signCertificate(w.random, r.unsignedCertificate(w.now, ca, key), ca, keyPairOf{key, signer})
	if err != nil {
		return err
	}
	encoded, err := encodePrivateKey(key)
	if err != nil {
		return err
	}
	w.setPublic(keyCertificate, append(text, chain...))
	w.setPrivate(r, keyPrivate, encoded)
	w.recordMade(keyPrivate)
	return nil
}

// unsignedCertificate is the certificate to sign. It ends with its CA at the latest.
func (r Certificate) unsignedCertificate(now time.Time, ca *x509.Certificate, key crypto.Signer) *x509.Certificate {
	end := now.Add(r.Lifetime)
	if end.After(ca.NotAfter) {
		end = ca.NotAfter
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: r.CommonName}, DNSNames: r.DNSNames,
		NotBefore: now.Add(-backdatedBy(end.Sub(now))), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: r.extendedUsages(), BasicConstraintsValid: true,
	}
	if _, isRSA := key.(*rsa.PrivateKey); isRSA {
		template.KeyUsage |= x509.KeyUsageKeyEncipherment
	}
	for _, address := range r.Addresses {
		if a, err := netip.ParseAddr(address); err == nil {
			template.IPAddresses = append(template.IPAddresses, a.Unmap().AsSlice())
		}
	}
	return template
}
