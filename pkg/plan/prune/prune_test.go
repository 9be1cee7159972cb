package prune

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// chain returns the children base, then web and job that read it, and side.
func chain() []*policy.Child {
	return []*policy.Child{
		{ID: "base"}, {ID: "web", Children: []string{"base"}}, {ID: "job", Asked: []string{"web"}}, {ID: "side"},
	}
}

// candidates returns a candidate for each `child/name@made`; a child that is not known has rank 1.
func candidates(g *Graph, texts ...string) []Candidate {
	var list []Candidate
	for _, text := range texts {
		id, name, _ := strings.Cut(text, "/")
		name, made, _ := strings.Cut(name, "@")
		obj := &unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "metadata": map[string]any{"name": name}}}
		if made != "" {
			obj.Object["metadata"].(map[string]any)["creationTimestamp"] = made
		}
		obj.SetUID(types.UID(name))
		c := Candidate{Object: obj, ID: id, Child: policy.FindChild(g.children, id), Rank: 1}
		c.GVK.Kind = "Widget"
		if c.Child != nil {
			c.Rank = g.RankOf(id)
		}
		list = append(list, c)
	}
	return list
}

// TestFirstWaves: what depends on something goes before it.
func TestFirstWaves(t *testing.T) {
	for name, tc := range map[string]struct {
		reason     string
		candidates []string
		hidden     []Wave
		want       []string // for each candidate, the wave that it waits for
	}{
		"Alone":   {"nothing waits for nothing", []string{"base/a", "base/b"}, nil, []string{"", ""}},
		"Chain":   {"each waits for what reads it, however far", []string{"base/a", "web/b", "job/c"}, nil, []string{`Widget "b"`, `Widget "c"`, ""}},
		"Side":    {"others do not matter", []string{"side/a", "job/c"}, nil, []string{"", ""}},
		"Unknown": {"what a child made that is gone may read all below it", []string{"base/a", "gone/x", "web/b"}, nil, []string{`Widget "x"`, "", ""}},
		"Hidden":  {"so may what cannot be seen", []string{"base/a"}, []Wave{{Child: nil, Rank: 2, Name: "objects"}}, []string{"objects"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGraph(chain())
			var got []string
			for _, w := range FirstWaves(candidates(g, tc.candidates...), tc.hidden, g.DependsFirst) {
				if w == nil {
					w = &Wave{}
				}
				got = append(got, w.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKeepNewest: the newest objects of a child that keeps some stay, and no others.
func TestKeepNewest(t *testing.T) {
	g := NewGraph(chain())
	keeps := g.children[0]
	keeps.Keep = 2
	list := candidates(g, "base/a@2026-01-01", "base/b@2026-01-03", "web/c@2026-01-09", "base/d@2026-01-02", "base/e@2026-01-04")
	list[4].Merged = true // is not ours to keep
	var got []string
	for _, c := range KeepNewest(list, keeps) {
		got = append(got, c.Object.GetName())
	}
	if want := []string{"a", "c", "e"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestDropDuplicates: an object that was found in two places is there once, with the higher rank.
func TestDropDuplicates(t *testing.T) {
	g := NewGraph(chain())
	var got []string
	for _, c := range DropDuplicates(candidates(g, "web/b", "base/a", "job/a", "base/b")) {
		got = append(got, fmt.Sprint(c.ID, " ", c.Name()))
	}
	if want := []string{`job Widget "a"`, `web Widget "b"`}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestKeepAsked: what is asked for decides, unless it cannot be said of one candidate.
func TestKeepAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		unknown   string
		want      string
		asked     string
		uncertain int
	}{
		"Known":   {"those stay of which it is said", "", "web/c side/d", "abc", 0},
		"Unknown": {"all stay while it is not known of one, and it is asked of no more", "b", "side/d", "ab", 3},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGraph(chain())
			asked, got := "", []string{}
			left, uncertain := KeepAsked(candidates(g, "web/a", "web/b", "web/c", "side/d"), g.children[1], func(obj *unstructured.Unstructured) (bool, bool) {
				asked += obj.GetName()
				return obj.GetName() != "c", obj.GetName() != tc.unknown
			})
			for _, c := range left {
				got = append(got, c.ID+"/"+c.Object.GetName())
			}
			if strings.Join(got, " ") != tc.want || asked != tc.asked || uncertain != tc.uncertain {
				t.Errorf("%s: left %v, asked %s, %d uncertain", tc.reason, got, asked, uncertain)
			}
		})
	}
}
