package recipe

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// Algorithm is that of a private key.
type Algorithm string

// The algorithms. The empty one is ECDSA-P256, or Ed25519 for SSH.
const (
	Ed25519   Algorithm = "Ed25519"
	ECDSAP256 Algorithm = "ECDSA-P256"
	ECDSAP384 Algorithm = "ECDSA-P384"
	RSA2048   Algorithm = "RSA-2048"
	RSA3072   Algorithm = "RSA-3072"
	RSA4096   Algorithm = "RSA-4096"
)

// AllAlgorithms are all of them.
func AllAlgorithms() []string {
	return []string{string(ECDSAP256), string(ECDSAP384), string(Ed25519), string(RSA2048), string(RSA3072), string(RSA4096)}
}

// generateKey makes a private key. The standard library takes its randomness from the system alone.
func generateKey(algorithm Algorithm, random io.Reader) (crypto.Signer, error) {
	switch algorithm {
	case Ed25519:
		_, key, err := ed25519.GenerateKey(random)
		return key, err
	case "", ECDSAP256:
		return ecdsa.GenerateKey(elliptic.P256(), random)
	case ECDSAP384:
		return ecdsa.GenerateKey(elliptic.P384(), random)
	case RSA2048:
		return rsa.GenerateKey(random, 2048)
	case RSA3072:
		return rsa.GenerateKey(random, 3072)
	case RSA4096:
		return rsa.GenerateKey(random, 4096)
	}
	return nil, fmt.Errorf("there is no algorithm %q", algorithm)
}

// algorithmProblems says whether there is such an algorithm.
func algorithmProblems(a Algorithm) []string {
	if a == "" || slices.Contains(AllAlgorithms(), string(a)) {
		return nil
	}
	return []string{fmt.Sprintf("there is no algorithm %q", a)}
}

// encodePrivateKey is PKCS #8 as PEM.
func encodePrivateKey(key crypto.Signer) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, secretError("encoding the private key", err)
	}
	defer clear(der)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// KeyPair is a private key with its public one.
type KeyPair struct {
	PrivateKey, PublicKey string
	Algorithm             Algorithm
	// SSH: both are in the formats of OpenSSH, else PKCS #8 and PKIX as PEM.
	SSH      bool
	Rotation Rotation
}

// String is the text form.
func (r KeyPair) String() string {
	if r.SSH {
		return "SSH key " + string(r.keyAlgorithm())
	}
	return "key " + string(r.keyAlgorithm())
}

func (r KeyPair) keyAlgorithm() Algorithm {
	switch {
	case r.Algorithm != "":
		return r.Algorithm
	case r.SSH:
		return Ed25519
	}
	return ECDSAP256
}

// PrivateKeys is the key of the private key.
func (r KeyPair) PrivateKeys() []string { return []string{r.PrivateKey} }

// PublicKeys is the key of the public one.
func (r KeyPair) PublicKeys() []string { return []string{r.PublicKey} }

// FindProblems says whether there is such an algorithm.
func (r KeyPair) FindProblems() []string { return algorithmProblems(r.Algorithm) }

func (r KeyPair) checkValues(in Input) Verdict {
	fact, there := in.Secret.Facts[r.PrivateKey]
	public, hasPublic := in.Secret.Public[r.PublicKey]
	switch {
	case !there:
		return singleFinding(r, Missing, "is missing")
	case fact.PublicKey == "":
		return singleFinding(r, WrongForm, "has a private key that cannot be read")
	case !hasPublic:
		return singleFinding(r, KeyMismatch, "has no public key that can be read", r.PublicKey)
	}
	key, err := secretview.ParsePublicKey(public)
	if err != nil || secretview.KeyFingerprint(key) != fact.PublicKey {
		return singleFinding(r, KeyMismatch, "has a public key that is not that of the private one", r.PublicKey)
	}
	return checkRotation(r, r.Rotation, in)
}

// makeValues makes a new pair, or the public key alone if only that is not right.
func (r KeyPair) makeValues(w *workbench) error {
	if r.checkValues(w.in).Findings[0].Code == KeyMismatch {
		key, err := secretview.ParsePrivateKey(w.values[r.PrivateKey].RevealValue())
		if err != nil {
			return err
		}
		return r.setPublicKey(w, key)
	}
	key, err := generateKey(r.keyAlgorithm(), w.random)
	if err != nil {
		return secretError("making a private key", err)
	}
	text, err := r.encodePrivateKey(key)
	if err != nil {
		return err
	}
	w.keepPrevious(r.PrivateKey, r.Rotation)
	w.setPrivate(r, r.PrivateKey, text)
	w.recordMade(r.PrivateKey)
	return r.setPublicKey(w, key)
}

func (r KeyPair) encodePrivateKey(key crypto.Signer) ([]byte, error) {
	if !r.SSH {
		return encodePrivateKey(key)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		return nil, secretError("encoding the private key", err)
	}
	defer clear(block.Bytes)
	return pem.EncodeToMemory(block), nil
}

func (r KeyPair) setPublicKey(w *workbench, key crypto.Signer) error {
	if r.SSH {
		public, err := ssh.NewPublicKey(key.Public())
		if err != nil {
			return secretError("encoding the public key", err)
		}
		w.setPublic(r.PublicKey, ssh.MarshalAuthorizedKey(public))
		return nil
	}
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return secretError("encoding the public key", err)
	}
	w.setPublic(r.PublicKey, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	return nil
}
