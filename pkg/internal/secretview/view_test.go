package secretview_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

func encode(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// pair is a key with a certificate of it, as PEM.
func pair(t testing.TB) (key, certificate string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestReduce: of made values nothing stays but what is public, or a fact; other values stay as they are.
func TestReduce(t *testing.T) {
	key, certificate := pair(t)
	data := map[string]any{
		"password": encode("hunter2"), "tls.key": encode(key), "tls.crt": encode(certificate), "mixed": encode(certificate + key),
		"user": encode("admin"), "number": int64(7), "bad": "***", // the API server has neither
	}
	const record = `{"password":{"at":"2026-03-01T12:00:00Z"},"tls.key":{"at":"2026-03-01T12:00:00Z"},"mixed":{"at":"2026-03-01T12:00:00Z"},"bad":{"at":"2026-03-01T12:00:00Z"},"tls.crt":{"at":"2026-03-01T12:00:00Z"}}`
	for name, tc := range map[string]struct {
		reason, annotation string
		kept, facts        []string
	}{
		"Not made":   {"whoever made it may read it", "", []string{"bad", "mixed", "number", "password", "tls.crt", "tls.key", "user"}, nil},
		"Made":       {"what the record names is private, unless it is public by what it is", record, []string{"number", "tls.crt", "user"}, []string{"mixed", "password", "tls.key"}},
		"Torn":       {"any value may be a made one", record[:40], []string{"tls.crt"}, []string{"mixed", "password", "tls.key", "user"}},
		"Too long":   {"Ambit has not written that", `{"a":{"at":"2026-03-01T12:00:00Z","rotate":"` + strings.Repeat("x", 20000) + `"}}`, []string{"tls.crt"}, []string{"mixed", "password", "tls.key", "user"}},
		"Null":       {"nor that", "null", []string{"tls.crt"}, []string{"mixed", "password", "tls.key", "user"}},
		"Wrong type": {"nor that", `["password"]`, []string{"tls.crt"}, []string{"mixed", "password", "tls.key", "user"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := maps.Clone(data)
			kept, facts := secretview.ReduceData(data, tc.annotation)
			if diff := cmp.Diff(tc.kept, slices.Sorted(maps.Keys(kept))); diff != "" {
				t.Errorf("%s: kept: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.facts, slices.Sorted(maps.Keys(facts))); diff != "" {
				t.Errorf("%s: facts: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(before, data); diff != "" {
				t.Errorf("the data has changed: %s", diff)
			}
		})
	}
	_, facts := secretview.ReduceData(data, record)
	if diff := cmp.Diff(map[string]any{"length": int64(7)}, facts["password"]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReduceObject: the object as a whole, with no trace of a value.
func TestReduceObject(t *testing.T) {
	key, certificate := pair(t)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": map[string]any{"name": "s", "annotations": map[string]any{v1alpha1.AnnotationMade: `{"tls.key":{"at":"2026-03-01T12:00:00Z","rotate":"x"}}`, v1alpha1.AnnotationRotate: "y"}},
		"data":     map[string]any{"tls.key": encode(key), "tls.crt": encode(certificate)},
	}}
	reduced := secretview.ReduceObject(object)
	text, err := json.Marshal(reduced)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), encode(key)[60:90]) {
		t.Errorf("the key is in %s", text)
	}
	if object.Object["data"].(map[string]any)["tls.key"] == nil {
		t.Error("the object has changed")
	}
	view, whole := secretview.ReadKept(reduced.Object), secretview.View{}
	if whole, _ = secretview.ReadWhole(object.Object); !cmp.Equal(whole, view) {
		t.Errorf("what is kept tells less: %s", cmp.Diff(whole, view))
	}
	if view.Facts["tls.key"].PublicKey == "" || view.Rotate != "y" || view.Record["tls.key"].Rotate != "x" || string(view.Public["tls.crt"]) != certificate {
		t.Errorf("got %+v", view)
	}
	again := secretview.ReduceObject(reduced)
	if !cmp.Equal(secretview.ReadKept(again.Object), view) {
		t.Error("something is lost when it is reduced again")
	}
	for _, other := range []*unstructured.Unstructured{nil, {Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}} {
		if got := secretview.ReduceObject(other); got != other {
			t.Errorf("%v became %v", other, got)
		}
	}
}

// TestIsPublic: a value that has anything else beside what is public is not.
func TestIsPublic(t *testing.T) {
	key, certificate := pair(t)
	record := `{"k":{"at":"2026-03-01T12:00:00Z"}}`
	for name, value := range map[string]string{
		"Key":            key,
		"Before":         "hunter2\n" + certificate,
		"After":          certificate + "hunter2",
		"Between":        certificate + "hunter2\n" + certificate,
		"Torn before":    "-----BEGIN CERTIFICATE-----\nhunter2\n" + certificate,
		"Torn key":       "-----BEGIN PUBLIC KEY-----\nhunter2\n-----BEGIN PUBLIC KEY-----\n",
		"Headers":        strings.Replace(certificate, "-----\n", "-----\nPassword: hunter2\n\n", 1),
		"No certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
		"Two lines":      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ\nhunter2",
		"Options":        "command=\"hunter2\" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ",
		"Many":           strings.Repeat(certificate, 65),
	} {
		if kept, facts := secretview.ReduceData(map[string]any{"k": encode(value)}, record); len(kept) > 0 || len(facts) != 1 {
			t.Errorf("%s is public: %v", name, kept)
		}
	}
	for name, value := range map[string]string{"One": certificate, "Two": certificate + "\n" + certificate, "SSH": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZJ me\n"} {
		if kept, _ := secretview.ReduceData(map[string]any{"k": encode(value)}, record); len(kept) != 1 {
			t.Errorf("%s is not public", name)
		}
	}
}

// FuzzReduce: whatever is in a Secret, reducing ends, and nothing of a private value of more than a few bytes is left but its facts.
func FuzzReduce(f *testing.F) {
	key, certificate := pair(f)
	for _, value := range []string{key, certificate, "hunter2", "user:$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy", certificate + key, strings.Repeat(certificate, 70), strings.Repeat("-----BEGIN CERTIFICATE-----\n", 5000)} {
		f.Add([]byte(value), `{"k":{"at":"2026-03-01T12:00:00Z"}}`)
		f.Add([]byte(value), `{`)
	}
	f.Fuzz(func(t *testing.T, value []byte, annotation string) {
		data := map[string]any{"k": base64.StdEncoding.EncodeToString(value)}
		kept, facts := secretview.ReduceData(data, annotation)
		if len(kept)+len(facts) != 1 {
			t.Fatalf("kept %v and %v of one value", kept, facts)
		}
		if facts == nil {
			return
		}
		view := secretview.ReadKept(map[string]any{"data": kept, secretview.Field: facts})
		if fact, private := view.Facts["k"]; private && (fact.Length != len(value) || fact != secretview.DescribeValue(value)) {
			t.Errorf("the facts of %q are %+v", value, fact)
		}
		if text := fmt.Sprint(facts); len(value) > 64 && strings.Contains(text, string(value)) {
			t.Errorf("%q is in its facts: %s", value, text)
		}
	})
}
