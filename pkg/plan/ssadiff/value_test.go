package ssadiff

import (
	"encoding/binary"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/test/objecttext"
)

func TestDescribeValue(t *testing.T) {
	for _, tc := range []struct {
		value any
		want  string
	}{
		{nil, "nothing"}, {"secret", "a text of 6 characters"}, {"é", "a text of 1 character"}, {true, "a bool"},
		{int64(3), "a number"}, {2.5, "a number"}, {[]any{"secret"}, "a list of 1 element"},
		{map[string]any{"secret": 1, "b": 2}, "a map of 2 keys"}, {struct{}{}, "a value of type struct {}"},
	} {
		if got := DescribeValue(tc.value); got != tc.want || strings.Contains(got, "secret") {
			t.Errorf("%v: got %q, want %q", tc.value, got, tc.want)
		}
	}
}

func TestEqualScalar(t *testing.T) {
	for _, tc := range []struct {
		reason string
		a, b   any
		want   bool
	}{
		{"numbers are equal by value", int64(3), 3.0, true},
		{"of whatever width", int32(3), 3, true},
		{"beyond the precision of floats too", int64(1<<53 + 1), int64(1 << 53), false},
		{"and fractions", 0.5, 0.5, true},
		{"a text is no number", "3", int64(3), false},
		{"bools", true, true, true},
		{"null equals null alone", nil, false, false},
		{"maps are equal to nothing", map[string]any{}, map[string]any{}, false},
	} {
		if equalScalar(tc.a, tc.b) != tc.want || equalScalar(tc.b, tc.a) != tc.want {
			t.Errorf("%s: %v and %v", tc.reason, tc.a, tc.b)
		}
	}
}

func TestObjectDigest(t *testing.T) {
	digests := map[string]string{}
	for _, text := range []string{`{}`, `{a: 1}`, `{a: "1"}`, `{b: 1}`, `{a: [1]}`, `{a: {b: 1}}`, `{a: [{b: 1}]}`, `{a: [], b: 1}`} {
		digest := ObjectDigest(objecttext.ReadObject(t, text).Object)
		if again := ObjectDigest(objecttext.ReadObject(t, text).Object); again != digest {
			t.Errorf("%s has two digests", text)
		}
		if other, taken := digests[digest]; taken {
			t.Errorf("%s and %s have one digest", text, other)
		}
		digests[digest] = text
	}
}

// TestHashText: digests stand in annotations, so that they are FNV-1a whatever version of Ambit has made them.
func TestHashText(t *testing.T) {
	for _, text := range []string{"", "a", "memcached:1.6.26-alpine3.19", "\x00\xff"} {
		h := fnv.New64a()
		h.Write(binary.LittleEndian.AppendUint64([]byte{'s'}, uint64(len(text))))
		h.Write([]byte(text))
		if got := hashText(fnvOffset, 's', text); got != h.Sum64() {
			t.Errorf("%q: got %x, want %x", text, got, h.Sum64())
		}
	}
	if got := ObjectDigest(map[string]any{"a": []any{"x", int64(1), 2.5, true, nil}}); got != "277n9y8vomext" {
		t.Errorf("got %s", got)
	}
}
