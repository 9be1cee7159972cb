package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask posts a request to a hook and returns the answer.
func ask(t *testing.T, path, body string) map[string]any {
	t.Helper()
	server := httptest.NewServer(newHandler())
	defer server.Close()
	response, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s, %s, %v", path, response.Status, text, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// at returns what is at a path of names and the first items of lists.
func at(value any, path ...string) any {
	for _, name := range path {
		if list, ok := value.([]any); ok && len(list) > 0 {
			value = list[0]
		}
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

const owner = `{"metadata": {"namespace": "a", "name": "cache", "generation": 3}, "spec": {"size": 2}}`

func TestSyncOwner(t *testing.T) {
	cases := map[string]struct {
		reason, children, related string
		state, node               any
	}{
		"New": {"There is no Deployment yet.", `{"Deployment.apps/v1": {}}`, `{"Pod.v1": {}}`, "Progressing", nil},
		"Ready": {
			"The Deployment is available, and a Pod runs.",
			`{"Deployment.apps/v1": {"cache": {"status": {"availableReplicas": 2}}}}`,
			`{"Pod.v1": {"cache-1": {"metadata": {"name": "cache-1"}, "status": {"phase": "Running"}}}}`, "Ready", "cache-1",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, "/sync", `{"parent": `+owner+`, "children": `+tc.children+`, "related": `+tc.related+`}`)
			if size := at(answer["children"], "spec", "replicas"); size != 2.0 {
				t.Errorf("%s Replicas are %v, want 2", tc.reason, size)
			}
			if about := at(answer, "status", "conditions", "observedGeneration"); about != 3.0 {
				t.Errorf("%s The status is about generation %v, want 3", tc.reason, about)
			}
			if state := at(answer, "status", "state", "status"); state != tc.state {
				t.Errorf("%s The state is %v, want %v", tc.reason, state, tc.state)
			}
			var node any
			if nodes := at(answer, "status", "nodes").([]any); len(nodes) > 0 {
				node = nodes[0]
			}
			if node != tc.node {
				t.Errorf("%s The node is %v, want %v", tc.reason, node, tc.node)
			}
			if child := at(answer["children"], "metadata", "creationTimestamp"); child != nil {
				t.Errorf("%s The child has %v, which the owner does not decide", tc.reason, child)
			}
		})
	}
}

func TestCustomizeOwner(t *testing.T) {
	answer := ask(t, "/customize", `{"parent": `+owner+`}`)
	label := at(answer["relatedResources"], "labelSelector", "matchLabels", "app.kubernetes.io/instance")
	if label != "cache" || at(answer["relatedResources"], "namespace") != "a" {
		t.Errorf("The Pods of the owner are those with its label in its namespace, got %v", answer)
	}
}
