package recipe_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/internal/recipe"
)

// TestPrivate: whoever prints, encodes or logs a value, alone or in something else, gets the text form.
func TestPrivate(t *testing.T) {
	const secret = "hunter2-hunter2"
	p := recipe.NewPrivate("random 15", []byte(secret))
	inside := recipe.Write{Private: map[string]recipe.Private{"password": p}}
	var out strings.Builder
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%T", "%p", "%10.3v"} {
		fmt.Fprintf(&out, format, p)
		fmt.Fprintf(&out, format, &p)
		fmt.Fprintf(&out, format, inside)
		fmt.Fprintf(&out, format, []any{p, inside})
	}
	for _, encode := range []func(any) ([]byte, error){json.Marshal, yaml.Marshal} {
		text, err := encode(inside)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(text)
	}
	slog.New(slog.NewJSONHandler(&out, nil)).Error("x", "value", p, "write", inside)
	slog.New(slog.NewTextHandler(&out, nil)).Error("x", "value", p, "write", inside)
	log := funcr.NewJSON(func(text string) { out.WriteString(text) }, funcr.Options{})
	log.Info("x", "value", p, "write", inside)
	out.WriteString(errors.Join(fmt.Errorf("x: %v", p)).Error())
	hex := fmt.Sprintf("%x", secret)
	for _, form := range []string{secret, hex, strings.ToUpper(hex), fmt.Sprint([]byte(secret)), "aHVudGVyMi1odW50ZXIy"} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q is shown in:\n%s", form, out.String())
		}
	}
	if n := strings.Count(out.String(), "<made: random 15>"); n < 30 {
		t.Errorf("the text form stands %d times in:\n%s", n, out.String())
	}
	if string(p.RevealValue()) != secret {
		t.Error("the value is not revealed")
	}
	if p.WipeValue(); strings.Contains(string(p.RevealValue()), "h") {
		t.Error("the value is not wiped")
	}
	if (recipe.Private{}).RevealValue() != nil {
		t.Error("there is a value of nothing")
	}
}
