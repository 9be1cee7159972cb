package sim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// answer is what a step was answered: an object, a text or an error.
type answer struct {
	value any // JSON-like; nil if there is none
	text  string
	err   error
}

// normal makes the answers of one run comparable with those of another: uids by the
// order in which they are seen, resourceVersions by their rank, times and generated
// names by a word.
type normal struct {
	names    *strings.Replacer // of namespaces
	versions []uint64
	uids     map[string]string
	made     []string // generated names, each with what stands for it
}

var (
	uidPattern  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	// versionPattern is a resourceVersion in a message. A number without the word beside it is
	// something else, which may be the same number: an HTTP status, or a limit.
	versionPattern = regexp.MustCompile(`(?i)(resourceversion\D{1,30})(\d+)`)
	oldPattern     = regexp.MustCompile(`too old resource version: \d+ \(\d+\)`)
)

func normalize(answers []answer, names *strings.Replacer) []string {
	n := &normal{names: names, uids: map[string]string{}}
	for _, a := range answers {
		n.collect(a.value)
	}
	slices.Sort(n.versions)
	n.versions = slices.Compact(n.versions)
	texts := make([]string, len(answers))
	for i, a := range answers {
		texts[i] = n.render(a)
	}
	return texts
}

// collect notes the resourceVersions of objects; those of lists and bookmarks depend on
// what else goes on in a cluster.
func (n *normal) collect(value any) {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["resourceVersion"].(string); ok && v["name"] != nil {
			if version, err := strconv.ParseUint(text, 10, 64); err == nil {
				n.versions = append(n.versions, version)
			}
		}
		if base, ok := v["generateName"].(string); ok {
			n.made = append(n.made, fmt.Sprint(v["name"]), base+"*****")
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "managedFields" { // there uids are in the order of their letters
				n.collect(v[key])
			}
		}
	case []any:
		for _, inner := range v {
			n.collect(inner)
		}
	case string:
		n.number(v)
	}
}

// number replaces uids by the order in which they are seen.
func (n *normal) number(text string) string {
	return uidPattern.ReplaceAllStringFunc(text, func(uid string) string {
		if n.uids[uid] == "" {
			n.uids[uid] = fmt.Sprintf("uid-%d", len(n.uids)+1)
		}
		return n.uids[uid]
	})
}

func (n *normal) rank(text string) string {
	version, err := strconv.ParseUint(text, 10, 64)
	if i, ok := slices.BinarySearch(n.versions, version); err == nil && ok {
		return fmt.Sprintf("rv-%d", i+1)
	}
	return ""
}

func (n *normal) render(a answer) string {
	switch {
	case a.err != nil:
		return n.failure(a.err)
	case a.value != nil:
		text, err := yaml.Marshal(n.clean(a.value))
		if err != nil {
			return "error: " + err.Error()
		}
		return n.words(strings.TrimSpace(string(text)))
	}
	return n.words(a.text)
}

// words replaces what differs between runs in a text.
func (n *normal) words(text string) string {
	text = n.number(text)
	text = strings.NewReplacer(n.made...).Replace(n.names.Replace(text))
	text = oldPattern.ReplaceAllString(text, "too old resource version: VERSION (VERSION)")
	return timePattern.ReplaceAllString(text, "TIME")
}

// failure is all of an error that a client can see.
func (n *normal) failure(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return n.words("error: " + err.Error())
	}
	s := status.Status()
	text := fmt.Sprintf("error %d %s\n%s", s.Code, s.Reason, n.versionsIn(s.Message))
	if d := s.Details; d != nil {
		sort.SliceStable(d.Causes, func(i, j int) bool { return fmt.Sprint(d.Causes[i]) < fmt.Sprint(d.Causes[j]) })
		encoded, _ := json.Marshal(d) // a plain struct
		text += "\n" + n.versionsIn(string(encoded))
	}
	return text
}

// versionsIn is a text with its words and resourceVersions replaced: the words first, as a
// uid and a time have numbers in them that may be those of a version.
func (n *normal) versionsIn(text string) string {
	return versionPattern.ReplaceAllStringFunc(n.words(text), func(found string) string {
		parts := versionPattern.FindStringSubmatch(found)
		if rank := n.rank(parts[2]); rank != "" {
			return parts[1] + rank
		}
		return found
	})
}

// clean is a copy without what differs between runs. managedFields are a line each.
func (n *normal) clean(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			switch text, isText := inner.(string); {
			case key == "managedFields":
				out[key] = n.managed(inner)
			case key == "resourceVersion" && isText && v["name"] == nil:
				out[key] = "VERSION"
			case key == "resourceVersion" && isText:
				out[key] = n.rank(text)
			case key == "continue" && isText && text != "":
				out[key] = "TOKEN"
			default:
				out[key] = n.clean(inner)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = n.clean(inner)
		}
		return out
	}
	return value
}

// sorted is a JSON object with its keys in order.
func (n *normal) sorted(data []byte) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(n.number(string(data))), &fields); err != nil {
		return err.Error()
	}
	text, _ := json.Marshal(fields) // it was decoded
	return string(text)
}

func (n *normal) managed(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	var entries []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(data, &entries); err != nil {
		return err.Error()
	}
	lines := []any{}
	for _, e := range entries {
		timed := "untimed"
		if e.Time != nil {
			timed = "timed"
		}
		fields := ""
		if e.FieldsV1 != nil {
			fields = n.sorted(e.FieldsV1.GetRawBytes())
		}
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s %s", e.Operation, e.Manager, e.APIVersion, e.Subresource, timed, fields)), " "))
	}
	slices.SortFunc(lines, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return lines
}
