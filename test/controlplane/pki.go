package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Names of the files in the folder of a control plane.
const (
	caFile           = "ca.crt"
	servingCert      = "apiserver.crt"
	servingKey       = "apiserver.key"
	serviceAccKey    = "service-account.key"
	serviceAccPublic = "service-account.pub"
)

// writeKeys makes the keys of one control plane and writes them into dir: a
// certificate authority whose key is forgotten, what the API server serves with,
// and what signs the tokens of ServiceAccounts. It returns the authority's
// certificate in PEM.
func writeKeys(dir string) ([]byte, error) {
	authority := &x509.Certificate{
		Subject: pkix.Name{CommonName: "controlplane"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	serving := &x509.Certificate{
		Subject:     pkix.Name{CommonName: apiServer},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
	}
	caKey, err := newKey()
	if err != nil {
		return nil, err
	}
	ca, err := sign(authority, authority, caKey, caKey)
	if err != nil {
		return nil, err
	}
	if err := writePEM(dir, caFile, "CERTIFICATE", ca); err != nil {
		return nil, err
	}
	if err := writeServing(dir, serving, authority, caKey); err != nil {
		return nil, err
	}
	if err := writeServiceAccountKeys(dir); err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca}), nil
}

func writeServing(dir string, serving, authority *x509.Certificate, caKey *ecdsa.PrivateKey) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	cert, err := sign(serving, authority, key, caKey)
	if err != nil {
		return err
	}
	if err := writePEM(dir, servingCert, "CERTIFICATE", cert); err != nil {
		return err
	}
	return writePrivate(dir, servingKey, key)
}

func writeServiceAccountKeys(dir string) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding a public key: %w", err)
	}
	if err := writePEM(dir, serviceAccPublic, "PUBLIC KEY", public); err != nil {
		return err
	}
	return writePrivate(dir, serviceAccKey, key)
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

// sign sets serial number and times of cert, and returns it signed, in DER.
func sign(cert, by *x509.Certificate, key, byKey *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("making a serial number: %w", err)
	}
	cert.SerialNumber = serial
	cert.NotBefore, cert.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, cert, by, &key.PublicKey, byKey)
	if err != nil {
		return nil, fmt.Errorf("signing the certificate of %q: %w", cert.Subject.CommonName, err)
	}
	return der, nil
}

func writePrivate(dir, name string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encoding a key: %w", err)
	}
	return writePEM(dir, name, "EC PRIVATE KEY", der)
}

func writePEM(dir, name, kind string, der []byte) error {
	data := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}
