package cel

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/cel/environment"
)

// described is what expressions may use of an environment, and how they are checked.
type described struct {
	Functions  map[string][]string // the overloads, by the name of the function
	Macros     []string
	Variables  []string
	Libraries  []string
	Features   []int
	Validators []string
}

func describe(env *celgo.Env) described {
	d := described{Functions: map[string][]string{}, Libraries: slices.Sorted(slices.Values(env.Libraries()))}
	for name, f := range env.Functions() {
		for _, overload := range f.OverloadDecls() {
			d.Functions[name] = append(d.Functions[name], fmt.Sprint(overload.ID(), overload.ArgTypes(), overload.ResultType()))
		}
		slices.Sort(d.Functions[name])
	}
	macros := map[string]bool{}
	for _, m := range env.Macros() {
		macros[m.MacroKey()] = true
	}
	d.Macros = slices.Sorted(maps.Keys(macros))
	for _, v := range env.Variables() {
		d.Variables = append(d.Variables, v.Name()+" "+v.Type().String())
	}
	slices.Sort(d.Variables)
	for feature := range 64 { // cel-go numbers them from 1, and names none of them
		if env.HasFeature(feature) {
			d.Features = append(d.Features, feature)
		}
	}
	for _, v := range env.Validators() {
		d.Validators = append(d.Validators, v.Name())
	}
	slices.Sort(d.Validators)
	return d
}

// TestBaseEnv: policies may use what Kubernetes lets into stored expressions, also when
// a new version of Kubernetes' library lets in more.
func TestBaseEnv(t *testing.T) {
	env, err := newBaseEnv()
	if err != nil {
		t.Fatal(err)
	}
	want := describe(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv())
	if diff := cmp.Diff(want, describe(env)); diff != "" {
		t.Errorf("beside Kubernetes' own environment (-want +got):\n%s", diff)
	}
	if len(want.Functions) < 100 || len(want.Macros) < 10 || len(want.Features) == 0 || len(want.Validators) == 0 {
		t.Errorf("Kubernetes' environment has %d functions, %d macros, the features %v and the validators %v: too little to compare",
			len(want.Functions), len(want.Macros), want.Features, want.Validators)
	}
}
