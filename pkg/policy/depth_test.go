package policy_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// nestedPolicy is a policy of one child that sets data to a text.
func nestedPolicy(data string) string {
	return fmt.Sprintf(`apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: deep}
spec:
  owner: {apiVersion: v1, kind: ConfigMap}
  children:
    - id: x
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: x}
        data: %s
`, data)
}

// above is how many mappings and lists the data of nestedPolicy stands in.
const above = 5

func nestedLists(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// TestDepth: text that is nested too deep is refused at its place, and what is just not
// too deep compiles.
func TestDepth(t *testing.T) {
	if _, err := compileText(nestedPolicy(nestedLists(syntax.MaxDepth - above))); err != nil {
		t.Errorf("what is as deep as may be: %.300v", err)
	}
	for name, c := range map[string]struct {
		reason, text, prefix string
	}{
		"One": {
			reason: "the place is that of the list that is one too many",
			text:   nestedPolicy(nestedLists(syntax.MaxDepth - above + 1)),
			prefix: "policy.yaml:12:110: this is nested more than 100 deep",
		},
		"Many": {
			reason: "the depth of all that YAML allows changes nothing",
			text:   nestedPolicy(nestedLists(9900)),
			prefix: "policy.yaml:12:110: this is nested more than 100 deep",
		},
		"Keys": {
			reason: "mappings count as lists do",
			text:   nestedPolicy(strings.Repeat("{a: ", 200) + "1" + strings.Repeat("}", 200)),
			prefix: "policy.yaml:12:395: this is nested more than 100 deep",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := compileText(c.text)
			if err == nil || !strings.HasPrefix(err.Error(), c.prefix) {
				t.Fatalf("%s:\ngot  %.300v\nwant %s", c.reason, err, c.prefix)
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != 3 || len(lines[1]) > 500 || !strings.HasSuffix(lines[2], "^") {
				t.Errorf("the line and a caret are shown, not more: %.1000q", lines)
			}
		})
	}
}

// TestDepthOfItems: the items of a list may each be as deep as one that stands alone.
func TestDepthOfItems(t *testing.T) {
	item := strings.ReplaceAll(strings.TrimSpace(nestedPolicy(nestedLists(syntax.MaxDepth-above))), "\n", "\n    ")
	if _, err := compileText("apiVersion: v1\nkind: List\nitems:\n  - " + item + "\n"); err != nil {
		t.Errorf("%.300v", err)
	}
}

// TestDepthOfObjects: so it is with objects, whose mistakes have a path.
func TestDepthOfObjects(t *testing.T) {
	object := func(depth int) map[string]any {
		var value any = "x"
		for range depth {
			value = []any{value}
		}
		return map[string]any{
			"apiVersion": "ambit.dev/v1alpha1", "kind": "ReconcilePolicy", "metadata": map[string]any{"name": "deep", "namespace": "n"},
			"spec": map[string]any{"owner": map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}, "status": value},
		}
	}
	if _, err := syntax.FromObject("p", object(syntax.MaxDepth-2)); err != nil {
		t.Errorf("what is as deep as may be: %.300v", err)
	}
	_, err := syntax.FromObject("p", object(9900))
	var one *syntax.Error
	if !errors.As(err, &one) || !strings.HasPrefix(one.Path, "spec.status[0][0]") || !strings.Contains(one.Message, "nested more than 100 deep") {
		t.Errorf("got %.300v", err)
	}
}

// TestDepthCosts: what is refused for its depth costs no more than its text, a hundred
// times over. It cost 1 GiB for 20 KB when paths were copied at each level.
func TestDepthCosts(t *testing.T) {
	text := nestedPolicy(nestedLists(9900))
	if got := allocated(func() { _, _ = compileText(text) }); got > 32<<20 {
		t.Errorf("%d bytes of text take %d MiB", len(text), got>>20)
	}
}

// TestDeepNamesCost: a template as deep as may be, with long names and many values, takes
// no more for each value because it is deep. It took 2.5 GiB.
func TestDeepNamesCost(t *testing.T) {
	name := strings.Repeat("n", 1000)
	depth := syntax.MaxDepth - above - 1
	text := nestedPolicy(strings.Repeat("{"+name+": ", depth) + "[" + strings.Repeat("0,", 15_000) + "0]" + strings.Repeat("}", depth))
	got := allocated(func() {
		if _, err := compileText(text); err != nil {
			t.Errorf("%.300v", err)
		}
	})
	if got > 32<<20 {
		t.Errorf("%d KiB of text take %d MiB", len(text)>>10, got>>20)
	}
}

// TestCheckDepth: of files with objects, aliases count for what they stand for.
func TestCheckDepth(t *testing.T) {
	half := syntax.MaxDepth/2 + 1
	for name, c := range map[string]struct {
		reason, text, want string
	}{
		"Flat":    {reason: "an object", text: "a: {b: [1]}\n"},
		"None":    {reason: "no YAML is for others to refuse", text: "a: [1\n"},
		"JSON":    {reason: "JSON is YAML", text: strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), want: "f:1:501: this is nested more"},
		"Second":  {reason: "any document counts", text: "a: 1\n---\na: " + nestedLists(200) + "\n", want: "f:3:103: this is nested more"},
		"Alias":   {reason: "an alias is as deep as what it stands for", text: "a: &a " + nestedLists(half) + "\nb: " + strings.Repeat("[", half) + "*a" + strings.Repeat("]", half) + "\n", want: "f:2:55: with what its aliases stand for, this is nested more"},
		"Shallow": {reason: "aliases are no mistake", text: "a: &a [1]\nb: *a\n"},
		"Laughs":  {reason: "many times the same costs once", text: laughs(60)},
		"Circle":  {reason: "a circle has no end", text: "a: &a [*a]\n", want: "f:1:8: with what its aliases stand for"},
	} {
		t.Run(name, func(t *testing.T) {
			err := syntax.CheckDepth("f", []byte(c.text))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("%s: %.300v", c.reason, err)
			case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)):
				t.Errorf("%s:\ngot  %.300v\nwant %s", c.reason, err, c.want)
			}
		})
	}
}

// laughs is a text whose aliases, if they were followed, would stand for 2^levels values.
func laughs(levels int) string {
	var b strings.Builder
	b.WriteString("a0: &a0 [1]\n")
	for i := 1; i < levels; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	return b.String()
}

func compileText(text string) (*policy.Program, error) {
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return policy.Compile(documents[0])
}

// allocated is how many bytes a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
