package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// wordy is a policy with a child of so many expressions of 4,000 bytes each.
func wordy(count int) string {
	var text strings.Builder
	text.WriteString("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: p}\nspec:\n  owner: {apiVersion: example.com/v1, kind: App}\n" +
		"  children:\n    - id: web\n      template:\n        apiVersion: v1\n        kind: ConfigMap\n        metadata: {name: a}\n        data:\n")
	for i := range count {
		fmt.Fprintf(&text, "          k%d: \"${'%s'}\"\n", i, strings.Repeat("x", 4000-5))
	}
	return text.String()
}

// TestExpressionBytes: more text of expressions than one policy may have is a mistake, at the
// expression that is one too many, and the rest of it is not compiled.
func TestExpressionBytes(t *testing.T) {
	if _, err := policy.Compile(parseOne(t, wordy(policy.MostExpressionBytes/4000))); err != nil {
		t.Errorf("what is within the limit is refused: %v", err)
	}
	_, err := policy.Compile(parseOne(t, wordy(100)))
	if err == nil || !strings.HasPrefix(err.Error(), "p.yaml:78:16: the expressions of the policy have more than 262144 bytes of text up to here: make two policies of it\n") {
		t.Errorf("the error is %.200v", err)
	}
	if p, err := policy.Salvage(parseOne(t, wordy(100))); err != nil || p.CleanupOnly == nil {
		t.Errorf("it cannot be cleaned up after: %v", err)
	}
}

func parseOne(t *testing.T, text string) *syntax.Document {
	t.Helper()
	documents, err := syntax.Parse("p.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatal(len(documents), err)
	}
	return documents[0]
}
