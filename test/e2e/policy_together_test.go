package e2e

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestPoliciesTogether: one Ambit with all policies of policies/ serves all samples of
// examples/, as they are; then nothing is written, nor after a restart. It may
// not watch RBAC: one that may does not even ask (TestPoliciesQuiet). It sees owners
// cluster-wide and so runs alone.
func TestPoliciesTogether(t *testing.T) {
	w := newWorld(t, togetherUser)
	w.alone()
	names := append(policyNames(), "memcached")
	programs := w.allPolicies(names)
	a := w.runMeasured(nil, programs...)
	all := &together{world: w}
	all.makeSamples(names)
	all.served()

	mark := w.settled()
	w.patiently(*steady)
	w.noRequests(mark, "in the steady state", isStoryWrite)
	a.stop()
	mark = w.control.Audit().Mark()
	a = w.runMeasured(nil, programs...)
	w.eventually("Ambit watches all owners again", func(context.Context) error {
		if n := len(w.since(mark, cluster.Request.IsWatchOpened)); n < len(names) {
			return fmt.Errorf("%d watches are open", n)
		}
		return nil
	})
	w.settledSince(mark)
	w.noRequests(mark, "after a restart", isStoryWrite)
	all.remove()
	a.stop()
}

const togetherUser = "policy-together"

// applyExample applies a file of the policy's example, if there is one.
func (s *policyStory) applyExample(file string) {
	s.t.Helper()
	path := exampleOf(s.name) + "/" + file
	if !isFile(path) {
		return
	}
	if err := s.control.Apply(s.t.Context(), read(s.t, path)); err != nil {
		s.t.Fatal(err)
	}
}

// together is the story of all samples.
type together struct {
	*world
	made []madeSample
}

// madeSample is an object of a sample, or what was made for it.
type madeSample struct{ kind, namespace, name string }

// makeSamples makes what the samples need, and then the samples.
func (a *together) makeSamples(names []string) {
	a.t.Helper()
	s := &policyStory{world: a.world}
	for _, namespace := range []string{"team-a", "team-b", "allowed-one", "allowed-two"} {
		s.apply("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {config-propagation.example.com/accept: 'true'}}}", namespace)
		a.made = append(a.made, madeSample{"Namespace", "", namespace})
	}
	s.apply(`
apiVersion: v1
kind: Namespace
metadata:
  name: front
  labels: {tier: web, pull-images: 'true', config-propagation.example.com/accept: 'true', secret-propagation.example.com/accept: default}`)
	a.made = append(a.made, madeSample{"Namespace", "", "front"}, madeSample{"Namespace", "", "team-c"},
		madeSample{"Namespace", "", "oil-production"}, madeSample{"Namespace", "", "oil-staging"},
		madeSample{"Tenant", "", "oil"}, madeSample{"StatefulSet", "default", "store"}, madeSample{"ConfigMap", "default", "site-settings"},
		madeSample{"Secret", "default", "registry-login"}, madeSample{"CustomResourceDefinition", "", "widgets.shop.example.com"},
		madeSample{"WebApp", "default", "shop"}, madeSample{"Report", "default", "sales"},
		madeSample{"Pod", "default", "album"}, madeSample{"Volume", "default", "photos"},
		madeSample{"WebhookCertificate", "default", "capsule-webhook"}, madeSample{"Postgres", "default", "orders"},
		madeSample{"Secret", "default", "orders-credentials"}, madeSample{"PersistentVolumeClaim", "default", "orders-backups"}) // the last two are left behind
	for _, name := range names {
		s.name = name
		s.applyExample("sample.yaml")
		s.applyExample("samples.yaml")
	}
}

// served waits until each policy has done its work.
func (a *together) served() {
	a.t.Helper()
	s := &policyStory{world: a.world}
	s.shows("Tenant", "", "oil", `status: {size: 2, namespaces: [oil-production, oil-staging], conditions: {Ready: {status: "True"}}}`)
	s.shows("ResourceQuota", "oil-staging", "tenant", `spec: {hard: {pods: "20", requests.memory: 16Gi}}`)
	s.shows("Service", "default", "store-2", `spec: {ports: [{port: 80, targetPort: 8080}]}`)
	for _, namespace := range []string{"team-a", "team-b", "front"} {
		s.shows("ConfigMap", namespace, "site-settings", `data: {site: berlin}`)
	}
	s.shows("Secret", "front", "registry-login", `type: kubernetes.io/dockerconfigjson`)
	s.shows("ResourceQuota", "team-c", "namespace-defaults", `spec: {hard: {pods: "10"}}`)
	s.shows("NetworkPolicy", "team-c", "default-deny", `spec: {policyTypes: [Ingress, Egress]}`)
	s.shows("ClusterRole", "", "crd:widgets.shop.example.com:view", `rules: [{resources: [widgets]}]`)
	s.shows("WebApp", "default", "shop", `status: {url: "http://shop.example.com/", readyReplicas: 2, conditions: {Ready: {status: "True"}}}`)
	s.shows("Report", "default", "sales", `status: {succeeded: [sales-monday], conditions: {Ready: {status: "True"}}}`)
	s.shows("Volume", "default", "photos", `status: {usedBy: [album], conditions: {Ready: {status: "True"}}}`)
	s.shows("Postgres", "default", "orders", `status: {host: orders.default.svc}`) // there are no volumes for it here
	s.shows("WebhookCertificate", "default", "capsule-webhook", `status: {secretName: capsule-tls, conditions: {Ready: {status: "True"}}}`)
	a.ready("allowed-one", "cache", 2)
	a.ready("allowed-two", "cache", 3)
}

// remove deletes the samples, and waits until they are gone.
func (a *together) remove() {
	a.t.Helper()
	s := &policyStory{world: a.world}
	a.deleteOwner("allowed-one", "cache")
	a.deleteOwner("allowed-two", "cache")
	a.alone()
	if err := a.objects.Resource(cronJobsOfAmbit).Namespace("default").Delete(a.t.Context(), "dump", metav1.DeleteOptions{}); err != nil {
		a.t.Errorf("deleting the CronJob: %v", err)
	}
	for _, m := range a.made {
		if err := s.resource(m.kind, m.namespace).Delete(a.t.Context(), m.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			a.t.Errorf("deleting %s %s/%s: %v", m.kind, m.namespace, m.name, err)
		}
	}
	for _, m := range a.made {
		s.absent(m.kind, m.namespace, m.name)
	}
	for _, name := range policyNames() {
		s.name = name
		for _, kind := range []string{"Service", "ConfigMap", "Secret", "NetworkPolicy", "Deployment", "Job", "PersistentVolumeClaim", "RoleBinding"} {
			s.noneLeft(kind)
		}
	}
}
