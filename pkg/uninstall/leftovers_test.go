package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func TestLeftovers(t *testing.T) {
	const (
		shop   = "Finalizer App team-a/shop web"
		kept   = "Child Secret team-a/kept web"
		away   = "Child ConfigMap team-b/away web"
		other  = "Record App team-b/other db"
		viewer = "Ensured ClusterRole /viewer web"
	)
	for name, tc := range map[string]struct {
		reason     string
		all        bool // policies
		namespaces []string
		change     func(*fakeCluster)
		want       []string
		unseen     []Unseen
	}{
		"All":       {reason: "Of every policy, but for what garbage collection takes.", all: true, want: []string{viewer, shop, kept, other, away}},
		"Policy":    {reason: "Of one policy.", want: []string{viewer, shop, kept, away}},
		"Namespace": {reason: "What is in no namespace is left out.", namespaces: []string{"team-a"}, want: []string{shop, kept}},
		"Denied": {reason: "What may not be listed is named.", change: func(c *fakeCluster) { c.refuse("list", "secrets", "*", forbidden("secrets")) },
			want: []string{viewer, shop, away}, unseen: []Unseen{{Resource: "secrets", Why: "secrets is forbidden: no right", Denied: true}}},
		"Broken": {reason: "So is a group whose server is away.", all: true, change: func(c *fakeCluster) { c.failGroup("metrics.k8s.io", "no answer") },
			want: []string{viewer, shop, kept, other, away}, unseen: []Unseen{{Group: "metrics.k8s.io", Why: "no answer"}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t, everything()...)
			if tc.change != nil {
				tc.change(c)
			}
			programs := []*policy.Program{webPolicy()}
			if tc.all {
				programs = nil
			}
			scan := c.scan(tc.namespaces...)
			found, err := scan.FindLeftovers(t.Context(), programs)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found.Findings {
				got = append(got, fmt.Sprintf("%s %s %s/%s %s", f.Type, f.Kind, f.Namespace, f.Name, f.Policy))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.unseen, found.Unseen); diff != "" {
				t.Errorf("%s Unseen: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLeftoversRecorded: a kind that only a record names is looked at, and a child says
// which owner has it on record.
func TestLeftoversRecorded(t *testing.T) {
	c := newFakeCluster(t, everything()...)
	scan := c.scan()
	var progress []string
	scan.Progress = func(done, total int) { progress = append(progress, fmt.Sprintf("%d/%d", done, total)) }
	program := webPolicy()
	program.Children = program.Children[:1] // the policy has no more Secrets
	found, err := scan.FindLeftovers(t.Context(), []*policy.Program{program})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(found.Findings, func(f Finding) bool { return f.Kind == "Secret" })
	if want := "App team-a/shop has it on record, to be left behind: onDelete is Orphan"; i < 0 || found.Findings[i].Why != want {
		t.Errorf("%v has no Secret of which is said: %s", found.Findings, want)
	}
	if diff := cmp.Diff([]string{"0/4", "1/4", "2/4", "3/4", "0/1"}, progress); diff != "" {
		t.Errorf("The policy, App, ConfigMap and ClusterRole come before what is on record: -want +got\n%s", diff)
	}
}

func TestLeftoversErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		reason string
		change func(*fakeCluster)
		ended  bool
		want   string
	}{
		"Discovery": {reason: "Without kinds nothing is found.", change: func(c *fakeCluster) { c.partly = broken }, want: "asking which kinds the cluster serves: broken"},
		"Context":   {reason: "An end is no finding.", ended: true, want: "listing configmaps: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newFakeCluster(t)
			scan := c.scan()
			if tc.change != nil {
				tc.change(c)
			}
			ctx, end := context.WithCancel(t.Context())
			defer end()
			if tc.ended {
				c.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { end(); return true, nil, broken })
			}
			if _, err := scan.FindLeftovers(ctx, nil); err == nil || err.Error() != tc.want {
				t.Errorf("%s The error is %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

// TestLeftoverSearch: whose findings count, and that an object which two groups serve
// counts once.
func TestLeftoverSearch(t *testing.T) {
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	web := &policy.Program{Name: "web", Label: "web", Owner: policy.Owner{GVK: app}}
	cases := map[string]struct {
		reason   string
		programs []*policy.Program
		kind     schema.GroupVersionKind
		object   *metav1.PartialObjectMetadata
		want     int
	}{
		"All":     {"Without -f every policy counts.", nil, app, object(managed("ambit/db/1")), 1},
		"Own":     {"With -f the policies that are given.", []*policy.Program{web}, app, object(managed("ambit/web/1")), 1},
		"Other":   {"Others do not.", []*policy.Program{web}, app, object(managed("ambit/db/1")), 0},
		"Unknown": {"A finalizer that does not say whose it is may be the policy's.", []*policy.Program{web}, app, object(finalized), 1},
		"Kind":    {"But not on a kind that the policy does not serve.", []*policy.Program{web}, app.GroupVersion().WithKind("Other"), object(finalized), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &leftoverSearch{programs: tc.programs, uids: map[types.UID]bool{}, records: ownerRecords{}}
			tc.object.UID = "1"
			s.takeObject(tc.kind, tc.object)
			s.takeObject(schema.GroupVersionKind{Group: "again", Version: "v1", Kind: tc.kind.Kind}, tc.object)
			if len(s.found.Findings) != tc.want {
				t.Errorf("%s found %v, want %d", tc.reason, s.found.Findings, tc.want)
			}
		})
	}
}
