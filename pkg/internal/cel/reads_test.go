package cel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// corpus are expressions over owner, with the fields that they read.
var corpus = map[string]string{
	// Plain fields.
	`1 + 1`:                                `{}`,
	`owner == owner`:                       `!`,
	`[owner]`:                              `!`,
	`owner.spec.size`:                      `{spec{size!}}`,
	`owner.spec.none`:                      `{spec{none!}}`,
	`owner.spec.size.none`:                 `{spec{size{none!}}}`,
	`owner.spec.size > 2 && owner.spec.on`: `{spec{on!,size!}}`,
	`owner.spec.on ? owner.spec.size : owner.spec.ratio`:                   `{spec{on!,ratio!,size!}}`,
	`string(owner.spec.size) + owner.metadata.name`:                        `{metadata{name!},spec{size!}}`,
	`quantity(owner.spec.name + '1').isGreaterThan(quantity('1')) || true`: `{spec{name!}}`,
	`dyn(owner.spec).size`:                               `{spec{size!}}`,
	`type(owner.spec.size) == int`:                       `{spec{size!}}`,
	`type(owner.spec.size) == google.protobuf.Timestamp`: `{spec{size!}}`,
	`.owner.spec.size`:                                   `{spec{size!}}`,

	// Indexes.
	`owner.spec['size']`:                        `{spec{size!}}`,
	`owner['spec']['list'][1]['name']`:          `{spec{list{*{name!}}}}`,
	`owner.metadata.labels`:                     `{metadata{labels!}}`,
	`owner.metadata.labels['tier.io/b']`:        `{metadata{labels{tier.io/b!}}}`,
	`'app' in owner.metadata.labels`:            `{metadata{labels!}}`,
	`owner.spec.list[0].name`:                   `{spec{list{*{name!}}}}`,
	`owner.spec.list[owner.spec.size - 2].name`: `{spec{list{*{name!}},size!}}`,
	`owner.spec.map[owner.spec.key].v`:          `{spec{key!,map{*{v!}}}}`,
	`owner.spec[owner.metadata.name]`:           `{metadata{name!},spec{*!}}`,

	// Presence and optionals.
	`has(owner.spec.size)`:                                             `{spec{size{}}}`,
	`has(owner.spec.none.deep) || true`:                                `{spec{none{deep{}}}}`,
	`has(owner.spec) && !has(owner.spec.none)`:                         `{spec{none{}}}`,
	`has(owner.spec.list) && owner.spec.list[0].port == 1`:             `{spec{list{*{port!}}}}`,
	`owner.spec.?size.orValue(0)`:                                      `{spec{size!}}`,
	`owner.?spec.?none.?deep.orValue('x')`:                             `{spec{none{deep!}}}`,
	`owner.?spec.none.deep.orValue('x')`:                               `{spec{none{deep!}}}`,
	`owner[?'spec'].?size`:                                             `{spec{size!}}`,
	`owner.spec.list[?7].?name`:                                        `{spec{list{*{name!}}}}`,
	`owner.?spec.value().size`:                                         `{spec{size!}}`,
	`owner.?spec.hasValue()`:                                           `{spec{}}`,
	`owner.?spec.?none.hasValue()`:                                     `{spec{none{}}}`,
	`owner.?spec.optMap(s, s.size).orValue(1)`:                         `{spec{size!}}`,
	`owner.?spec.optMap(s, 1)`:                                         `{spec{}}`,
	`owner.?spec.optFlatMap(s, s.?size)`:                               `{spec{size!}}`,
	`owner.?none.or(owner.?spec).value().size`:                         `{none!,spec!}`,
	`owner.?spec.?name.orValue(owner.metadata.name)`:                   `{metadata{name!},spec{name!}}`,
	`optional.of(owner.spec.size).value()`:                             `{spec{size!}}`,
	`optional.ofNonZeroValue(owner.spec.size)`:                         `{spec{size!}}`,
	`owner.?spec.?conditions.orValue([]).exists(c, c.type == 'Ready')`: `{spec{conditions{*{type!}}}}`,
	`owner.?spec.?list.orValue([]).exists(c, c.name == 'one')`:         `{spec{list{*{name!}}}}`,

	// Sizes.
	`size(owner)`:           `{*{}}`,
	`size(owner.spec.list)`: `{spec{list{*{}}}}`,
	`owner.spec.list.size() + size(owner.spec.map)`: `{spec{list{*{}},map{*{}}}}`,
	`size(owner.spec.name)`:                         `{spec{name{*{}}}}`,
	`owner.spec.list.filter(e, e.port > 1).size()`:  `{spec{list{*{port!}}}}`,
	`size(owner.spec.list.map(e, e.name))`:          `{spec{list{*{name!}}}}`,

	// Macros.
	`owner.spec.list.all(e, true)`:                                                `{spec{list{*{}}}}`,
	`owner.spec.list.map(e, e.name)`:                                              `{spec{list{*{name!}}}}`,
	`owner.spec.list.map(e, 1)`:                                                   `{spec{list{*{}}}}`,
	`owner.spec.list.map(e, e.port > 1, e.name)`:                                  `{spec{list{*{name!,port!}}}}`,
	`owner.spec.list.filter(e, e.port > 5)`:                                       `{spec{list!}}`,
	`owner.spec.list.filter(e, true)[0].name`:                                     `{spec{list{*{name!}}}}`,
	`owner.spec.list.filter(e, e.port > 1).map(e, e.name)`:                        `{spec{list{*{name!,port!}}}}`,
	`owner.spec.list.filter(e, has(e.port)).filter(e, e.port > 1).map(e, e.name)`: `{spec{list{*{name!,port!}}}}`,
	`owner.spec.list.exists(e, e.name == 'one' && e.port == 1)`:                   `{spec{list{*{name!,port!}}}}`,
	`owner.spec.list.exists_one(e, e.port == 2)`:                                  `{spec{list{*{port!}}}}`,
	`owner.spec.list.transformMap(i, e, e.name)`:                                  `{spec{list{*{name!}}}}`,
	`owner.spec.list.all(i, e, i < 5)`:                                            `{spec{list{*{}}}}`,
	`owner.spec.map.map(k, owner.spec.map[k].v).sort()`:                           `{spec{map{*!}}}`,
	`owner.spec.map.exists(k, k == 'l')`:                                          `{spec{map{*!}}}`,
	`owner.spec.map.all(k, v, v.v != '')`:                                         `{spec{map{*{v!}}}}`,
	`owner.spec.map.exists(k, v, k == 'l')`:                                       `{spec{map{*{}}}}`,
	`owner.spec.map.transformList(k, v, k + v.v).sort()`:                          `{spec{map{*{v!}}}}`,
	`owner.spec.map.transformMap(k, v, v.v)`:                                      `{spec{map{*{v!}}}}`,
	`owner.spec.words.map(w, w + owner.spec.name)`:                                `{spec{name!,words{*!}}}`,
	`owner.spec.list.map(e, owner.spec.list.map(f, e.name + f.name))`:             `{spec{list{*{name!}}}}`,
	`owner.spec.list.map(owner, owner.name)`:                                      `{spec{list{*{name!}}}}`,
	`owner.spec.list.map(owner, .owner.spec.size)`:                                `{spec{list{*{}},size!}}`,
	`[owner.spec].map(s, s.size)`:                                                 `{spec!}`,
	`owner.spec.list.map(e, e)[0].name`:                                           `{spec{list{*!}}}`,

	// Functions over lists.
	`owner.spec.words.sort()`:                                      `{spec{words!}}`,
	`owner.spec.words.join(',')`:                                   `{spec{words!}}`,
	`owner.spec.list.reverse()[0].name`:                            `{spec{list{*{name!}}}}`,
	`owner.spec.list.slice(0, owner.spec.size - 2).map(e, e.name)`: `{spec{list{*{name!}},size!}}`,
	`owner.spec.list.sortBy(e, e.port).map(e, e.name)`:             `{spec{list{*{name!,port!}}}}`,
	`owner.spec.list.first().?name`:                                `{spec{list{*{name!}}}}`,
	`owner.spec.list.last().value().name`:                          `{spec{list{*{name!}}}}`,
	`owner.spec.list.distinct().size()`:                            `{spec{list!}}`,

	// Literals.
	`[owner.spec.size, owner.spec.size]`:               `{spec{size!}}`,
	`{'a': owner.spec.name, 'b': owner.metadata.name}`: `{metadata{name!},spec{name!}}`,
	`{'a': owner.spec}.a.size`:                         `{spec!}`,
	`{owner.spec.name: 1}`:                             `{spec{name!}}`,
}

func TestReads(t *testing.T) {
	env := mustEnv(t, "owner")
	for source, want := range corpus {
		t.Run(source, func(t *testing.T) {
			if got := mustCompile(t, env, source).FieldsRead()["owner"].String(); got != want {
				t.Errorf("reads %s, want %s", got, want)
			}
		})
	}
}

func TestVars(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   []string
	}{
		"None":     {reason: "no variable is used", source: `1`},
		"Sorted":   {reason: "each once, in order", source: `pods.map(p, owner.a + p.b + owner.c)`, want: []string{"owner", "pods"}},
		"Type":     {reason: "a type is no variable", source: `type(owner) == map`, want: []string{"owner"}},
		"Macro":    {reason: "nor is a macro's variable, even of the same name", source: `[1].map(owner, owner)`},
		"Presence": {reason: "a variable of which only the presence of a field is read", source: `has(owner.a)`, want: []string{"owner"}},
		"Size":     {reason: "a variable that is counted", source: `size(pods)`, want: []string{"pods"}},
		"Dead":     {reason: "a variable that is not reached at run time", source: `false && owner.a`, want: []string{"owner"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := mustCompile(t, mustEnv(t, "owner", "pods", "policy"), tc.source).FreeVariables()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
