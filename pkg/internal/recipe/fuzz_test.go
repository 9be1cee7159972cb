package recipe_test

import (
	"crypto/rand"
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// FuzzCheck: whatever somebody wrote into a Secret and its CA, checking ends, and says the same until the instant that it names. Nothing is
// made here: what is random would be news to the fuzzer.
func FuzzCheck(f *testing.F) {
	w := &world{secrets: map[string]map[string]any{}, now: began}
	w.add("ca")
	w.add("leaf")
	for name, r := range map[string]recipe.Recipe{"ca": authority(), "leaf": serving()} {
		issuers := map[string]recipe.Whole{"ca": recipe.ReadWhole(w.secrets["ca"])}
		if write, err := recipe.MakeValues([]recipe.Recipe{r}, recipe.Whole{}, issuers, began, rand.Reader); err == nil {
			f.Add(write.Public["tls.crt"], write.Private["tls.key"].RevealValue(), write.Public["ca.crt"], `{"tls.key":{"at":"2026-03-01T12:00:00Z"}}`, "token", int64(0))
			f.Add(write.Private["tls.key"].RevealValue(), write.Public["tls.crt"], []byte("-----BEGIN CERTIFICATE-----\n"), `{"tls.key":{"at":"2026-03-01T12:00:00Z"}}`, "", int64(1e9))
		} else if name == "ca" {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, certificate, key, bundle []byte, record, token string, seconds int64) {
		now := began.Add(time.Duration(seconds%1e9) * time.Second)
		secret := map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationMade: record, v1alpha1.AnnotationRotate: token}},
			"data": map[string]any{
				"tls.crt": base64.StdEncoding.EncodeToString(certificate), "tls.key": base64.StdEncoding.EncodeToString(key),
				"ca.crt": base64.StdEncoding.EncodeToString(bundle), "password": base64.StdEncoding.EncodeToString(key),
				"pub": base64.StdEncoding.EncodeToString(bundle), "k": base64.StdEncoding.EncodeToString(key),
			},
		}
		view := recipe.ReadWhole(secret).View
		in := recipe.Input{Secret: view, Issuers: map[string]secretview.View{"ca": view}, Now: now}
		for _, r := range []recipe.Recipe{authority(), serving(), password(32), recipe.UUID{Key: "k"}, recipe.KeyPair{PrivateKey: "k", PublicKey: "pub"}} {
			in.Now = now
			v := recipe.CheckSecret([]recipe.Recipe{r}, in)
			if v.Until.IsZero() {
				continue
			}
			if !v.Until.After(now) {
				t.Errorf("%s at %s: until %s", r, now, v.Until)
			}
			in.Now = v.Until.Add(-time.Second)
			if diff := cmp.Diff(v, recipe.CheckSecret([]recipe.Recipe{r}, in)); diff != "" {
				t.Errorf("%s at %s, and a second before %s: -then +now:\n%s", r, now, v.Until, diff)
			}
		}
	})
}
