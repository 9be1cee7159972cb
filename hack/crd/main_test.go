package main

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestComplete: the definition in the repository is complete, and completing it again
// changes nothing; what is no definition of policies is refused.
func TestComplete(t *testing.T) {
	data, err := os.ReadFile("../../manifests/crd/ambit.dev_reconcilepolicies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	again, err := complete(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(again)); diff != "" {
		t.Errorf("completed again (-before +after):\n%s", diff)
	}
	for _, text := range []string{"kind: [", "unknown: field", `{spec: {versions: [{name: v1, schema: {openAPIV3Schema: {}}}]}}`} {
		if _, err := complete([]byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
