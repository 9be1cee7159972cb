package syntax

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MaxValues is how many values a policy may have: keys, mappings, lists and scalars, all
// counted. The longest of the shipped policies has about a thousand. What is read costs a few
// hundred bytes for each, however short its text.
const MaxValues = 20_000

// maxSeparators is how many characters that can begin a value a document may have, so that
// its values are bounded before they are read. There are many more than values where a
// policy has long texts, such as scripts or dashboards, and about 100,000 in 1 MiB of these.
const maxSeparators = 100_000

var tooWideText = fmt.Sprintf("this policy has more than %d values: keys, mappings, lists and scalars are counted", MaxValues)

// findTooWide returns the value below n, itself counted, that is one too many; nil if there is
// none. It follows no alias.
func findTooWide(n *yaml.Node) *yaml.Node {
	left := MaxValues
	return valueAfter(n, &left)
}

func valueAfter(n *yaml.Node, left *int) *yaml.Node {
	if *left--; *left < 0 {
		return n
	}
	for _, c := range n.Content {
		if found := valueAfter(c, left); found != nil {
			return found
		}
	}
	return nil
}

// findTooLong returns where a document of a text has more than maxSeparators; -1 if none has. It
// needs no memory.
func findTooLong(text string) int {
	count := 0
	for i := range len(text) {
		switch text[i] {
		case '\n':
			if strings.HasPrefix(text[i+1:], "---") {
				count = 0
			}
			count++
		case ',', '[', '{':
			count++
		case '-':
			if strings.HasPrefix(text[i+1:], " ") {
				count++
			}
		}
		if count > maxSeparators {
			return i
		}
	}
	return -1
}

// errTooWide is the error of an object with too many values; nil if it has not.
func errTooWide(file string, object map[string]any) error {
	if left := MaxValues; valuesLeft(object, &left) {
		return nil
	}
	return Errors{{File: file, Message: tooWideText}}
}

// valuesLeft counts a value, and those in it, and reports whether they are as many as are left.
func valuesLeft(value any, left *int) bool {
	*left--
	switch v := value.(type) {
	case map[string]any:
		*left -= len(v)
		for _, e := range v {
			if *left < 0 || !valuesLeft(e, left) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !valuesLeft(e, left) {
				return false
			}
		}
	}
	return *left >= 0
}
