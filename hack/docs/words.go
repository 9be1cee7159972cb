package main

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

// split returns the text of a comment on one line, and its markers without `+`.
func split(comment *ast.CommentGroup) (doc string, markers []string) {
	var text []string
	for line := range strings.Lines(comment.Text()) {
		line = strings.TrimSpace(line)
		if marker, is := strings.CutPrefix(line, "+"); is {
			markers = append(markers, marker)
			continue
		}
		text = append(text, line)
	}
	return strings.TrimSpace(strings.Join(text, " ")), markers
}

func has(markers []string, name string) bool { return slices.Contains(markers, name) }

// kindWords is the kind of a field in words, by the name of its Go type.
func kindWords(name string, list bool) string {
	words := map[string]string{
		"RawExtension": "object", "LabelSelector": "label selector", "int32": "integer", "int64": "integer", "bool": "boolean",
	}[name]
	if words == "" {
		words = name
	}
	if list {
		return "list of " + words + "s"
	}
	return words
}

// mostLimit is the longest limit that is for people to read. A longer one is the form
// of a name that Kubernetes knows.
const mostLimit = 40

// limits are the markers of validation in words.
func limits(markers []string) []string {
	forms := []struct{ marker, form string }{
		{"MinItems", "at least %s items"}, {"MaxItems", "at most %s items"},
		{"MaxLength", "at most %s characters"},
		{"Minimum", "%s or more"}, {"Maximum", "%s or less"},
		{"Pattern", "matches %s"},
	}
	var found []string
	for _, f := range forms {
		for _, marker := range markers {
			number, is := strings.CutPrefix(marker, "kubebuilder:validation:"+f.marker+"=")
			if is && len(number) <= mostLimit {
				found = append(found, fmt.Sprintf(f.form, number))
			}
		}
	}
	return found
}
