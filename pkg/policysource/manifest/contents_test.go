package manifest

import (
	"errors"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// TestBrief: no message has a line of a policy in it, and none is endless.
func TestBrief(t *testing.T) {
	secret := "spec:\n  owner: {apiVersion: v1, kind: Pod}\n  children:\n    - id: a\n      template: {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {password: \"${'hunter2' + }\"}}\n"
	documents, err := syntax.Parse("p.yaml", []byte("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: p}\n"+secret))
	if err != nil {
		t.Fatal(err)
	}
	_, err = policy.Compile(documents[0])
	if err == nil || !strings.Contains(err.Error(), "hunter2") {
		t.Fatal("the mistake does not show its line: the test is wrong")
	}
	if text := BriefMessage(err); strings.Contains(text, "hunter2") || !strings.HasPrefix(text, "p.yaml:8:") {
		t.Errorf("the message is %s", text)
	}
	if text := BriefMessage(errors.New(strings.Repeat("é", MaxMessage))); len(text) > MaxMessage || strings.ToValidUTF8(text, "") != text {
		t.Error("a long message is cut in the middle of a rune, or not at all")
	}
}

// TestTooMany: a text with too many policies is refused as a whole, whatever their names,
// and costs no time that others would have to wait.
func TestTooMany(t *testing.T) {
	const nameless = "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {}\n---\n"
	for count, want := range map[int]string{maxDocuments: "", maxDocuments + 1: "configmap team/maps a.yaml: it has more than 500 policies"} {
		o := Origin{Kind: ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}
		list, err := parseDocuments(Manifest{Origin: o, Data: []byte(strings.Repeat(nameless, count))}, "ambit-system")
		if want == "" && (err != nil || len(list) != count) || want != "" && (err == nil || err.Error() != want || len(list) > 0) {
			t.Errorf("%d policies: %d are taken, and the error is %v", count, len(list), err)
		}
	}
}

// TestSizeOfText: what comes from an API server is as large as its text.
func TestSizeOfText(t *testing.T) {
	const size = 32 << 10
	content := strings.Repeat("x", size)
	for name, of := range map[string]Manifest{
		"file":   {Data: []byte(content)},
		"object": {Object: map[string]any{"spec": map[string]any{"owner": content}}},
	} {
		if of = of.WithDigest(); of.Size < size || of.Size > 2*size {
			t.Errorf("%s: it has %d bytes", name, of.Size)
		}
	}
}
