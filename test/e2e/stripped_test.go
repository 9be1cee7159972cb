package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// strippedRequests is how many requests for a child whose labels are taken away may be sent while
// the owner is touched again and again.
const strippedRequests = 30

// TestLabelsStripped: a webhook takes Ambit's labels off all that is made. The child is there and
// no stream shows it: the owner says so, and what takes the labels away, and it is not made again
// and again. When the webhook is gone the child gets its labels.
func TestLabelsStripped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "stripped")
	rights := append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))
	namespace := w.namespace(rights...)
	w.decided(namespace, true, rights...)
	admit := w.stripLabels(namespace)
	mark := w.control.Audit().Mark()
	w.run([]string{namespace}, program(t, "fight.yaml", []byte(fightPolicy)))
	w.createOwner(namespace, "x", 1)
	message := w.condition(namespace, "x", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLabelsRemoved)
	w.names(message, `ConfigMap "x"`, "exists", "is ours", v1alpha1.LabelPolicy, "admission")
	for i := range 50 {
		w.labelOwner(namespace, "x", fmt.Sprint(i))
	}
	w.createOwner(namespace, "y", 1) // when this one was served, the labels were seen
	w.condition(namespace, "y", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonLabelsRemoved)
	requests := w.since(mark, func(r cluster.Request) bool {
		return r.Namespace == namespace && r.Resource == "configmaps" && !r.IsWatch() && r.Verb != "list"
	})
	t.Logf("%d requests for two children", len(requests))
	if len(requests) > 2*strippedRequests {
		t.Errorf("%d requests for two children, want at most %d", len(requests), 2*strippedRequests)
	}
	admit()
	w.eventuallyWithin(contestPatience, "the owner is ready", func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, "x")
		if err != nil {
			return err
		}
		if ready := conditionOf(owner, v1alpha1.ConditionReady); ready["status"] != "True" {
			return fmt.Errorf("it says %v", ready)
		}
		return nil
	})
	child, err := w.typed.CoreV1().ConfigMaps(namespace).Get(t.Context(), "x", metav1.GetOptions{})
	if err != nil || child.Labels[v1alpha1.LabelPolicy] != "fight" {
		t.Errorf("the child has labels %v: %v", child.Labels, err)
	}
}

// stripLabels has a webhook take all labels off the ConfigMaps that are written in a namespace,
// until the returned function is called or the test ends. It returns when that is so.
func (w *world) stripLabels(namespace string) (admit func()) {
	w.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(stripAnswer))
	w.t.Cleanup(server.Close)
	url, fail, none := server.URL+"/", admissionv1.Fail, admissionv1.SideEffectClassNone
	hooks := w.typed.AdmissionregistrationV1().MutatingWebhookConfigurations()
	hook := &admissionv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "strip-" + namespace},
		Webhooks: []admissionv1.MutatingWebhook{{
			Name:                    "strip.example.com",
			ClientConfig:            admissionv1.WebhookClientConfig{URL: &url, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}
	if _, err := hooks.Create(w.t.Context(), hook, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	gone := false
	admit = func() {
		if gone {
			return
		}
		gone = true
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
		defer cancel()
		if err := hooks.Delete(ctx, hook.Name, metav1.DeleteOptions{}); err != nil {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(admit)
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"probe": "yes"}}}
	w.eventually("labels are taken away", func(ctx context.Context) error {
		made, err := w.typed.CoreV1().ConfigMaps(namespace).Create(ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && len(made.Labels) > 0 {
			err = fmt.Errorf("they are %v", made.Labels)
		}
		return err
	})
	return admit
}

// stripAnswer answers an admission review by removing all labels.
func stripAnswer(out http.ResponseWriter, in *http.Request) {
	var review struct {
		Request struct {
			UID    string
			Object struct {
				Metadata struct{ Labels map[string]string }
			}
		}
	}
	if err := json.NewDecoder(in.Body).Decode(&review); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	response := map[string]any{"uid": review.Request.UID, "allowed": true}
	if len(review.Request.Object.Metadata.Labels) > 0 {
		response["patchType"] = "JSONPatch"
		response["patch"] = []byte(`[{"op":"remove","path":"/metadata/labels"}]`)
	}
	out.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(out).Encode(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}
