package recipe_test

import (
	"crypto/rand"
	"encoding/base64"
	"maps"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/recipe"
	"github.com/ambit-dev/ambit/pkg/internal/secretview"
)

// began is when all tests begin.
var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world has Secrets as an API server has them.
type world struct {
	t       *testing.T
	secrets map[string]map[string]any
	now     time.Time
	writes  int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, secrets: map[string]map[string]any{}, now: began}
}

// add makes an empty Secret.
func (w *world) add(name string) map[string]any {
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "data": map[string]any{},
		"metadata": map[string]any{"name": name, "creationTimestamp": w.now.Format(time.RFC3339), "annotations": map[string]any{}},
	}
	w.secrets[name] = secret
	return secret
}

func (w *world) data(name string) map[string]any { return w.secrets[name]["data"].(map[string]any) }
func (w *world) annotations(name string) map[string]any {
	return w.secrets[name]["metadata"].(map[string]any)["annotations"].(map[string]any)
}

// value is what stands under a key.
func (w *world) value(name, key string) string {
	text, _ := w.data(name)[key].(string)
	value, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		w.t.Fatalf("%s of %s: %v", key, name, err)
	}
	return string(value)
}

func (w *world) set(name, key, value string) {
	w.data(name)[key] = base64.StdEncoding.EncodeToString([]byte(value))
}

// kept is what an informer has of a Secret.
func (w *world) kept(name string) secretview.View {
	secret := maps.Clone(w.secrets[name])
	annotation, _ := w.annotations(name)[v1alpha1.AnnotationMade].(string)
	kept, facts := secretview.ReduceData(w.data(name), annotation)
	secret["data"] = kept
	if facts != nil {
		secret[secretview.Field] = facts
	}
	return secretview.ReadKept(secret)
}

// check is what a plan finds, with the CA's Secret for the issuer `ca`.
func (w *world) check(name string, recipes ...recipe.Recipe) recipe.Verdict {
	in := recipe.Input{Secret: w.kept(name), Now: w.now, Issuers: map[string]secretview.View{}}
	if w.secrets["ca"] != nil {
		in.Issuers["ca"] = w.kept("ca")
	}
	return recipe.CheckSecret(recipes, in)
}

// make has the writer make what is not valid.
func (w *world) make(name string, recipes ...recipe.Recipe) (recipe.Write, error) {
	issuers := map[string]recipe.Whole{}
	if w.secrets["ca"] != nil {
		issuers["ca"] = recipe.ReadWhole(w.secrets["ca"])
	}
	write, err := recipe.MakeValues(recipes, recipe.ReadWhole(w.secrets[name]), issuers, w.now, rand.Reader)
	if err != nil {
		return write, err
	}
	w.store(name, write)
	return write, nil
}

// mustMake is make, and checks that all is valid then.
func (w *world) mustMake(name string, recipes ...recipe.Recipe) recipe.Write {
	w.t.Helper()
	write, err := w.make(name, recipes...)
	if err != nil {
		w.t.Fatal(err)
	}
	if v := w.check(name, recipes...); !v.IsValid() {
		w.t.Fatalf("at %s what was made is not valid: %s", w.now, v.ReasonText())
	}
	return write
}

func (w *world) store(name string, write recipe.Write) {
	w.t.Helper()
	w.writes++
	for key, value := range write.Private {
		w.set(name, key, string(value.RevealValue()))
	}
	for key, value := range write.Public {
		w.set(name, key, string(value))
	}
	for _, key := range write.Removed {
		delete(w.data(name), key)
	}
	text, err := write.Record.AnnotationText()
	if err != nil {
		w.t.Fatal(err)
	}
	w.annotations(name)[v1alpha1.AnnotationMade] = text
}

// reconcile makes what is not valid, as a plan and a writer would.
func (w *world) reconcile(name string, recipes ...recipe.Recipe) time.Time {
	w.t.Helper()
	if v := w.check(name, recipes...); v.IsValid() {
		return v.Until
	}
	w.mustMake(name, recipes...)
	return w.check(name, recipes...).Until
}

func password(length int) recipe.Random {
	set, _ := recipe.CharacterSet("alphanumeric")
	return recipe.Random{Key: "password", Length: length, Characters: set}
}
