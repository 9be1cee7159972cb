package install

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// installation is one way to have Ambit in a cluster.
type installation struct {
	overlay string // of manifests/; empty: the chart
	// team: in a namespace, by a user with rights in that one only. Else in
	// Ambit's own namespace for all, by an administrator.
	team bool
	// watches: Ambit may see when rights change. Else it has to find out.
	watches bool
	sources []source
}

// source is where a policy comes from.
type source string

const (
	fromFile      source = "file"
	fromConfigMap source = "ConfigMap"
	fromResource  source = "custom resource"
)

// TestInstallations: with each way to install Ambit, and each source of policies that it
// reads, the Memcached policy does its work and follows rights as they come and go.
// One cell is not there: the overlay namespaced reads no custom resources, as none of
// its objects is cluster-scoped, and their kind is. Where an administrator has installed
// the kind, the chart reads them in one namespace too, when it is told to.
func TestInstallations(t *testing.T) {
	all := []source{fromFile, fromConfigMap, fromResource}
	for name, i := range map[string]installation{
		"overlay cluster":          {overlay: "cluster", watches: true, sources: all},
		"overlay demo":             {overlay: "demo", sources: all},
		"overlay namespaced":       {overlay: "namespaced", team: true, sources: []source{fromFile, fromConfigMap}},
		"chart":                    {watches: true, sources: all},
		"chart in mode namespaced": {team: true, sources: all},
	} {
		for _, from := range i.sources {
			t.Run(name+"/"+string(from), func(t *testing.T) {
				if i.team {
					t.Parallel() // after the others, whose Ambit sees all owners
				}
				i.check(t, from)
			})
		}
	}
}

// check installs Ambit, runs it, gives it the policy, and tells the story.
func (i installation) check(t *testing.T, from source) {
	s := i.stage(t, from)
	manifests := i.manifests(t, s.home, from)
	apply(t, s.by, manifests)
	i.prepare(s)
	available(t, s.home, 2)
	var more []string
	if from == fromFile && i.overlay != "" {
		more = []string{"-f", memcached}
	}
	i.give(s, from)
	run(t, s.program, manifests, more...)
	s.tell()
	s.takeBack(from)
}

// manifests renders the installation for a namespace.
func (i installation) manifests(t *testing.T, namespace string, from source) []byte {
	t.Helper()
	switch {
	case i.overlay == "namespaced":
		return kustomize(t, moved(t, namespace))
	case i.overlay != "":
		return kustomize(t, root+"/manifests/"+i.overlay)
	}
	values, err := yaml.Marshal(i.values(t, from))
	if err != nil {
		t.Fatal(err)
	}
	return mustTemplate(t, namespace, string(values))
}

// values are those of the chart: the default ones but for what the source needs. One
// of the cells has a leader for life.
func (i installation) values(t *testing.T, from source) map[string]any {
	t.Helper()
	values := map[string]any{}
	if i.team {
		values["mode"] = "namespaced"
	}
	switch {
	case from == fromFile:
		values["policies"] = map[string]any{"files": map[string]any{"memcached.yaml": string(read(t, memcached))}}
	case i.team && from == fromConfigMap:
		values["leaderElection"] = map[string]any{"mode": "life"}
	case i.team:
		values["policies"] = map[string]any{"from": []string{"crd"}}
	}
	return values
}
