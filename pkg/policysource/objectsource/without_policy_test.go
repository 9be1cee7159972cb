package objectsource

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// TestWithoutPolicy: of a ConfigMap with the label of policies and no policy it is said once that it is ignored, and again only when
// it had one meanwhile; whoever deletes one need not hear of it.
func TestWithoutPolicy(t *testing.T) {
	const event = "ConfigMap team/maps Warning Invalid: there is no policy in it: none of its keys ends in .yaml or .yml"
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nil)
		c.grant("", "", "configmaps", "list, watch")
		c.grant("", "events.k8s.io", "events", "create")
		c.createMap("team", "maps", "{notes.txt: x}")
		c.start(ForConfigMaps)
		for _, step := range []struct {
			reason string
			do     func()
			said   int
		}{
			{reason: "it has none", do: func() {}, said: 1},
			{reason: "another text is none either", do: func() { c.patch(mapResource, "team", "maps", `{"data":{"more.txt":"x"}}`) }, said: 1},
			{reason: "it has one", do: func() { c.patch(mapResource, "team", "maps", `{"data":{"a.yaml":""}}`) }, said: 1},
			{reason: "its key vanishes", do: func() { c.patch(mapResource, "team", "maps", `{"data":{"a.yaml":null}}`) }, said: 2},
			{reason: "it is being deleted", do: func() {
				c.patch(mapResource, "team", "maps", `{"metadata":{"finalizers":["example.com/held"]},"data":{"a.yaml":""}}`)
				c.read()
				c.remove(mapResource, "team", "maps")
			}, said: 2},
			{reason: "it is gone, and made anew", do: func() {
				c.patch(mapResource, "team", "maps", `{"metadata":{"finalizers":null}}`)
				c.read()
				c.createMap("team", "maps", "{notes.txt: x}")
			}, said: 3},
		} {
			step.do()
			c.read()
			var want []string
			for range step.said {
				want = append(want, event)
			}
			if diff := cmp.Diff(want, c.events); diff != "" {
				t.Errorf("%s: the events (-want +got):\n%s", step.reason, diff)
			}
		}
	})
}

// TestAnnotated: the objects that carry a status are found, also those that have no policy any more.
func TestAnnotated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nil)
		c.grant("", "", "configmaps", "list, watch, patch")
		for _, name := range []string{"plain", "noted", "emptied"} {
			c.createMap("team", name, "{a.yaml: x}")
		}
		c.patch(mapResource, "team", "plain", `{"metadata":{"annotations":{"example.com/status":"x"}}}`)
		c.patch(mapResource, "team", "noted", `{"metadata":{"annotations":{"ambit.dev/status":"[]"}}}`)
		c.patch(mapResource, "team", "emptied", `{"metadata":{"annotations":{"ambit.dev/status":""}},"data":null}`)
		c.start(ForConfigMaps)
		names := func() (list []string) {
			for _, origin := range c.source.AnnotatedOrigins() {
				list = append(list, origin.Name+origin.Key)
			}
			slices.Sort(list)
			return list
		}
		if diff := cmp.Diff([]string{"emptied", "noted"}, names()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		object := c.source.FindObject(manifest.Origin{Kind: manifest.ConfigMap, Namespace: "team", Name: "noted", Key: "a.yaml"})
		if err := c.source.PatchObject(t.Context(), object, "", []byte(`{"metadata":{"annotations":{"ambit.dev/status":null}}}`)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"emptied"}, names()); diff != "" {
			t.Errorf("the answer to the write is not seen (-want +got):\n%s", diff)
		}
	})
}
