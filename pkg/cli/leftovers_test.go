package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// object is metadata as a change makes it.
func object(changes ...func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team-a"}}
	for _, change := range changes {
		change(o)
	}
	return o
}

func labelled(o *metav1.PartialObjectMetadata) {
	o.Labels = map[string]string{v1alpha1.LabelManagedBy: "ambit", v1alpha1.LabelPolicy: "web", v1alpha1.LabelOwnerUID: "1"}
}

func annotated(key, value string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) { metav1.SetMetaDataAnnotation(&o.ObjectMeta, key, value) }
}

func managed(manager string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{Manager: manager})
	}
}

func finalized(o *metav1.PartialObjectMetadata) { o.Finalizers = []string{"ambit.dev/cleanup"} }

func deleted(o *metav1.PartialObjectMetadata) {
	o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
}

func controlledBy(uid types.UID) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.OwnerReferences = []metav1.OwnerReference{{UID: uid, Controller: new(true)}}
	}
}

// recordText is the record of an owner with two objects that it has made, one of them
// an orphan, and one that it has merged into.
const recordText = `{"policy":"web","claim":"0123456789abcdef","groups":[` +
	`{"child":"a","apiVersion":"v1","kind":"ConfigMap","objects":["team-b/away/1"]},` +
	`{"child":"b","apiVersion":"v1","kind":"Secret","orphan":true,"objects":["team-a/kept/2"]},` +
	`{"child":"c","apiVersion":"v1","kind":"ServiceAccount","merged":true,"objects":["team-a/lent/3"]}]}`

func TestNeedsOf(t *testing.T) {
	app, own := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
	recorded := annotated(v1alpha1.AnnotationChildren, recordText)
	cases := map[string]struct {
		reason string
		kind   schema.GroupVersionKind
		object *metav1.PartialObjectMetadata
		want   []string
	}{
		"Foreign":     {"What Ambit has nothing to do with is none.", app, object(managed("kubectl")), nil},
		"Finalizer":   {"The record says whose the finalizer is, and what for.", app, object(finalized, recorded), []string{"Finalizer web: it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off; on record: 2 objects made, 1 merged into"}},
		"Unrecorded":  {"protect needs no record.", app, object(finalized), []string{"Finalizer : it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off"}},
		"Deleted":     {"One that is deleted is stuck already.", app, object(finalized, deleted), []string{"Finalizer : it is being deleted, and stays until Ambit takes its finalizer ambit.dev/cleanup off"}},
		"Illegible":   {"A record that somebody has broken says nothing.", app, object(finalized, annotated(v1alpha1.AnnotationChildren, "{")), []string{"Finalizer : it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off; its record cannot be read"}},
		"Record":      {"A record of orphans alone has no finalizer.", app, object(recorded), []string{"Record web: its annotation ambit.dev/children would stay; on record: 2 objects made, 1 merged into"}},
		"Policy":      {"The finalizer on a policy is that policy's.", own, object(finalized), []string{"Finalizer shop: it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off"}},
		"Tied":        {"Garbage collection takes what its owner controls.", app, object(labelled, managed("ambit/web"), controlledBy("1")), nil},
		"Claimed":     {"A claim is the tie of what no ownerReference can tie.", app, object(labelled, annotated(v1alpha1.AnnotationClaim, "x")), []string{"Child web: no ownerReference ties it to its owner: it would stay"}},
		"Untied":      {"Somebody has taken the ownerReference away.", app, object(labelled, managed("ambit/web")), []string{"Child web: no ownerReference ties it to its owner: it would stay"}},
		"Taken":       {"Somebody else's controller does not tie it to the owner.", app, object(labelled, managed("ambit/web"), controlledBy("2")), []string{"Child web: no ownerReference ties it to its owner: it would stay"}},
		"Copied":      {"Endpoints have the labels of their Service: labels prove nothing.", app, object(labelled, managed("endpoint-controller")), nil},
		"CopiedClaim": {"A ReplicaSet has the annotations of its Deployment, and may have the labels.", app, object(labelled, annotated(v1alpha1.AnnotationClaim, "x"), controlledBy("2")), nil},
		"Merged":      {"Each policy that has fields there, once.", app, object(managed("ambit/web/1"), managed("ambit/db/2"), managed("ambit/web/3")), []string{"Fields db: it would keep the fields that the policy has merged into it", "Fields web: it would keep the fields that the policy has merged into it"}},
		"Status":      {"The status of an owner is written by the policy itself.", app, object(managed("ambit/web")), nil},
		"Ensured":     {"What is the policy's own has no owner.", app, object(labelled, managed("ambit/web"), annotated(v1alpha1.AnnotationEnsuredBy, "platform/web")), []string{"Ensured web: it was made for the policy itself, and would stay"}},
		"CopiedMark":  {"An annotation alone proves nothing either.", app, object(annotated(v1alpha1.AnnotationEnsuredBy, "platform/web")), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, n := range needsOf(tc.kind, tc.object) {
				got = append(got, fmt.Sprintf("%s %s: %s", n.Finding, n.Policy, n.Why))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestLeftoverRecords(t *testing.T) {
	records := leftoverRecords{}
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	nothing := func(schema.GroupKind) bool { return false }
	records.read(app, object(annotated(v1alpha1.AnnotationChildren, recordText)), nothing)
	records.read(app, object(annotated(v1alpha1.AnnotationChildren, "{")), nothing)
	var kinds []string
	named, more := records.kinds(nothing)
	for _, kind := range named {
		kinds = append(kinds, kind.Kind)
	}
	if more != 0 {
		t.Errorf("%d kinds are left out, want none", more)
	}
	if diff := cmp.Diff([]string{"ConfigMap", "Secret", "ServiceAccount"}, kinds); diff != "" {
		t.Errorf("What is on record is looked at: -want +got\n%s", diff)
	}

	found := []needing{
		{Finding: foundChild, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team-b", Name: "away", Why: "untied"},
		{Finding: foundChild, APIVersion: "v1", Kind: "Secret", Namespace: "team-a", Name: "kept", Why: "untied"},
		{Finding: foundChild, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team-b", Name: "other", Why: "untied"},
		{Finding: foundFields, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team-b", Name: "away", Why: "merged"},
	}
	records.explain(found)
	want := []string{
		"untied; App team-a/shop has it on record",
		"App team-a/shop has it on record, to be left behind: onDelete is Orphan",
		"untied; no owner that was seen has it on record",
		"merged",
	}
	for i, n := range found {
		if n.Why != want[i] {
			t.Errorf("%s %s: %q, want %q", n.Kind, n.Name, n.Why, want[i])
		}
	}
}

// TestLeftoverRecordKinds: what records name and no policy has is looked at up to a limit;
// a record beyond it is none of Ambit's.
func TestLeftoverRecordKinds(t *testing.T) {
	record := func(from, to int) func(*metav1.PartialObjectMetadata) {
		var groups []string
		for i := from; i < to; i++ {
			groups = append(groups, fmt.Sprintf(`{"child":"a","apiVersion":"g%03d.x/v1","kind":"K","objects":["n/a/"]}`, i))
		}
		return annotated(v1alpha1.AnnotationChildren, `{"policy":"web","claim":"0123456789abcdef","groups":[`+strings.Join(groups, ",")+`]}`)
	}
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	search := func(records ...func(*metav1.PartialObjectMetadata)) (*leftoverSearch, int) {
		s := &leftoverSearch{seen: map[schema.GroupKind]bool{{Group: "g000.x", Kind: "K"}: true}, uids: map[types.UID]bool{}, ledger: leftoverRecords{}}
		for i, record := range records {
			owner := object(finalized, record)
			owner.UID = types.UID(fmt.Sprint(i))
			s.take(app, owner)
		}
		if _, err := s.recorded(); err != nil {
			t.Fatal(err)
		}
		kinds, _ := s.ledger.kinds(s.isSeen)
		return s, len(kinds)
	}
	for name, tc := range map[string]struct {
		reason  string
		records []func(*metav1.PartialObjectMetadata)
		kinds   int
		says    string
	}{
		"AsMany":    {"As many as Ambit writes, beside one that the policy has.", []func(*metav1.PartialObjectMetadata){record(0, 65)}, 64, ""},
		"TooMany":   {"One record with more is not believed.", []func(*metav1.PartialObjectMetadata){record(0, 66)}, 0, "the record of App team-a/shop is left out: it names 65 kinds that no policy has; Ambit writes at most 64"},
		"Thousands": {"However many.", []func(*metav1.PartialObjectMetadata){record(0, 900)}, 0, "the record of App team-a/shop is left out: it names 899 kinds that no policy has; Ambit writes at most 64"},
		"Together":  {"All together neither.", []func(*metav1.PartialObjectMetadata){record(0, 60), record(60, 120)}, 64, "55 more kinds that only records of owners name are left out: 64 are looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			s, kinds := search(tc.records...)
			var says []string
			for _, u := range s.found.Unseen {
				says = append(says, u.Why)
			}
			if got := strings.Join(says, "; "); kinds != tc.kinds || got != tc.says {
				t.Errorf("%s %d kinds, want %d; it says %q, want %q", tc.reason, kinds, tc.kinds, got, tc.says)
			}
		})
	}
}

// TestLeftoverSearch: whose findings count, and that an object which two groups serve
// counts once.
func TestLeftoverSearch(t *testing.T) {
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	web := &policy.Program{Name: "web", Owner: policy.Owner{GVK: app}}
	cases := map[string]struct {
		reason   string
		programs []*policy.Program
		kind     schema.GroupVersionKind
		object   *metav1.PartialObjectMetadata
		want     int
	}{
		"All":     {"Without -f every policy counts.", nil, app, object(managed("ambit/db/1")), 1},
		"Own":     {"With -f the policies that are given.", []*policy.Program{web}, app, object(managed("ambit/web/1")), 1},
		"Other":   {"Others do not.", []*policy.Program{web}, app, object(managed("ambit/db/1")), 0},
		"Unknown": {"A finalizer that does not say whose it is may be the policy's.", []*policy.Program{web}, app, object(finalized), 1},
		"Kind":    {"But not on a kind that the policy does not serve.", []*policy.Program{web}, app.GroupVersion().WithKind("Other"), object(finalized), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := &leftoverSearch{programs: tc.programs, uids: map[types.UID]bool{}, ledger: leftoverRecords{}}
			tc.object.UID = "1"
			s.take(tc.kind, tc.object)
			s.take(schema.GroupVersionKind{Group: "again", Version: "v1", Kind: tc.kind.Kind}, tc.object)
			if len(s.found.Leftovers) != tc.want {
				t.Errorf("%s found %v, want %d", tc.reason, s.found.Leftovers, tc.want)
			}
		})
	}
}

func TestLeftoversPrint(t *testing.T) {
	l := leftovers{Leftovers: []needing{
		{Finding: foundEnsured, Policy: "web", APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "web-viewer", Why: "it would stay"},
		{Finding: foundFinalizer, APIVersion: "example.com/v1", Kind: "App", Namespace: "team-a", Name: "shop", Why: "it is stuck"},
	}, Unseen: []unseen{{Resource: "secrets", Why: "refused", denied: true}}}
	cases := map[string]struct{ reason, format, want string }{
		"Table": {"Aligned as kubectl does; what is empty is shown.", "table", `NAMESPACE   KIND          NAME         POLICY      FINDING     WHY
<none>      ClusterRole   web-viewer   web         Ensured     it would stay
team-a      App           shop         <unknown>   Finalizer   it is stuck
`},
		"YAML": {"All fields are there, empty or not.", "yaml", `leftovers:
- apiVersion: rbac.authorization.k8s.io/v1
  finding: Ensured
  kind: ClusterRole
  name: web-viewer
  namespace: ""
  policy: web
  why: it would stay
- apiVersion: example.com/v1
  finding: Finalizer
  kind: App
  name: shop
  namespace: team-a
  policy: ""
  why: it is stuck
unseen:
- group: ""
  resource: secrets
  why: refused
`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := l.print(&out, tc.format); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
	var out bytes.Buffer
	if err := (leftovers{}).print(&out, "json"); err != nil || out.String() != "{\n  \"leftovers\": [],\n  \"unseen\": []\n}\n" {
		t.Errorf("Nothing is two empty lists: %v\n%s", err, &out)
	}
}

func TestLeftoversConclude(t *testing.T) {
	one := []needing{{Finding: foundFinalizer}}
	hidden := []unseen{{Group: "apps", Resource: "deployments", denied: true}, {Resource: "secrets", denied: true}}
	const warned = "warning: not looked at, because you may not list it in all namespaces: deployments.apps, secrets\n"
	cases := map[string]struct {
		reason string
		found  leftovers
		code   int
		stderr string
	}{
		"Nothing":    {"Nothing is said, too.", leftovers{}, exitOK, "nothing would be left in all namespaces\n"},
		"Something":  {"It says what to type.", leftovers{Leftovers: one}, exitFindings, "1 finding; `ambit cleanup -f POLICY` removes what a policy has made\n"},
		"Incomplete": {"Nothing that was seen is not nothing.", leftovers{Unseen: hidden}, exitCluster, warned},
		"Both":       {"Findings are findings, whatever else there is.", leftovers{Leftovers: one, Unseen: hidden}, exitFindings, warned + "1 finding; `ambit cleanup -f POLICY` removes what a policy has made\n"},
		"Broken":     {"A group whose server is away is named.", leftovers{Unseen: []unseen{{Group: "metrics.k8s.io", Why: "no answer"}}}, exitCluster, "warning: cannot look at *.metrics.k8s.io: no answer\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			o := &leftoversOptions{IOStreams: genericiooptions.IOStreams{ErrOut: &errOut}, Program: "ambit"}
			code, _ := exitCode(o.conclude(tc.found))
			if code != tc.code {
				t.Errorf("%s exit code %d, want %d", tc.reason, code, tc.code)
			}
			if diff := cmp.Diff(tc.stderr, errOut.String()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
