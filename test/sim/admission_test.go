package sim_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/sim"
)

// hookName is the name of the webhook of the scripts.
const hookName = "hook.example.com"

// hook is the webhook of the scripts: the same one on both sides. The label "hook" of an object
// says what it does. obj is nil for a delete, old for a create.
func hook(obj, old *unstructured.Unstructured) error {
	if obj == nil {
		if old.GetLabels()["hook"] == "keep" {
			return sim.Denied(hookName, "it is kept")
		}
		return nil
	}
	labels := obj.GetLabels()
	switch labels["hook"] {
	case "deny":
		return sim.Denied(hookName, "not in this namespace")
	case "strip":
		delete(labels, "a")
		obj.SetLabels(labels)
	case "annotate":
		obj.SetAnnotations(map[string]string{"hook": "was-here"})
	case "change":
		if obj.GetKind() == "ConfigMap" {
			obj.Object["data"] = map[string]any{"a": "hook"}
			break
		}
		spec, _ := obj.Object["spec"].(map[string]any)
		spec["replicas"] = int64(7)
		containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		containers = append(containers, map[string]any{"name": "sidecar", "image": "sidecar"})
		if err := unstructured.SetNestedSlice(obj.Object, containers[:2], "spec", "template", "spec", "containers"); err != nil {
			return err
		}
	case "break":
		if obj.GetKind() == "ConfigMap" {
			labels["a"] = "no label"
			obj.SetLabels(labels)
			break
		}
		obj.Object["unknown"] = map[string]any{"a": "b"}
	}
	return nil
}

// hookSimulated has the webhook look at what is written in some namespaces.
func hookSimulated(namespaces map[string]bool) sim.Admission {
	return func(r *sim.Review) error {
		if !namespaces[r.Request.Namespace] || r.Request.Subresource != "" {
			return nil
		}
		r.Object = r.Object.DeepCopy()
		return hook(r.Object, r.Old)
	}
}

// hookReal has a real API server ask the webhook about a namespace, and returns when it does.
func hookReal(t *testing.T, c *cluster.Cluster, namespace string) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(answerReview))
	t.Cleanup(server.Close)
	url, fail, none := server.URL+"/", admissionv1.Fail, admissionv1.SideEffectClassNone
	typed := kubernetes.NewForConfigOrDie(c.Admin())
	hooks := typed.AdmissionregistrationV1().MutatingWebhookConfigurations()
	configuration := &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "hook-" + namespace},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name:                    hookName,
			ClientConfig:            admissionv1.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"configmaps", "deployments", "gadgets"}},
			}},
		}},
	}
	if _, err := hooks.Create(t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(t.Context()), configuration.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"hook": "deny"}}}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, err := typed.CoreV1().ConfigMaps(namespace).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); apierrors.IsForbidden(err) {
			return
		}
	}
	t.Fatal("the webhook is not asked")
}

// answerReview answers an AdmissionReview with what the webhook says.
func answerReview(out http.ResponseWriter, in *http.Request) {
	var review struct {
		Request struct {
			UID               string
			Object, OldObject map[string]any
		}
	}
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	response := map[string]any{"uid": review.Request.UID, "allowed": true}
	obj := asObject(review.Request.Object)
	err := hook(obj, asObject(review.Request.OldObject))
	switch {
	case err != nil:
		status := metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message(err)}
		response["allowed"], response["status"] = false, status
	case obj != nil:
		patch, err := json.Marshal([]any{map[string]any{"op": "replace", "path": "", "value": obj.Object}})
		if err != nil {
			http.Error(out, err.Error(), http.StatusInternalServerError)
			return
		}
		response["patchType"], response["patch"] = "JSONPatch", patch
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

func asObject(content map[string]any) *unstructured.Unstructured {
	if content == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: content}
}

// message is what a webhook says, to which the API server adds who says it.
func message(err error) string {
	_, said, _ := strings.Cut(err.Error(), " denied the request: ")
	return said
}

// TestAdmissionOfUsers: the webhook sees what users write, with who they are; what controllers
// do is not its business.
func TestAdmissionOfUsers(t *testing.T) {
	var seen []string
	server := sim.New(sim.Options{Admission: func(r *sim.Review) error {
		seen = append(seen, strings.TrimSpace(strings.Join([]string{r.Request.User, r.Request.Verb, r.Request.Resource.Resource, r.Request.Subresource}, " ")))
		return nil
	}})
	objects := configMaps(server)
	mustCreate(t, objects, "owner")
	owner, err := objects.Get(t.Context(), "owner", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	child := configMap("child")
	child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID()}})
	if _, err := objects.Create(t.Context(), child, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := objects.Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for server.Collect() {
	}
	if _, err := objects.Get(t.Context(), "child", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the child is still there: %v", err)
	}
	want := []string{"admin create configmaps", "admin create configmaps", "admin delete configmaps"}
	if !slices.Equal(seen, want) {
		t.Errorf("the webhook saw %q, want %q", seen, want)
	}
}
