package managedfields

import (
	"testing"

	"github.com/ambit-dev/ambit/test/objecttext"
)

func TestWroteAnnotation(t *testing.T) {
	const of = `, operation: Apply, apiVersion: v1, fieldsV1: {"f:metadata": {"f:annotations": {"f:proof": {}}}}}`
	for name, tc := range map[string]struct {
		reason  string
		entries []string
		want    bool
	}{
		"Nobody":   {"Without an entry nobody knows who wrote it.", nil, false},
		"Us":       {"The manager's entry has the annotation.", []string{"{manager: us" + of}, true},
		"Other":    {"Another manager proves nothing.", []string{"{manager: them" + of}, false},
		"Both":     {"Another one that wrote the same takes nothing away.", []string{"{manager: them" + of, "{manager: us" + of}, true},
		"Merged":   {"What a manager of merged fields wrote is the choice of others.", []string{"{manager: us" + of, "{manager: us/uid" + of}, false},
		"OnlyAll":  {"An entry of the annotations as a whole is none of this one.", []string{`{manager: us, fieldsV1: {"f:metadata": {"f:annotations": {".": {}}}}}`}, false},
		"Leaf":     {"Malformed entries are taken for absent.", []string{`{manager: us, fieldsV1: {"f:metadata": 1}}`, `{manager: 1, fieldsV1: []}`}, false},
		"OtherKey": {"Another annotation is another one.", []string{`{manager: us, fieldsV1: {"f:metadata": {"f:annotations": {"f:other": {}}}}}`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := WroteAnnotation(objecttext.ReadManaged(t, "{}", tc.entries...), "us", "proof"); got != tc.want {
				t.Errorf("%s got %t", tc.reason, got)
			}
		})
	}
	if WroteAnnotation(objecttext.ReadObject(t, "{metadata: {managedFields: [null, 1]}}"), "us", "proof") {
		t.Error("what is no entry proves something")
	}
}

func TestHasManager(t *testing.T) {
	with := objecttext.ReadManaged(t, "{}", "{manager: us, operation: Apply, subresource: status}")
	without := objecttext.ReadObject(t, "{metadata: {name: a}}")
	switch {
	case !HasManager(with, "us"), HasManager(with, "them"), HasManager(without, "us"):
		t.Error("a manager is who has an entry, of whatever kind")
	case !IsPresent(with), IsPresent(without), IsPresent(objecttext.ReadObject(t, "{}")):
		t.Error("an object has managedFields, or has none")
	}
}

func TestEntriesOf(t *testing.T) {
	entry := func(operation, version, rest string) string {
		return "{manager: us, operation: " + operation + ", apiVersion: " + version + rest + `, fieldsV1: {"f:spec": {"f:a": {}}}}`
	}
	for name, tc := range map[string]struct {
		reason           string
		entries          []string
		trouble          string
		migrate, isKnown bool
	}{
		"Apply":       {"An entry of our version is used.", []string{entry("Apply", "v1", "")}, "", false, true},
		"Status":      {"The status is not the main resource.", []string{entry("Apply", "v1", ", subresource: status")}, "nothing", false, false},
		"OtherKind":   {"One of another version says nothing of this one.", []string{entry("Apply", "v2", "")}, "of v2", false, false},
		"OtherUpdate": {"An Update entry of another version keeps its fields until it is migrated.", []string{entry("Update", "v2", "")}, "of v2", true, false},
		"Both":        {"Beside one of our version another one is no trouble.", []string{entry("Update", "v2", ""), entry("Apply", "v1", "")}, "", false, true},
		"Malformed":   {"An entry without fields is none.", []string{"{manager: us, operation: Apply, apiVersion: v1}"}, "nothing", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := FindEntries(objecttext.ReadManaged(t, "{}", tc.entries...), "us")
			if got.Trouble != tc.trouble || got.Migrate != tc.migrate || got.Owned.IsKnown() != tc.isKnown {
				t.Errorf("%s got %+v", tc.reason, got)
			}
		})
	}
	if got := FindEntries(objecttext.ReadObject(t, "{}"), "us"); got.Trouble != "" || got.Owned.IsKnown() {
		t.Errorf("an object without managedFields is compared by values: %+v", got)
	}
}

func TestParseKey(t *testing.T) {
	for element, want := range map[string]string{
		`k:{"name":"web"}`:               "name=web",
		`k:{"protocol":"TCP","port":53}`: "port=53,protocol=TCP",
		`k:{"name":"a\"b"}`:              `name=a"b`,
		`k:{"name":"{\"x\":\"y\"}"}`:     `name={"x":"y"}`,
		`k:{"ready":true}`:               "ready=true",
		`k:{}`:                           "",
		`k:[]`:                           "",
		`f:name`:                         "",
		`v:"x"`:                          "",
		`k:{"a":"x","b":0}`:              "a=x,b=0",
		`k:{"b":"x","a":"y"}`:            "a=y,b=x",
		`k:{"a":"x","a":"y"}`:            "a=y",
		`k:{"a": "x y" }`:                "a=x y",
		`k:{"port":-1}`:                  "port=-1",
		`k:{"port":1.5}`:                 "port=1.5",
		`k:{"port":12345678901234567}`:   "port=1.2345678901234568e+16",
		`k:{"port":01}`:                  "",
		`k:{"port":1`:                    "",
		`k:{"port":1}}`:                  "",
		`k:{"port":1,}`:                  "",
		`k:{"port"}`:                     "",
	} {
		key, ok := parseKey(element)
		if got := KeyText(key); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %t, want %q", element, got, ok, want)
		}
	}
}
