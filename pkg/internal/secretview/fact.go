package secretview

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"regexp"

	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"
)

// Fact is what may be known of a private value: what its recipe has to check, and nothing that helps to
// guess it. There is no hash of it either: a short password could be found from that by trying.
type Fact struct {
	// Length is in bytes.
	Length int
	// UUID: it is the text of a random UUID.
	UUID bool
	// User is that of a line of htpasswd with a bcrypt hash.
	User string
	// PublicKey is the KeyFingerprint of the public half of a private key.
	PublicKey string
}

// What is parsed at most: the rest of a hostile Secret costs no more than its length.
const (
	mostKeyBytes    = 8 << 10
	mostPublicBytes = 128 << 10
	mostBlocks      = 64
	mostUserBytes   = 255
)

// keptForm is the fact as a kept Secret has it.
func (f Fact) keptForm() map[string]any {
	kept := map[string]any{"length": int64(f.Length)}
	if f.UUID {
		kept["uuid"] = true
	}
	if f.User != "" {
		kept["user"] = f.User
	}
	if f.PublicKey != "" {
		kept["publicKey"] = f.PublicKey
	}
	return kept
}

// readFact is what keep has kept.
func readFact(kept any) (f Fact) {
	values, _ := kept.(map[string]any)
	length, _ := values["length"].(int64)
	f.Length = int(length)
	f.UUID, _ = values["uuid"].(bool)
	f.User, _ = values["user"].(string)
	f.PublicKey, _ = values["publicKey"].(string)
	return f
}

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// DescribeValue returns what may be known of a private value.
func DescribeValue(value []byte) Fact {
	fact := Fact{Length: len(value), UUID: len(value) == 36 && uuidText.Match(value)}
	if len(value) > mostKeyBytes {
		return fact
	}
	if key, err := ParsePrivateKey(value); err == nil {
		fact.PublicKey = KeyFingerprint(key.Public())
	}
	if user, hash, ok := bytes.Cut(value, []byte(":")); ok && len(user) <= mostUserBytes && !bytes.ContainsAny(user, "\n\r") {
		if _, err := bcrypt.Cost(bytes.TrimSuffix(hash, []byte("\n"))); err == nil {
			fact.User = string(user)
		}
	}
	return fact
}

// ParsePrivateKey reads the one private key of a PEM text: PKCS #8, PKCS #1, SEC 1 or OpenSSH without a passphrase.
func ParsePrivateKey(text []byte) (crypto.Signer, error) {
	block, rest := pem.Decode(text)
	switch {
	case len(text) > mostKeyBytes:
		return nil, errText("it has more than 8 KiB")
	case block == nil || len(bytes.TrimSpace(rest)) > 0:
		return nil, errText("it is not one PEM block")
	}
	key, err := ssh.ParseRawPrivateKey(text)
	if err != nil {
		return nil, errText("it is no private key") // what the parser says may quote it
	}
	if signer, ok := key.(crypto.Signer); ok {
		return signer, nil
	}
	return nil, errText("it is no key that signs")
}

// errText is an error that says no more than its text.
type errText string

func (e errText) Error() string { return string(e) }

// KeyFingerprint tells a public key from all others; empty for what is none.
func KeyFingerprint(key crypto.PublicKey) string {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(der)
	return "sha256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// ParsePublicKey reads a public key: a PEM text of PKIX, or a line of OpenSSH.
func ParsePublicKey(text []byte) (crypto.PublicKey, error) {
	if len(text) > mostKeyBytes {
		return nil, errText("it has more than 8 KiB")
	}
	if block, rest := pem.Decode(text); block != nil && block.Type == "PUBLIC KEY" && isOnlyPEM(text, rest) {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			return key, nil
		}
	}
	parsed, _, options, rest, err := ssh.ParseAuthorizedKey(text)
	if err != nil || len(options) > 0 || len(rest) > 0 || bytes.Count(bytes.TrimSpace(text), []byte("\n")) > 0 {
		return nil, errText("it is no public key")
	}
	if key, ok := parsed.(ssh.CryptoPublicKey); ok {
		return key.CryptoPublicKey(), nil
	}
	return nil, errText("it is no public key")
}

// isOnlyPEM reports whether a text is one PEM block, and nothing else.
func isOnlyPEM(text, rest []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), pemBegin()) && len(bytes.TrimSpace(rest)) == 0 && isOneBlock(text)
}

// isOneBlock reports whether a text in which a PEM block was found has no other: the parser skips what is not right.
func isOneBlock(text []byte) bool { return bytes.Count(text, pemBegin()) == 1 }

func pemBegin() []byte { return []byte("-----BEGIN ") }

// ParseCertificates reads a PEM text that has certificates and nothing else.
func ParseCertificates(text []byte) ([]*x509.Certificate, error) {
	if len(text) > mostPublicBytes {
		return nil, errText("it has more than 128 KiB")
	}
	var list []*x509.Certificate
	for rest := bytes.TrimSpace(text); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		if !bytes.HasPrefix(rest, []byte("-----BEGIN CERTIFICATE-----")) || len(list) == mostBlocks {
			return nil, errText("it has something else than certificates, or more than 64 of them")
		}
		block, after := pem.Decode(rest)
		if block == nil || block.Type != "CERTIFICATE" || len(block.Headers) > 0 || len(block.Bytes) > mostKeyBytes || !isOneBlock(rest[:len(rest)-len(after)]) {
			return nil, errText("it has a PEM block that is not right")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errText("it has a certificate that cannot be read")
		}
		list, rest = append(list, certificate), after
	}
	if len(list) == 0 {
		return nil, errText("it has no certificate")
	}
	return list, nil
}

// isPublic reports whether a value is nobody's secret, by what it is: certificates, or one public key.
func isPublic(value []byte) bool {
	if _, err := ParseCertificates(value); err == nil {
		return true
	}
	_, err := ParsePublicKey(value)
	return err == nil
}
