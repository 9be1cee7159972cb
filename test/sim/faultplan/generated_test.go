package faultplan

import (
	"testing"

	"github.com/ambit-dev/ambit/test/raced"
)

// TestGenerated: each policy that a seed may give compiles, in both versions, and is made
// the same twice.
func TestGenerated(t *testing.T) {
	for seed := range uint64(raced.Few(40, generatedPolicies)) {
		s, err := newRecipe(seed).scenario()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if seed%8 > 0 {
			continue
		}
		again, err := newRecipe(seed).scenario()
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i := range s.Versions {
			if s.Versions[i].Hash != again.Versions[i].Hash {
				t.Errorf("seed %d gives another version %d each time", seed, i)
			}
		}
	}
}
