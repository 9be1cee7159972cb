package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTurns(t *testing.T) {
	key := func(policy, name string) Key { return Key{Policy: policy, Name: name} }
	cases := map[string]struct {
		reason     string
		push, want []Key
	}{
		"OnePolicy": {
			reason: "within a policy the first comes first",
			push:   []Key{key("a", "1"), key("a", "2"), key("a", "3")},
			want:   []Key{key("a", "1"), key("a", "2"), key("a", "3")},
		},
		"SmallBehindLarge": {
			reason: "a policy with one owner is served after one owner of a large policy",
			push:   []Key{key("a", "1"), key("a", "2"), key("a", "3"), key("b", "1")},
			want:   []Key{key("a", "1"), key("b", "1"), key("a", "2"), key("a", "3")},
		},
		"Three": {
			reason: "policies take turns in the order in which they came",
			push:   []Key{key("c", "1"), key("a", "1"), key("a", "2"), key("b", "1"), key("c", "2")},
			want:   []Key{key("c", "1"), key("a", "1"), key("b", "1"), key("c", "2"), key("a", "2")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			queue := &turns{}
			for _, k := range tc.push {
				queue.Push(k)
			}
			var got []Key
			for queue.Len() > 0 {
				got = append(got, queue.Pop())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(queue.waiting) != 0 || len(queue.order) != 0 {
				t.Errorf("an empty queue keeps %v, %v", queue.waiting, queue.order)
			}
		})
	}
}
