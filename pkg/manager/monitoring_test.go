package manager

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/yaml"
)

// Parts of a query that are names: metrics, labels that are selected, and labels that
// are grouped by.
var (
	described    = regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`)
	metricNames  = regexp.MustCompile(`\bambit_[a-z_]+`)
	selections   = regexp.MustCompile(`(ambit_[a-z_]+)(?:\{([^}]*)\})?`)
	selected     = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	groupings    = regexp.MustCompile(`by \(([^)]*)\)`)
	legendLabels = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}`)
)

// ofTarget are labels that Prometheus adds: to what it scrapes, and to the buckets of
// a histogram. exported_namespace is the label namespace of Ambit, beside its own.
var ofTarget = []string{"namespace", "job", "le"}

// metricsOf returns the labels of each metric that there is.
func metricsOf(t *testing.T) map[string][]string {
	t.Helper()
	out := make(chan *prometheus.Desc)
	go func() {
		defer close(out)
		newCollector(newMeters(), nil, Options{}).Describe(out)
	}()
	found := map[string][]string{}
	for desc := range out {
		parts := described.FindStringSubmatch(desc.String())
		if parts == nil {
			t.Fatalf("not understood: %s", desc)
		}
		found[parts[1]] = strings.Split(parts[2], ",")
	}
	return found
}

// TestMonitoring: every metric and every label in the alerts and in the dashboard is
// there, and every metric is shown somewhere.
func TestMonitoring(t *testing.T) {
	known, used := metricsOf(t), map[string]bool{}
	queries := append(alerts(t), panels(t)...)
	if len(queries) < 30 {
		t.Fatalf("%d queries were found, want 30 or more", len(queries))
	}
	for _, q := range queries {
		for _, name := range metricNames.FindAllString(q.expression, -1) {
			used[base(name, known)] = true
		}
		for _, problem := range q.problems(known) {
			t.Errorf("%s: %s in %s", q.from, problem, q.expression)
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("%s is in no alert and in no panel", name)
		}
	}
}

// query is an expression, and the labels that texts beside it name.
type query struct {
	from, expression string
	texts            []string
}

// problems returns names in a query that do not exist.
func (q query) problems(known map[string][]string) []string {
	var found, labels []string
	for _, selection := range selections.FindAllStringSubmatch(q.expression, -1) {
		own, exists := known[base(selection[1], known)]
		if !exists {
			found = append(found, "there is no metric "+selection[1])
		}
		labels = append(labels, own...)
		for _, label := range selected.FindAllStringSubmatch(selection[2], -1) {
			if !slices.Contains(own, label[1]) && !slices.Contains(ofTarget, label[1]) {
				found = append(found, selection[1]+" has no label "+label[1])
			}
		}
	}
	check := func(label, where string) {
		label = strings.TrimPrefix(strings.TrimSpace(label), "exported_")
		if !slices.Contains(labels, label) && !slices.Contains(ofTarget, label) {
			found = append(found, "there is no label "+label+" to "+where)
		}
	}
	for _, grouping := range groupings.FindAllStringSubmatch(q.expression, -1) {
		for _, label := range strings.Split(grouping[1], ",") {
			check(label, "group by")
		}
	}
	for _, text := range q.texts {
		for _, label := range legendLabels.FindAllStringSubmatch(text, -1) {
			check(label[1], "name in a text")
		}
	}
	return found
}

// base is the metric that a name in a query is about: a histogram has several.
func base(name string, known map[string][]string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if stem := strings.TrimSuffix(name, suffix); known[stem] != nil {
			return stem
		}
	}
	return name
}

const monitoring = "../../manifests/monitoring/"

func alerts(t *testing.T) []query {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	decodeFile(t, monitoring+"alerts.yaml", &file)
	var found []query
	for _, group := range file.Groups {
		for _, rule := range group.Rules {
			texts := []string{rule.Annotations["summary"], rule.Annotations["description"]}
			if rule.Alert == "" || rule.For == "" || rule.Labels["severity"] == "" || slices.Contains(texts, "") {
				t.Errorf("alert %q lacks a name, a time, a severity or a text", rule.Alert)
			}
			found = append(found, query{from: "alert " + rule.Alert, expression: rule.Expr, texts: texts})
		}
	}
	return found
}

func panels(t *testing.T) []query {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	decodeFile(t, monitoring+"dashboard.json", &file)
	var found []query
	for _, panel := range file.Panels {
		for _, target := range panel.Targets {
			found = append(found, query{from: "panel " + panel.Title, expression: target.Expr, texts: []string{target.LegendFormat}})
		}
	}
	for _, variable := range file.Templating.List {
		found = append(found, query{from: "variable " + variable.Name, expression: variable.Definition})
	}
	return found
}

func decodeFile(t *testing.T, path string, into any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON(data); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("decoding %s: %v", path, err)
	}
}
