package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// What blocks an owner has a reason of its own, each in one story, which also
// mends the cause and waits until all is well without anybody touching the owner.

func TestReasonQuotaExceeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "reasons")
	namespace := w.namespace(memcachedRights()...)
	quotas := w.typed.CoreV1().ResourceQuotas(namespace)
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "no-deployments"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}},
	}
	if _, err := quotas.Create(t.Context(), quota, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.refusesDeployments(namespace, "exceeded quota: no-deployments")
	w.launch(w.control.User(w.user), []string{namespace}, memcached(t))
	w.createOwner(namespace, "cache", 1)
	message := w.stalled(namespace, "cache", v1alpha1.ReasonQuotaExceeded)
	w.names(message, "Deployment "+namespace+"/cache", "exceeded quota: no-deployments")
	w.isPermitted(namespace, "cache")
	if err := quotas.Delete(t.Context(), quota.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.mended(namespace, "cache")
}

// TestReasonAdmissionDenied: a ValidatingAdmissionPolicy refuses the child.
func TestReasonAdmissionDenied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "reasons")
	namespace := w.namespace(memcachedRights()...)
	admit := w.denyByAdmission(namespace, "Deployments are made on Mondays")
	w.refusesDeployments(namespace, "Deployments are made on Mondays")
	w.launch(w.control.User(w.user), []string{namespace}, memcached(t))
	w.createOwner(namespace, "cache", 1)
	message := w.stalled(namespace, "cache", v1alpha1.ReasonAdmissionDenied)
	w.names(message, "Deployment "+namespace+"/cache", "Deployments are made on Mondays")
	w.isPermitted(namespace, "cache")
	admit()
	w.mended(namespace, "cache")
}

// TestReasonEscalationRefused: the child is a Role with a right that Ambit itself
// does not have.
func TestReasonEscalationRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "reasons")
	rights := append(rightsOn("memcacheds", "memcacheds/status"), rightsTo(rbacv1.GroupName, "roles"))
	namespace := w.namespace(rights...)
	w.launch(w.control.User(w.user), []string{namespace}, program(t, "escalation.yaml", []byte(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: escalation}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: role
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: "${owner.metadata.name}-reader"}
        rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`)))
	w.createOwner(namespace, "a", 1)
	message := w.stalled(namespace, "a", v1alpha1.ReasonEscalationRefused)
	w.names(message, "Role "+namespace+"/a-reader", "is attempting to grant RBAC permissions not currently held")
	w.isPermitted(namespace, "a")
	w.flapRules(namespace, append(rights, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})...)
	w.mended(namespace, "a")
	if _, err := w.typed.RbacV1().Roles(namespace).Get(t.Context(), "a-reader", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestReasonKindMissing: nobody serves the kind of the child.
func TestReasonKindMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "reasons")
	namespace := w.namespace(append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("reasons.example.com", "gadgets"))...)
	w.launch(w.control.User(w.user), []string{namespace}, program(t, "gadget.yaml", []byte(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: gadget}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: gadget
      template:
        apiVersion: reasons.example.com/v1
        kind: Gadget
        metadata: {name: "${owner.metadata.name}"}
        spec: {size: "${owner.spec.size}"}
`)))
	w.createOwner(namespace, "a", 1)
	message := w.stalled(namespace, "a", v1alpha1.ReasonKindMissing)
	w.names(message, "Gadget", "reasons.example.com/v1")
	w.isPermitted(namespace, "a")
	w.makeKind("reasons.example.com", "gadgets", "Gadget")
	w.mended(namespace, "a")
}

// stalled waits until the owner is stalled for this reason, and returns the
// message of it. Ready says the same, and nothing is being worked on.
func (w *world) stalled(namespace, name, reason string) string {
	w.t.Helper()
	message := w.condition(namespace, name, v1alpha1.ConditionStalled, "True", reason)
	if ready := w.condition(namespace, name, v1alpha1.ConditionReady, "False", reason); ready != message {
		w.t.Errorf("Ready says %q, Stalled %q", ready, message)
	}
	owner, err := w.owner(w.t.Context(), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if c := conditionOf(owner, v1alpha1.ConditionReconciling); c != nil {
		w.t.Errorf("a stalled owner is Reconciling: %v", c)
	}
	return message
}

// mended waits until the owner is Ready and nothing is said of it any more.
func (w *world) mended(namespace, name string) {
	w.t.Helper()
	began := time.Now()
	w.condition(namespace, name, v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	w.t.Logf("Ready %s after the cause was mended", time.Since(began).Round(time.Millisecond))
	w.isPermitted(namespace, name)
	owner, err := w.owner(w.t.Context(), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if c := conditionOf(owner, v1alpha1.ConditionStalled); c != nil {
		w.t.Errorf("an owner that is Ready is Stalled: %v", c)
	}
}

// isPermitted: what refuses is no missing right.
func (w *world) isPermitted(namespace, name string) {
	w.t.Helper()
	owner, err := w.owner(w.t.Context(), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	if c := conditionOf(owner, v1alpha1.ConditionPermitted); c == nil || c["status"] != "True" || c["reason"] != v1alpha1.ReasonPermitted {
		w.t.Errorf("condition Permitted is %v", c)
	}
}

func (w *world) names(message string, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(message, part) {
			w.t.Errorf("message %q does not say %q", message, part)
		}
	}
}

// refusesDeployments waits until the API server, which learns of quotas and
// policies by watches, refuses a Deployment in the namespace for this reason.
func (w *world) refusesDeployments(namespace, why string) {
	w.t.Helper()
	app := map[string]string{"app": "probe"}
	probe := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "probe", Image: "probe:1"}}},
			},
		},
	}
	w.eventually("Deployments are refused: "+why, func(ctx context.Context) error {
		_, err := w.typed.AppsV1().Deployments(namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), why) {
			return fmt.Errorf("the answer is: %v", err)
		}
		return nil
	})
}

// denyByAdmission makes a ValidatingAdmissionPolicy that refuses all Deployments
// in the namespace, until the returned function is called or the test ends.
func (w *world) denyByAdmission(namespace, why string) (admit func()) {
	w.t.Helper()
	fail := admissionv1.Fail
	creates := admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
	}
	admission := w.typed.AdmissionregistrationV1()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "deny-" + namespace},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: creates}}},
			Validations:      []admissionv1.Validation{{Expression: "false", Message: why}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: policy.ObjectMeta,
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
			MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}},
		},
	}
	if _, err := admission.ValidatingAdmissionPolicies().Create(w.t.Context(), policy, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	admit = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
		defer cancel()
		for _, err := range []error{
			admission.ValidatingAdmissionPolicyBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{}),
			admission.ValidatingAdmissionPolicies().Delete(ctx, policy.Name, metav1.DeleteOptions{}),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				w.t.Error(err)
			}
		}
	}
	w.t.Cleanup(admit)
	return admit
}
