package writeconflict

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestUnstableValues: the message names the fields that differ, and both values of each.
func TestUnstableValues(t *testing.T) {
	long := strings.Repeat("ä", 200)
	for name, tc := range map[string]struct {
		reason        string
		before, after string // JSON
		want          string
	}{
		"Number": {
			reason: "A field that counts.",
			before: `{"same": 1, "step": 10}`, after: `{"same": 1, "step": 11}`,
			want: "owner.status.step is 10, and is to be 11",
		},
		"Type": {
			reason: "What is a text shows by its quotes, and nothing else is escaped than in JSON.",
			before: `{"at": {"step": "1"}}`, after: `{"at": {"step": "<1>"}}`,
			want: `owner.status.at.step is "1", and is to be "<1>"`,
		},
		"Comes": {
			reason: "A field that is not there yet.",
			before: `{}`, after: `{"seen": true}`,
			want: "owner.status.seen is nothing, and is to be true",
		},
		"Goes": {
			reason: "A field that is to go, with all that it holds.",
			before: `{"seen": {"by": ["a", "b"]}}`, after: `{}`,
			want: `owner.status.seen is {"by":["a","b"]}, and is to be nothing`,
		},
		"Item": {
			reason: "An item of a list that stays as long.",
			before: `{"list": ["a", {"b": 1}]}`, after: `{"list": ["a", {"b": 2}]}`,
			want: "owner.status.list[1].b is 1, and is to be 2",
		},
		"List": {
			reason: "A list that grows.",
			before: `{"list": [1]}`, after: `{"list": [1, 2]}`,
			want: "owner.status.list is [1], and is to be [1,2]",
		},
		"Kind": {
			reason: "A list that becomes a map.",
			before: `{"x": [1]}`, after: `{"x": {"a": 1}}`,
			want: `owner.status.x is [1], and is to be {"a":1}`,
		},
		"Several": {
			reason: "Three fields at most, in the order of their names.",
			before: `{"d": 1, "c": 1, "b": 1, "a": 1}`, after: `{"d": 2, "c": 2, "b": 2, "a": 2}`,
			want: "owner.status.a is 1, and is to be 2; owner.status.b is 1, and is to be 2; owner.status.c is 1, and is to be 2",
		},
		"Long": {
			reason: "A value is cut after 100 characters, between two of them.",
			before: `{"x": "` + long + `"}`, after: `{"x": "z` + long + `"}`,
			want: `owner.status.x is "` + long[:2*99] + `..., and is to be "z` + long[:2*98] + "...",
		},
		"Behind": {
			reason: "Of long values that begin alike the part that differs is shown.",
			before: `{"x": "` + long + `1"}`, after: `{"x": "` + long + `2` + long + `"}`,
			want: `owner.status.x is ...` + long[:2*20] + `1", and is to be ...` + long[:2*20] + "2" + long[:2*79] + "...",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after map[string]any
			for text, into := range map[string]*map[string]any{tc.before: &before, tc.after: &after} {
				if err := json.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			got := unstableProblem(before, after)
			if !strings.Contains(got.Message, " and is to change again: "+tc.want+"; let it end somewhere") {
				t.Errorf("%s\ngot:  %s\nwant: %s", tc.reason, got.Message, tc.want)
			}
			if !utf8.ValidString(got.Message) || got.Reason != v1alpha1.ReasonUnstable || !got.Terminal {
				t.Errorf("it says %+v", got)
			}
		})
	}
}
