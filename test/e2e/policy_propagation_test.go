package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestPolicyConfigPropagation and TestPolicySecretPropagation: copies follow the source,
// what the source asks for, and the namespaces: there are copies only in those that
// accept them, and none in those of Kubernetes and of Ambit, whatever anybody asks for.
func TestPolicyConfigPropagation(t *testing.T) {
	t.Parallel()
	tellPropagation(t, "config-propagation", "ConfigMap", "", "three", "four")
}

func TestPolicySecretPropagation(t *testing.T) {
	t.Parallel()
	tellPropagation(t, "secret-propagation", "Secret", "type: Opaque", "dGhyZWU=", "Zm91cg==")
}

// propagation is that story: the source is in home.
type propagation struct {
	*policyStory
	kind                                         string
	home, listed, other, labelled, foreign, bare string
	three, four                                  string // values of data
	selector                                     string
}

func tellPropagation(t *testing.T, name, kind, extra, three, four string) {
	p := &propagation{policyStory: tellPolicy(t, name), kind: kind, three: three, four: four}
	for _, namespace := range []*string{&p.home, &p.listed, &p.other, &p.labelled, &p.foreign, &p.bare} {
		*namespace = p.namespace()
	}
	for _, namespace := range []string{p.home, p.listed, p.other, p.labelled, p.foreign, p.bare} {
		p.accept(namespace, `"true"`)
	}
	p.reserved()
	p.selector = "tier=" + p.home // nobody else's namespaces have that
	p.label(p.labelled, p.home)
	p.label(p.home, p.home) // the source is not copied onto itself
	p.apply("{apiVersion: v1, kind: %s, metadata: {name: settings, namespace: %s, labels: {whose: somebody}}}", kind, p.foreign)
	p.apply(`
apiVersion: v1
kind: %s
metadata:
  name: settings
  namespace: %s
  annotations: {%[3]s.example.com/namespaces: "%[4]s, %[5]s", %[3]s.example.com/selector: %[6]s}
data: {one: %[7]s, two: %[7]s}
%[8]s`, kind, p.home, name, p.listed, p.other, p.selector, three, extra)

	p.copies(p.listed, p.other, p.labelled)
	p.shows(kind, p.labelled, "settings", "data: {one: %s, two: %s}\n%s", three, three, extra)
	p.shows(kind, p.labelled, "settings", "metadata: {ownerReferences: null}")
	p.shows(kind, p.home, "settings", "metadata: {finalizers: [%s]}", v1alpha1.FinalizerCleanup)
	p.step("TheSourceIsFollowed", (*propagation).followed)
	p.step("CopiesAreKept", (*propagation).kept)
	p.step("NamespacesAreFollowed", (*propagation).namespaces)
	p.step("ANamespaceSaysWhatItAccepts", (*propagation).accepted)
	p.step("NoneAmongWhatIsReserved", (*propagation).refusesReserved)
	p.step("ForeignObjectsStay", (*propagation).refused)
	p.steady()
	p.step("ANamespaceIsDeleted", (*propagation).namespaceGone)
	p.step("GoneWithTheAnnotation", (*propagation).annotationGone)
	p.step("GoneWithTheSource", (*propagation).sourceGone)
	p.ends()
}

func (p *propagation) step(name string, do func(*propagation)) {
	p.t.Helper()
	p.t.Run(name, func(t *testing.T) {
		sub := *p
		sub.policyStory = p.within(t)
		do(&sub)
	})
}

// copies waits until there are copies in these namespaces and in no others.
func (p *propagation) copies(namespaces ...string) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("there are copies in %q", namespaces), func(ctx context.Context) error {
		list, err := p.resource(p.kind, "").List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy + "=" + v1alpha1.PolicyLabel("ambit-system", p.name)})
		if err != nil {
			return err
		}
		found := map[string]bool{}
		for _, item := range list.Items {
			found[item.GetNamespace()] = true
		}
		for _, namespace := range namespaces {
			if !found[namespace] {
				return fmt.Errorf("there is none in %q", namespace)
			}
		}
		if len(list.Items) != len(namespaces) {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		return nil
	})
}

func (p *propagation) label(namespace, tier string) {
	p.t.Helper()
	p.patch("Namespace", "", namespace, fmt.Sprintf(`{"metadata":{"labels":{"tier":%q}}}`, tier))
}

// accept has a namespace say which copies it accepts.
func (p *propagation) accept(namespace, value string) {
	p.t.Helper()
	p.patch("Namespace", "", namespace, fmt.Sprintf(`{"metadata":{"labels":{"%s.example.com/accept":%s}}}`, p.name, value))
}

// reservedNamespaces get no copies, even if they accept them.
func reservedNamespaces() []string { return []string{"kube-system", "ambit-system"} }

// reserved has the reserved namespaces accept all copies.
func (p *propagation) reserved() {
	p.t.Helper()
	p.apply("{apiVersion: v1, kind: Namespace, metadata: {name: ambit-system}}")
	for _, namespace := range reservedNamespaces() {
		p.accept(namespace, `"true"`)
	}
}

func (p *propagation) annotate(text string) {
	p.t.Helper()
	p.patch(p.kind, p.home, "settings", fmt.Sprintf(`{"metadata":{"annotations":%s}}`, text))
}

func (p *propagation) followed() {
	p.patch(p.kind, p.home, "settings", fmt.Sprintf(`{"data":{"two":null,"three":%q}}`, p.four))
	for _, namespace := range []string{p.listed, p.other, p.labelled} {
		p.shows(p.kind, namespace, "settings", "data: {one: %s, two: null, three: %s}", p.three, p.four)
	}
}

func (p *propagation) kept() {
	p.patch(p.kind, p.listed, "settings", fmt.Sprintf(`{"data":{"one":%q}}`, p.four))
	p.shows(p.kind, p.listed, "settings", "data: {one: %s}", p.three)
	p.delete(p.kind, p.other, "settings")
	p.copies(p.listed, p.other, p.labelled)
}

func (p *propagation) namespaces() {
	p.label(p.bare, p.home)
	p.copies(p.listed, p.other, p.labelled, p.bare)
	p.label(p.labelled, "somewhere-else")
	p.copies(p.listed, p.other, p.bare)
	p.annotate(fmt.Sprintf(`{"%s.example.com/namespaces":%q}`, p.name, p.listed))
	p.copies(p.listed, p.bare)
}

// accepted: copies come and go with the label of the namespace.
func (p *propagation) accepted() {
	p.accept(p.bare, "null")
	p.copies(p.listed)
	p.accept(p.bare, `"`+p.home+`"`)
	p.copies(p.listed, p.bare)
	p.accept(p.bare, `"`+p.foreign+`"`)
	p.copies(p.listed)
	p.accept(p.bare, `"true"`)
	p.copies(p.listed, p.bare)
}

// refusesReserved: sources that ask for the reserved namespaces, among them one that means
// something there, get copies in no reserved one. That they were looked at shows in the
// copy of the last source; that there never was a copy shows in the audit log.
func (p *propagation) refusesReserved() {
	extra, list := "type: Opaque", "kube-system,ambit-system,"+p.other
	dangerous, other := "bootstrap-token-abcdef", "type: bootstrap.kubernetes.io/token"
	if p.kind == "ConfigMap" {
		extra, dangerous, other = "", "kube-root-ca.crt", ""
	}
	const source = `
apiVersion: v1
kind: %s
metadata: {name: %s, namespace: %s, annotations: {%s.example.com/namespaces: "%s"}}
data: {token-id: YWJjZGVm}
%s`
	p.apply(source, p.kind, dangerous, p.home, p.name, list, other)
	p.apply(source, p.kind, "ordinary", p.home, p.name, list, extra)
	p.shows(p.kind, p.other, "ordinary", "data: {token-id: YWJjZGVm}")
	p.delete(p.kind, p.home, "ordinary")
	p.absent(p.kind, p.home, "ordinary")
	p.copies(p.listed, p.bare)
	p.none(p.began, "a copy where none may be", func(r cluster.Request) bool {
		return r.IsWrite() && (slices.Contains(reservedNamespaces(), r.Namespace) || r.Namespace != p.home && r.Name == dangerous)
	})
}

// refused: an object of that name that is somebody else's is left as it is, and
// the others are made nevertheless.
func (p *propagation) refused() {
	p.annotate(fmt.Sprintf(`{"%s.example.com/namespaces":"%s,%s,%s"}`, p.name, p.listed, p.foreign, p.other))
	p.copies(p.listed, p.other, p.bare)
	p.shows(p.kind, p.foreign, "settings", "{metadata: {labels: {whose: somebody, %s: null}}, data: null}", v1alpha1.LabelPolicy)
	p.annotate(fmt.Sprintf(`{"%s.example.com/namespaces":%q}`, p.name, p.listed))
	p.copies(p.listed, p.bare)
}

func (p *propagation) namespaceGone() {
	p.delete("Namespace", "", p.bare)
	p.copies(p.listed)
	p.absent("Namespace", "", p.bare)
	p.copies(p.listed)
}

func (p *propagation) annotationGone() {
	p.annotate(fmt.Sprintf(`{"%[1]s.example.com/namespaces":null,"%[1]s.example.com/selector":null}`, p.name))
	p.copies()
	p.unmarked(p.kind, p.home, "settings")
	p.annotate(fmt.Sprintf(`{"%s.example.com/namespaces":%q}`, p.name, p.listed))
	p.copies(p.listed)
}

// sourceGone: the source is gone when its copies are.
func (p *propagation) sourceGone() {
	p.delete(p.kind, p.home, "settings")
	p.absent(p.kind, p.home, "settings")
	p.copies()
	p.shows(p.kind, p.foreign, "settings", "metadata: {labels: {whose: somebody}}")
}
