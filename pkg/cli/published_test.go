package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/test/poll"
)

// TestRunChecksFields: `ambit run` refuses fields that no object of a kind has, by
// the schemas of the API server: of its own kinds and of those that were defined; and
// with what is wrong otherwise.
func TestRunChecksFields(t *testing.T) {
	const sise = `owner.spec has no field "sise"; did you mean "size"?`
	cases := map[string]struct {
		reason, status string
		want           []string
	}{
		"Defined": {"The kind has a CustomResourceDefinition.", "nodes: '${owner.spec.sise}'", []string{sise, "error: 1 mistake in"}},
		"BuiltIn": {"The kind is one of Kubernetes' own.", "nodes: '${pods.map(p, p.spec.nodName)}'", []string{`has no field "nodName"; did you mean "nodeName"?`}},
		"Status":  {"So are fields that it would write.", "nods: []", []string{`owner.status has no field "nods"; did you mean "nodes"?`, "error: 1 mistake in"}},
		"All":     {"It has other mistakes, too.", "nodes: '${owner.spec.sise} ${onwer.spec}'", []string{sise, `unknown variable or function "onwer"`, "error: 2 mistakes in"}},
	}
	s := newStage(t, "cluster-admin")
	s.publishes("apis/cache.example.com/v1alpha1")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			r := s.ambitWith(ctx, s.policy(fmt.Sprintf("status: {%s}", tc.status)), "run")
			for _, want := range tc.want {
				if r.Code != 1 || strings.Count(r.Stderr, want) != 1 {
					t.Errorf("%s Exit code %d, want 1 and once %s:\n%s", tc.reason, r.Code, want, r.Stderr)
				}
			}
		})
	}
}

// publishes waits until the API server has the schemas of a version: of kinds that were
// defined it takes a moment.
func (s *stage) publishes(version string) {
	s.Helper()
	err := poll.Until(s.Context(), patience, func(context.Context) (bool, error) {
		paths, err := s.typed.Discovery().OpenAPIV3().Paths()
		return paths[version] != nil, err
	})
	if err != nil {
		s.Fatalf("the schemas of %s: %v", version, err)
	}
}
