package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// secretValues are the values of a Secret.
func (s *policyStory) secretValues(namespace, name string) map[string]string {
	s.t.Helper()
	secret, err := s.resource("Secret", namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	data, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		s.t.Fatal(err)
	}
	values := map[string]string{}
	for key, text := range data {
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			s.t.Fatal(err)
		}
		values[key] = string(value)
	}
	return values
}

// TestPolicyPostgres: the server becomes ready with a password that nobody chose, which is made once. It stays when its owner is deleted, is that of the next owner of
// that name, and nothing is written again after a restart.
func TestPolicyPostgres(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "postgres")
	namespace := s.namespace()
	const owner = "{apiVersion: sql.example.com/v1alpha1, kind: Postgres, metadata: {name: orders, namespace: %s}, spec: {storage: 1Gi, backup: {schedule: '0 3 * * *', keep: 3}}}"
	ready := func() {
		s.t.Helper()
		s.shows("StatefulSet", namespace, "orders", `spec: {serviceName: orders-pods}`)
		s.shows("Postgres", namespace, "orders", `status: {host: orders.%s.svc, secret: orders-credentials, conditions: {Ready: {status: "True"}}}`, namespace)
	}
	s.apply(owner, namespace)
	s.bindVolume(namespace, "data-orders-0")
	ready()
	first := s.secretValues(namespace, "orders-credentials")
	if len(first["password"]) != 32 || first["username"] != "postgres" {
		t.Fatalf("the password has %d characters, the user is %q", len(first["password"]), first["username"])
	}
	s.shows("CronJob", namespace, "orders-backup", `spec: {schedule: "0 3 * * *", concurrencyPolicy: Forbid}`)
	s.steady()
	for range 2 {
		s.delete("Postgres", namespace, "orders")
		s.absent("StatefulSet", namespace, "orders")
		s.apply(owner, namespace)
		ready()
		if got := s.secretValues(namespace, "orders-credentials"); got["password"] != first["password"] {
			t.Fatal("the next owner of that name has another password")
		}
	}
	s.patch("Postgres", namespace, "orders", `{"spec":{"backup":null}}`)
	s.absent("CronJob", namespace, "orders-backup")
	s.delete("Postgres", namespace, "orders")
	s.absent("StatefulSet", namespace, "orders")
	s.delete("Secret", namespace, "orders-credentials")
	s.delete("PersistentVolumeClaim", namespace, "orders-backups")
	s.delete("PersistentVolumeClaim", namespace, "data-orders-0")
	if err := s.typed.CoreV1().PersistentVolumes().Delete(t.Context(), namespace+"-data-orders-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.ends()
}

// bindVolume gives a claim a volume, as the controller does that this control plane has not got: Pods that use it can be scheduled then.
func (s *policyStory) bindVolume(namespace, claim string) {
	s.t.Helper()
	volume := namespace + "-" + claim
	s.apply(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %s}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], hostPath: {path: /none}, claimRef: {namespace: %s, name: %s}}`, volume, namespace, claim)
	s.shows("PersistentVolumeClaim", namespace, claim, `spec: {accessModes: [ReadWriteOnce]}`)
	s.patch("PersistentVolumeClaim", namespace, claim, fmt.Sprintf(`{"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":%q}}`, volume))
}

// TestPolicyWebhookCertificates: a webhook's configuration trusts the CA, and goes on to trust the certificate when the next CA has joined.
func TestPolicyWebhookCertificates(t *testing.T) {
	t.Parallel()
	s := tellPolicy(t, "webhook-certificates")
	namespace := s.namespace()
	s.apply(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %s}
webhooks:
  - name: tenants.example.com
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    clientConfig: {service: {name: capsule, namespace: %s}}
    rules: [{apiGroups: [nothing.example.com], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]`, namespace, namespace)
	s.apply(`{apiVersion: certificates.example.com/v1alpha1, kind: WebhookCertificate, metadata: {name: capsule, namespace: %s}, spec: {service: capsule, secretName: capsule-tls, validating: [{name: %s, webhooks: [tenants.example.com]}]}}`, namespace, namespace)
	s.shows("WebhookCertificate", namespace, "capsule", `status: {secretName: capsule-tls, conditions: {Ready: {status: "True"}}}`)
	bundle := s.trusts(namespace, "")
	s.steady()

	s.patch("Secret", namespace, "capsule-ca", `{"metadata":{"annotations":{"ambit.dev/rotate":"now"}}}`)
	s.trusts(namespace, bundle)
	if values := s.secretValues(namespace, "capsule-ca"); values["next.crt"] == "" || values["next.key"] == "" {
		t.Error("there is no next CA")
	}
	s.delete("WebhookCertificate", namespace, "capsule")
	s.absent("Secret", namespace, "capsule-tls")
	s.eventually("the bundle is taken back", func(ctx context.Context) error {
		if text := s.bundle(ctx, namespace); text != "" {
			return fmt.Errorf("it has %d bytes", len(text))
		}
		return nil
	})
	s.delete("ValidatingWebhookConfiguration", "", namespace)
	s.ends()
}

// bundle is the caBundle of a configuration's webhook.
func (s *policyStory) bundle(ctx context.Context, name string) string {
	s.t.Helper()
	configuration, err := s.resource("ValidatingWebhookConfiguration", "").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	webhooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	text, _, _ := unstructured.NestedString(webhooks[0].(map[string]any), "clientConfig", "caBundle")
	return text
}

// trusts waits until the configuration has a bundle other than before, which verifies the certificate that is served, and returns it.
func (s *policyStory) trusts(namespace, before string) (bundle string) {
	s.t.Helper()
	s.eventually("the configuration trusts the certificate", func(ctx context.Context) error {
		if bundle = s.bundle(ctx, namespace); bundle == "" || bundle == before {
			return fmt.Errorf("the bundle has %d bytes, as before", len(bundle))
		}
		text, err := base64.StdEncoding.DecodeString(bundle)
		if err != nil {
			return err
		}
		values := s.secretValues(namespace, "capsule-tls")
		pair, err := tls.X509KeyPair([]byte(values["tls.crt"]), []byte(values["tls.key"]))
		if err != nil {
			return err
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(text)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "capsule." + namespace + ".svc"})
		return err
	})
	return bundle
}
