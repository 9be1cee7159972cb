package main

import (
	"runtime/debug"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDescribe: modules are sorted, a replaced one is what it was replaced by, and the
// Go release is one of them.
func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.0",
		Main:      debug.Module{Path: "example.com/main", Version: "(devel)"},
		Deps: []*debug.Module{
			{Path: "example.com/b", Version: "v1.0.0+incompatible", Sum: "h1:b"},
			{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/c", Version: "v2.0.0", Sum: "h1:c"}},
		},
		Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "-trimpath", Value: "true"}},
	}
	got := describe(info, "v1.2.3")
	var refs []string
	for _, c := range got.Components {
		refs = append(refs, c.Ref)
	}
	want := []string{"pkg:golang/example.com/b@v1.0.0+incompatible", "pkg:golang/example.com/c@v2.0.0", "pkg:golang/std@1.26.0"}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Errorf("components (-want +got):\n%s", diff)
	}
	program := component{
		Type: "application", Ref: "pkg:golang/example.com/main@v1.2.3", PURL: "pkg:golang/example.com/main@v1.2.3",
		Name: "example.com/main", Version: "v1.2.3", Properties: []property{{Name: "go:GOOS", Value: "linux"}},
	}
	if diff := cmp.Diff(program, got.Metadata.Component); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]dependency{{Ref: program.Ref, DependsOn: want}}, got.Dependencies); diff != "" {
		t.Errorf("dependencies (-want +got):\n%s", diff)
	}
}
