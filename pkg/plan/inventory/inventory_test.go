package inventory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const testSecret = "0123456789abcdef"

func entryOf(child, apiVersion, kind, object string) Entry {
	namespace, rest, _ := strings.Cut(object, "/")
	name, uid, _ := strings.Cut(rest, "/")
	e := Entry{Child: child, GVK: schema.FromAPIVersionAndKind(apiVersion, kind), Namespace: namespace, Name: name}
	e.UID = types.UID(uid)
	return e
}

func TestInventoryText(t *testing.T) {
	role := entryOf("role", "rbac.authorization.k8s.io/v1", "ClusterRole", "/system:x/uid-1")
	intent := entryOf("config", "v1", "ConfigMap", "b/web/")
	known := entryOf("config", "v1", "ConfigMap", "a/web/uid-2")
	orphan := entryOf("config", "v1", "ConfigMap", "c/web/uid-3")
	orphan.Orphan, orphan.Rank = true, 2
	place := entryOf("config", "v1", "ConfigMap", "d//")
	merged := entryOf("pod", "v1", "Pod", "a/p/uid-4")
	merged.Merged = true
	cases := map[string]struct {
		reason string
		in     Inventory
		want   string
	}{
		"Empty": {reason: "an inventory of no policy is no annotation"},
		"Policy": {
			reason: "without entries it says whose the finalizer is",
			in:     Inventory{Policy: "test", TokenSecret: testSecret}, want: `{"policy":"test"}`,
		},
		"All": {
			reason: "what objects have in common is written once; the order given does not matter",
			in:     Inventory{Policy: "test", TokenSecret: testSecret, Entries: []Entry{intent, merged, place, orphan, role, known}},
			want: `{"policy":"test","claim":"0123456789abcdef","groups":[` +
				`{"child":"config","apiVersion":"v1","kind":"ConfigMap","objects":["a/web/uid-2","b/web/","d//"]},` +
				`{"child":"pod","apiVersion":"v1","kind":"Pod","merged":true,"objects":["a/p/uid-4"]},` +
				`{"child":"role","apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","objects":["/system:x/uid-1"]},` +
				`{"child":"config","apiVersion":"v1","kind":"ConfigMap","orphan":true,"rank":2,"objects":["c/web/uid-3"]}]}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.in.String()
			if got != tc.want {
				t.Fatalf("%s: got\n%s\nwant\n%s", tc.reason, got, tc.want)
			}
			read, err := ParseInventory(got)
			if err != nil || read.String() != got {
				t.Errorf("%s: read again: %v, %s", tc.reason, err, read)
			}
		})
	}
}

func TestInventoryRefused(t *testing.T) {
	form := `{"policy":"test","claim":"0123456789abcdef","groups":[%s]}`
	object := func(rest string) string {
		return fmt.Sprintf(form, `{"child":"c","apiVersion":"v1","kind":"Pod",`+rest+`}`)
	}
	cases := map[string]struct{ text, want string }{
		"NotJSON":       {`x`, "invalid character"},
		"UnknownField":  {`{"policy":"test","claim":"0123456789abcdef","more":1}`, "unknown field"},
		"ShortClaim":    {`{"policy":"test","claim":"short","groups":[{"child":"c","apiVersion":"v1","kind":"Pod","objects":["a/b/c"]}]}`, "at least 16"},
		"NoEntries":     {fmt.Sprintf(form, ""), "no entries"},
		"NoPolicy":      {`{"claim":"0123456789abcdef","groups":[{"child":"c","apiVersion":"v1","kind":"Pod","objects":["a/b/c"]}]}`, "policy is missing"},
		"Nothing":       {`{}`, "policy is missing"},
		"TextBehind":    {object(`"objects":["a/b/c"]`) + "{}", "text behind"},
		"NotAnObject":   {object(`"objects":["a/b"]`), "namespace/name/uid"},
		"Twice":         {object(`"objects":["a/b/c","a/b/d"]`), "twice"},
		"PlaceNowhere":  {object(`"objects":["//"]`), "no place"},
		"PlaceWithUID":  {object(`"objects":["a//c"]`), "no place"},
		"MergedNoUID":   {object(`"merged":true,"objects":["a/b/"]`), "uid is missing"},
		"NegativeRank":  {object(`"rank":-1,"objects":["a/b/"]`), "rank is negative"},
		"NoChild":       {fmt.Sprintf(form, `{"apiVersion":"v1","kind":"Pod","objects":["a/b/c"]}`), "child is missing"},
		"NoKind":        {fmt.Sprintf(form, `{"child":"c","apiVersion":"v1","objects":["a/b/c"]}`), "kind is missing"},
		"TooLong":       {object(`"objects":["` + strings.Repeat("x", MaxBytes) + `/b/c"]`), "bytes; Ambit writes at most 196608"},
		"NoPolicyName":  {`{"policy":"Not A Name"}`, "no name that a policy can have"},
		"NoIdentifier":  {fmt.Sprintf(form, `{"child":"a b","apiVersion":"v1","kind":"Pod","objects":["a/b/c"]}`), "no identifier"},
		"NoSuchKind":    {fmt.Sprintf(form, `{"child":"c","apiVersion":"v1","kind":"../Pod","objects":["a/b/c"]}`), "no kind"},
		"NoSuchGroup":   {fmt.Sprintf(form, `{"child":"c","apiVersion":"%2e%2e/v1","kind":"Pod","objects":["a/b/c"]}`), "no kind"},
		"NoNamespace":   {object(`"objects":["A B/b/c"]`), "no name"},
		"NoName":        {object(`"objects":["a/../c"]`), "no name"},
		"BadAPIVersion": {fmt.Sprintf(form, `{"child":"c","apiVersion":"a/b/c","kind":"Pod","objects":["a/b/c"]}`), "unexpected GroupVersion"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			inv, err := ParseInventory(tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(Inventory{}, inv); diff != "" {
				t.Errorf("what cannot be read is empty: %s", diff)
			}
		})
	}
}
