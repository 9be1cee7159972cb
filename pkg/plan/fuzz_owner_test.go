package plan

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/raced"
)

// FuzzOwnership plays the author of one owner, evil, against another owner of the same
// policy, good. The attacker writes whatever such an author can: the spec, the labels, the
// annotations and with them the record, the finalizers, objects in the namespace of the
// owner. They know everything: secrets, uids, field managers. After each write Ambit works
// on one of the owners, or on what the policy ensures, or an administrator edits the
// policy. Whatever is planned, nothing is applied to, deleted or released that Ambit did
// not make, adopt, or merge into, for that owner; what was made to be left behind is never
// deleted; and nothing is adopted that Ambit made for an owner that may live.
//
// A script that begins with wide plays with all of the language, and with an admission that
// takes labels away. What inputs without it found goes on meaning the same.
func FuzzOwnership(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(script(seed))
		f.Add(append([]byte(wide), script(seed)...))
	}
	programs := compileAttacked(f)
	f.Fuzz(func(t *testing.T, script []byte) { newGame(t, programs, script).play() })
}

// wide is how the script of a game with all of the language begins.
const wide = "wide"

// games is how many games of each sort TestOwnershipHeld plays.
const games = 40

// TestOwnershipHeld plays games that are always the same.
func TestOwnershipHeld(t *testing.T) {
	programs := compileAttacked(t)
	for seed := range uint64(raced.Few(games/10, games)) {
		newGame(t, programs, script(seed)).play()
		newGame(t, programs, append([]byte(wide), script(seed)...)).play()
	}
}

// script is that of a random game.
func script(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	moves := make([]byte, 200)
	for i := range moves {
		moves[i] = byte(random.Uint32())
	}
	return moves
}

// attackedPrograms are revisions of one policy that lets whoever writes owners choose as
// much as a policy can; those of wide are for wide games.
type attackedPrograms struct{ narrow, wide []*policy.Program }

// chosenName and chosenPlace are metadata that whoever writes owners chooses.
const (
	chosenName  = `name: "${owner.spec.name}"`
	chosenPlace = `, namespace: "${owner.spec.namespace}"`
)

func compileAttacked(t testing.TB) (programs attackedPrograms) {
	const ensures = `ensure:
- id: base
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: base, namespace: evil}}
`
	copies := attackedChild("copy", "when: owner.spec.copy", chosenName+chosenPlace)
	merges := attackedChild("note", "existing: Merge", `name: "${owner.spec.target}", namespace: "${owner.spec.at}"`)
	lefts := attackedChild("left", "onDelete: Orphan", `name: "left-${owner.spec.name}"`+chosenPlace)
	home := attackedChild("web", "when: owner.spec.copy", `name: "web-${owner.spec.name}"`)
	kept := attackedChild("kept", "onDelete: Orphan\n  apply: Create", `name: "kept-${owner.spec.name}"`+chosenPlace)
	for _, children := range []string{
		copies + merges + lefts + home, merges + home, lefts + kept + merges, copies + kept + home,
		strings.ReplaceAll(lefts, "onDelete: Orphan", "onDelete: Delete") + merges, strings.ReplaceAll(lefts+copies, "Gadget", "Widget") + merges,
	} {
		programs.narrow = append(programs.narrow, compile(t, ensures+"children:\n"+children), compile(t, ensures+"deletion: Ordered\nchildren:\n"+children))
	}
	shared := strings.ReplaceAll(ensures, "namespace: evil", "namespace: shared")
	taken := attackedChild("taken", "existing: Adopt", chosenName+chosenPlace)
	takenLeft := attackedChild("left", "existing: Adopt\n  onDelete: Orphan", `name: "left-${owner.spec.name}"`+chosenPlace)
	asItIs := attackedChild("kept", "existing: Adopt\n  apply: Create", `name: "kept-${owner.spec.name}"`+chosenPlace)
	anew := attackedChild("anew", "apply: Recreate", `name: "anew-${owner.spec.name}"`+chosenPlace)
	each := attackedChild("each", "forEach: {as: s, in: owner.spec.names}", `name: "${s}"`+chosenPlace)
	zone := strings.ReplaceAll(attackedChild("zone", "existing: Refuse", chosenName), "Gadget", "Zone")
	for _, children := range []string{
		taken + takenLeft + zone, takenLeft + asItIs + anew, copies + lefts + kept + merges, each + lefts + home, anew + zone + merges,
		strings.ReplaceAll(each+zone, "forEach", "existing: Adopt\n  forEach"), strings.ReplaceAll(zone, "Refuse", "Adopt\n  onDelete: Orphan") + anew,
		strings.ReplaceAll(zone, "Refuse", "Merge") + kept + each, strings.ReplaceAll(taken+anew, "apply: Recreate", "apply: Recreate\n  existing: Adopt"),
	} {
		programs.wide = append(programs.wide, compile(t, shared+"children:\n"+children), compile(t, shared+"deletion: Ordered\nchildren:\n"+children),
			compile(t, shared+"protect: {while: owner.spec.protected}\nchildren:\n"+children))
	}
	return programs
}

// attackedChild is a child whose author gives all metadata but name and namespace away.
func attackedChild(id, more, metadata string) string {
	const chosen = `labels: "${owner.spec.keys}", annotations: "${owner.spec.keys}", finalizers: "${owner.spec.finalizers}"`
	return "- id: " + id + "\n  " + more + "\n  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {" + metadata + ", " + chosen + "}}\n"
}

// game is one run of FuzzOwnership.
type game struct {
	*world
	t        testing.TB
	script   []byte
	programs []*policy.Program
	program  *policy.Program
	// wide games have all of the language. clusterScoped: the owners have no namespace.
	// blind: nobody knows which owners live.
	wide, clusterScoped, blind bool
	// owners are evil, good, and nobody for what the policy ensures.
	owners []*operator
	uids   int
	// byOwner and mergedFor are the objects that Ambit made, or merged into, by the uid of
	// the owner. orphans were made to be left behind.
	byOwner, mergedFor map[types.UID]map[types.UID]bool
	orphans            map[types.UID]bool
	log                []string
}

func newGame(t testing.TB, programs attackedPrograms, script []byte) *game {
	g := &game{world: &world{}, t: t, programs: programs.narrow,
		byOwner: map[types.UID]map[types.UID]bool{}, mergedFor: map[types.UID]map[types.UID]bool{}, orphans: map[types.UID]bool{}}
	if g.script, g.wide = bytes.CutPrefix(script, []byte(wide)); g.wide {
		g.programs, g.clusterScoped, g.blind = programs.wide, g.pick(3) == 0, g.pick(4) == 0
	}
	g.program = g.programs[0]
	for _, name := range []string{"evil", "good", "nobody"} {
		o := &operator{world: g.world, writes: -1, ensuring: name == "nobody"}
		g.owners = append(g.owners, o)
		g.birth(o, name)
	}
	g.bless()
	places := []string{"shared/victim", "shared/other", "shared/left-a", "good/a", "good/web-a"}
	g.settle("Gadget", places...)
	g.settle("Widget", places...)
	if g.wide {
		g.settle("Zone", "/victim", "/a")
	}
	return g
}

// bless has the good owner want what nobody else should get.
func (g *game) bless() {
	g.spec(g.owners[1], map[string]any{"name": "good", "namespace": "shared", "copy": true, "target": "victim", "at": "shared", "names": []any{"good-1", "good-2"}})
}

// settle makes objects of somebody else.
func (g *game) settle(kind string, places ...string) {
	for _, place := range places {
		namespace, name, _ := strings.Cut(place, "/")
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind}}
		obj.SetNamespace(namespace)
		obj.SetName(name)
		g.create(obj, "somebody")
	}
}

// pick is the next choice of the script.
func (g *game) pick(n int) int {
	if len(g.script) == 0 {
		return 0
	}
	choice := int(g.script[0]) % n
	g.script = g.script[1:]
	return choice
}

func (g *game) text(choices ...string) string { return choices[g.pick(len(choices))] }

// birth makes an owner, or makes it anew.
func (g *game) birth(o *operator, name string) {
	g.uids++
	o.gone, o.retire, o.wants = false, false, nil
	namespace := name
	if g.clusterScoped {
		namespace = "''"
	}
	o.setOwner(g.t, "{metadata: {name: "+name+", namespace: "+namespace+", uid: "+name+"-"+string(rune('a'+g.uids%26))+strings.Repeat("x", g.uids/26)+"}}")
	g.spec(o, map[string]any{"name": "a", "namespace": name, "target": "none", "at": name})
}

func (g *game) spec(o *operator, spec map[string]any) {
	o.owner = o.owner.DeepCopy()
	for key, value := range map[string]any{"keys": map[string]any{}, "finalizers": []any{}, "copy": false, "names": []any{}, "protected": false} {
		if spec[key] == nil {
			spec[key] = value
		}
	}
	o.owner.Object["spec"] = spec
}

func (g *game) play() {
	g.pass(g.owners[1])
	for turn := 0; len(g.script) > 0 && turn < 30; turn++ {
		g.attack()
		if g.pick(8) == 0 {
			g.program = g.programs[g.pick(len(g.programs))]
		}
		g.pass(g.owners[[]int{0, 0, 0, 1, 2}[g.pick(5)]])
	}
}

// attack is one write of the attacker.
func (g *game) attack() {
	evil := g.owners[0]
	moves := 6
	if g.wide {
		moves = 8
	}
	switch g.pick(moves) {
	case 0, 1:
		spec := map[string]any{
			"name": g.text("a", "good", "victim", "base"), "namespace": g.text("evil", "shared", "good"), "copy": g.pick(2) == 0,
			"target": g.text("none", "victim", "other", "good", "left-good", "base"), "at": g.text("shared", "good", "evil"),
			"keys": g.keys(), "finalizers": []any{g.text("", v1alpha1.FinalizerCleanup)},
		}
		if g.wide {
			spec["names"] = []any{g.text("a", "good", "victim"), g.text("good-1", "left-good", "base")}
			spec["protected"] = g.pick(4) == 0
		}
		g.spec(evil, spec)
	case 2:
		g.writeRecord(evil, g.forged().String())
	case 3:
		g.writeRecord(evil, g.owners[1].owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	case 4:
		g.plant()
	case 5:
		evil.retire = g.pick(3) == 0
		switch g.pick(3) {
		case 0:
			evil.owner = evil.owner.DeepCopy()
			evil.owner.SetFinalizers([]string{v1alpha1.FinalizerCleanup})
			evil.deleteOwner()
		case 1:
			if evil.gone || objectmeta.IsDeleting(evil.owner) {
				record := evil.owner.GetAnnotations()[v1alpha1.AnnotationChildren]
				g.birth(evil, "evil")
				g.writeRecord(evil, record)
			}
		}
	case 6:
		g.strip()
	case 7:
		g.disturbGood()
	}
}

// strip takes the labels of an object away that has a claim.
func (g *game) strip() {
	var claimed []*unstructured.Unstructured
	for _, obj := range g.objects {
		if obj.GetAnnotations()[v1alpha1.AnnotationClaim] != "" && obj.GetNamespace() != "evil" {
			claimed = append(claimed, obj)
		}
	}
	if len(claimed) > 0 {
		g.edit(claimed[g.pick(len(claimed))], map[string]any{"metadata": map[string]any{"labels": nil}}, "admission")
	}
}

// disturbGood has the author of the good owner delete it, or make it anew.
func (g *game) disturbGood() {
	switch good := g.owners[1]; {
	case good.gone:
		g.birth(good, "good")
		g.bless()
	case g.pick(3) == 0:
		good.deleteOwner()
	}
}

// mayLive reports whether there is, or may be, an owner of that uid, or what the policy
// ensures.
func (g *game) mayLive(uid types.UID) bool {
	return g.blind || uid == ensured || slices.ContainsFunc(g.owners[:2], func(o *operator) bool { return !o.gone && o.owner.GetUID() == uid })
}

func (g *game) writeRecord(o *operator, text string) {
	o.owner = o.owner.DeepCopy()
	annotations := o.owner.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationChildren] = text
	o.owner.SetAnnotations(annotations)
}

// forged is a record that the attacker makes up.
func (g *game) forged() inventory.Inventory {
	inv := g.inventory()
	inv.Entries = nil
	for range 1 + g.pick(2) {
		e := g.entry()
		if !slices.ContainsFunc(inv.Entries, func(o inventory.Entry) bool {
			return o.ObjectKey() == e.ObjectKey() && (!e.IsPlace() || o.Child == e.Child)
		}) {
			inv.Entries = append(inv.Entries, e)
		}
	}
	return inv
}

// inventory is one with the secret of some owner.
func (g *game) inventory() inventory.Inventory {
	o := g.owners[g.pick(2)]
	inv, _ := inventory.ParseInventory(o.owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	if inv.TokenSecret == "" || g.pick(3) == 0 {
		inv.TokenSecret = "a secret of the attacker"
	}
	inv.Policy, inv.Owner = "test", g.owners[g.pick(2)].owner.GetUID()
	return inv
}

// entry names an object that there is.
func (g *game) entry() inventory.Entry {
	obj := g.objects[g.pick(len(g.objects))]
	e := inventory.Entry{
		Child: g.child(), GVK: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
		Orphan: g.pick(3) == 0, Rank: g.pick(3),
	}
	if g.pick(3) > 0 {
		e.UID = obj.GetUID()
	}
	if e.UID != "" && g.pick(4) == 0 {
		e.Merged, e.Orphan = true, false
	}
	return e
}

// child is the id of a child, which the policy need not have.
func (g *game) child() string {
	ids := []string{"copy", "note", "left", "web", "kept", "zzz"}
	if g.wide {
		ids = append(ids, "taken", "anew", "each", "zone")
	}
	return g.text(ids...)
}

// keys are labels and annotations that look like Ambit's.
func (g *game) keys() map[string]any {
	keys := map[string]any{"note": "x"}
	if g.pick(2) == 0 {
		keys[v1alpha1.AnnotationClaim] = g.inventory().TokenOf(g.entry())
	}
	if g.pick(2) == 0 {
		keys[v1alpha1.AnnotationEnsuredBy] = "ambit-system/test"
		keys[v1alpha1.AnnotationChild] = g.text("copy", "left")
	}
	if g.pick(3) == 0 {
		keys[v1alpha1.LabelOwnerUID] = string(g.owners[g.pick(2)].owner.GetUID())
		keys[v1alpha1.LabelPolicy] = g.text("test", "true")
	}
	return keys
}

// plant makes an object in the attacker's namespace, with anything in it.
func (g *game) plant() {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": g.text("Gadget", "Widget")}}
	obj.SetNamespace("evil")
	obj.SetName(g.text("a", "web-a", "base", "left-a"))
	annotations := map[string]string{}
	for key, value := range g.keys() {
		annotations[key] = value.(string)
	}
	obj.SetAnnotations(annotations)
	obj.SetLabels(annotations)
	if g.pick(2) == 0 {
		unstructured.SetNestedSlice(obj.Object, []any{map[string]any{"apiVersion": "v1", "kind": "Cache", "name": "x",
			"uid": string(g.owners[g.pick(2)].owner.GetUID()), "controller": true}}, "metadata", "ownerReferences")
	}
	g.create(obj, g.text("somebody", "ambit/test"))
}

// pass is one of Ambit for an owner, until it has nothing to do or is disturbed.
func (g *game) pass(o *operator) {
	o.program, o.problems, g.owner = g.program, nil, o.owner.GetUID()
	if o.lives = g.mayLive; g.blind {
		o.lives = nil
	}
	for range 6 {
		if o.gone {
			return
		}
		p := g.observe(o)
		if p.OwnerMetadata != nil {
			o.mark(p.OwnerMetadata)
		}
		for _, a := range p.Actions {
			g.carryOut(o, a)
		}
		if p.OwnerMetadata == nil && len(p.Actions) == 0 {
			return
		}
	}
}

// observe plans until nothing else is wanted.
func (g *game) observe(o *operator) *Plan {
	p := o.make(g.t)
	for range 5 {
		if reflect.DeepEqual(p.Queries, o.wants) {
			break
		}
		o.wants = p.Queries
		p = o.make(g.t)
	}
	return p
}

// carryOut checks an action, and does what it says.
func (g *game) carryOut(o *operator, a Action) {
	g.log = append(g.log, "for "+string(o.owner.GetUID())+": "+a.titleText()+": "+a.Reason)
	uid := g.owner
	if o.ensuring {
		uid = ensured
	}
	live := g.findIn(a.GVK.Kind, a.Namespace, a.Name)
	switch {
	case a.Verb == Create && live != nil && a.Adopt:
		g.checkFree(uid, live)
	case a.Verb == Create && live != nil, a.Verb != Create && (live == nil || live.GetUID() != a.UID):
		return // the API server refuses it
	case a.Verb == Release && !g.mergedFor[uid][a.UID]:
		g.t.Fatalf("released what was never merged into:\n%s", strings.Join(g.log, "\n"))
	case (a.Verb == Apply || a.Verb == Delete) && !g.byOwner[uid][a.UID] && a.Namespace != "evil": // there the attacker may do so anyway
		g.t.Fatalf("%s of what Ambit did not make for it:\n%s", a.Verb, strings.Join(g.log, "\n"))
	case a.Verb == Delete && g.orphans[a.UID]:
		g.t.Fatalf("deleted what is to be left behind:\n%s", strings.Join(g.log, "\n"))
	}
	o.do(a)
	live = g.findIn(a.GVK.Kind, a.Namespace, a.Name)
	switch c := policy.FindChild(o.program.Children, a.Child); {
	case live == nil:
	case a.Verb == Create:
		for _, objects := range g.byOwner {
			delete(objects, live.GetUID())
		}
		noteObject(g.byOwner, uid, live.GetUID())
		g.orphans[live.GetUID()] = !o.ensuring && c.OnDelete == v1alpha1.DeleteOrphan
	case a.Verb == Apply:
		g.orphans[live.GetUID()] = !o.ensuring && c.OnDelete == v1alpha1.DeleteOrphan
	case a.Verb == Merge:
		noteObject(g.mergedFor, uid, live.GetUID())
	}
}

// ensured stands for the uid of the owner of what the policy ensures.
const ensured = types.UID("ensured")

// checkFree looks whether an object is one to be adopted.
func (g *game) checkFree(by types.UID, live *unstructured.Unstructured) {
	if ref := metav1.GetControllerOf(live); ref != nil || objectmeta.IsDeleting(live) {
		g.t.Fatalf("adopted what is controlled by %v, or goes:\n%s", ref, strings.Join(g.log, "\n"))
	}
	for uid, objects := range g.byOwner {
		if uid != by && objects[live.GetUID()] && g.mayLive(uid) && live.GetNamespace() != "evil" { // there the attacker may do so anyway
			g.t.Fatalf("adopted what Ambit made for %s:\n%s", uid, strings.Join(g.log, "\n"))
		}
	}
}

func noteObject(by map[types.UID]map[types.UID]bool, owner, object types.UID) {
	if by[owner] == nil {
		by[owner] = map[types.UID]bool{}
	}
	by[owner][object] = true
}
