package stories

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestPolicyConfigPropagation and TestPolicySecretPropagation: copies in the
// namespaces of a list and in those with a label follow the source, the namespaces
// and what the source asks for.
func TestPolicyConfigPropagation(t *testing.T) {
	t.Parallel()
	tellPropagation(t, "config-propagation", "ConfigMap", "", "three", "four")
}

func TestPolicySecretPropagation(t *testing.T) {
	t.Parallel()
	tellPropagation(t, "secret-propagation", "Secret", "type: example.com/login", "dGhyZWU=", "Zm91cg==")
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
		list, err := p.resource(p.kind, "").List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy + "=" + p.name})
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
