package simulate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// PlanText is what has to be done, as text, in the order in which it would be carried out:
// what is made for the policy, what is written to the owner's metadata, then the plan for its
// children.
func (r Result) PlanText() string { return r.textOf(r.Plan) }

// PlanTextWithoutStatus is PlanText without what Status has: what is expected in a golden test
// beside the status.
func (r Result) PlanTextWithoutStatus() string {
	if r.LeftAlone != "" {
		return "left alone: " + r.LeftAlone + "\n"
	}
	shown := *r.Plan
	if shown.Conditions != nil {
		shown.Blockers = nil // they are in the conditions
	}
	shown.Status, shown.Conditions = nil, nil
	return r.textOf(&shown)
}

func (r Result) textOf(p *plan.Plan) string {
	var b strings.Builder
	if ensured := r.ensuredText(); ensured != "" {
		fmt.Fprintf(&b, "for the policy:\n%s", indentText(ensured))
	}
	if r.OwnerMetadata != nil {
		b.WriteString("metadata of the owner:\n")
		writeMetadata(&b, *r.OwnerMetadata, r.before)
	}
	rest := p.String()
	if b.Len() > 0 && rest == (&plan.Plan{}).String() {
		rest = ""
	}
	b.WriteString(rest)
	if p.Done {
		b.WriteString("done: nothing of the policy is left\n")
	}
	return b.String()
}

// ensuredText is the plan for the policy's own objects: the actions, and what keeps
// others from being made; "" if there is nothing to do.
func (r Result) ensuredText() string {
	if r.Ensured == nil {
		return ""
	}
	p := *r.Ensured
	p.Children, p.Status, p.Conditions = nil, nil, nil
	p.Blockers = slices.DeleteFunc(slices.Clone(p.Blockers), func(b plan.Problem) bool { return b.Reason == v1alpha1.ReasonProgressing })
	if len(p.Actions) == 0 && len(p.Blockers) == 0 {
		return ""
	}
	return p.String()
}

// writeMetadata writes what the metadata of the owner before is made to say.
func writeMetadata(b *strings.Builder, metadata plan.OwnerMetadata, before *unstructured.Unstructured) {
	switch {
	case metadata.Finalizer:
		fmt.Fprintf(b, "  finalizer %s\n", v1alpha1.FinalizerCleanup)
	case slices.Contains(before.GetFinalizers(), v1alpha1.FinalizerCleanup):
		fmt.Fprintf(b, "  no finalizer %s\n", v1alpha1.FinalizerCleanup)
	}
	record, err := inventory.ParseInventory(metadata.Children)
	switch {
	case err != nil:
		fmt.Fprintf(b, "  annotation %s: %v\n", v1alpha1.AnnotationChildren, err)
	case len(record.Entries) > 0:
		fmt.Fprintf(b, "  annotation %s:\n", v1alpha1.AnnotationChildren)
	case record.Policy == "" && before.GetAnnotations()[v1alpha1.AnnotationChildren] != "":
		fmt.Fprintf(b, "  no annotation %s\n", v1alpha1.AnnotationChildren)
	}
	for _, e := range record.Entries {
		fmt.Fprintf(b, "    %s\n", entryText(e))
	}
}

// entryText is as in `Role team-a/admin (child role, about to be made)`.
func entryText(e inventory.Entry) string {
	name := strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	about := "recorded"
	switch {
	case e.Name == "":
		return fmt.Sprintf("%ss in %s (child %s)", e.GVK.Kind, e.Namespace, e.Child)
	case e.Merged:
		about = "fields in it"
	case e.UID == "":
		about = "about to be made"
	}
	if e.Orphan {
		about += ", left behind"
	}
	return fmt.Sprintf("%s %s (child %s, %s)", e.GVK.Kind, name, e.Child, about)
}

func indentText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("  " + line)
	}
	return b.String()
}
