package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/test/freeport"
)

// madeUser is the identity of this story.
const madeUser = "made-secrecy"

// companyPolicy has a certificate by a CA that the policy does not make: the Secret of a watch.
const companyPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: company, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  watches:
    - {id: company, apiVersion: v1, kind: Secret, name: company-ca}
  children:
    - id: serving
      template: {apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: "${owner.metadata.name}-tls"}}
      make:
        - certificate: {issuer: company, dnsNames: ["${owner.metadata.name}.${owner.metadata.namespace}.svc"], lifetime: 2160h}
    - id: login
      template: {apiVersion: v1, kind: Secret, metadata: {name: "${owner.metadata.name}-login"}}
      make:
        - {key: password, random: {length: 32}, rotate: {keepPrevious: before}}
        - {key: auth, htpasswd: {user: admin, password: password}}
    - id: trust
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-trust"}, data: {ca: "${serving.data['ca.crt']}"}}
`

// TestMadeIsSecret: a certificate is issued by a CA in a Secret that somebody keeps, follows it, and waits while there is none. What is made on the way, and that
// CA's key, stand in nothing that the binary shows: logs of every level, traces, metrics, profiles with the stacks of goroutines, Events and objects but for their Secrets.
func TestMadeIsSecret(t *testing.T) {
	t.Parallel()
	s := newMadeStory(t)
	s.createOwner(s.namespaceOf, "web", 1)
	s.waitsFor(`issuer "company"`)
	first := s.issue("company-one")
	s.served(first)
	if _, err := s.values(t.Context(), "web-login"); err != nil {
		t.Fatal(err)
	}
	s.patchSecret("web-login", `{"metadata":{"annotations":{"ambit.dev/rotate":"now"}}}`)
	s.eventually("the password is rotated", func(ctx context.Context) error {
		values, err := s.values(ctx, "web-login")
		if err == nil && values["before"] == "" {
			err = errors.New("there is no value before")
		}
		return err
	})
	s.patchSecret("web-tls", `{"data":{"tls.key":"eA=="}}`)
	s.served(first)
	s.served(s.issue("company-two"))
	s.eventually("traces are sent", func(context.Context) error {
		if s.traces.String() == "" {
			return errors.New("none are")
		}
		return nil
	})
	s.search(s.everythingShown())
}

// madeStory is a binary that runs companyPolicy in a namespace.
type madeStory struct {
	*world
	namespaceOf string
	out, traces *lockedBuffer
	metrics     string
	profiles    string
	secrets     []string // values that were there at any time
}

func newMadeStory(t *testing.T) *madeStory {
	t.Helper()
	s := &madeStory{world: newWorld(t, madeUser), out: &lockedBuffer{}, traces: &lockedBuffer{}, metrics: freeport.ForTest(t), profiles: freeport.ForTest(t)}
	s.namespaceOf = s.namespace(append(memcachedRights(),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io", ""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}})...)
	folder := t.TempDir()
	kubeconfig, policy := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "policy.yaml")
	if err := errors.Join(s.control.Kubeconfig(s.control.User(s.user), kubeconfig), os.WriteFile(policy, []byte(companyPolicy), 0o600)); err != nil {
		t.Fatal(err)
	}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(s.traces, r.Body) // a part of it is enough
	}))
	t.Cleanup(collector.Close)
	cmd := exec.Command(buildAmbit(t), "run", "-f", policy, "--namespaces", s.namespaceOf, "--kubeconfig", kubeconfig, "--zap-log-level", "10",
		"--metrics-bind-address", s.metrics, "--metrics-secure=false", "--pprof-bind-address", s.profiles)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	cmd.Stdout, cmd.Stderr = s.out, s.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("killing ambit: %v; it said:\n%s", err, s.out)
		}
		_ = cmd.Wait() // it says that the process was killed, as it should be
	})
	return s
}

// issue puts another CA into the Secret that the policy watches, and returns its certificate.
func (s *madeStory) issue(name string) *x509.Certificate {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(5, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	private := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	s.secrets = append(s.secrets, private)
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "company-ca", Namespace: s.namespaceOf}, Type: corev1.SecretTypeTLS,
		StringData: map[string]string{"tls.crt": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "tls.key": private}}
	text, err := yaml.Marshal(secret)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.control.Apply(s.t.Context(), text); err != nil {
		s.t.Fatal(err)
	}
	issued, err := x509.ParseCertificate(der)
	if err != nil {
		s.t.Fatal(err)
	}
	return issued
}

// waitsFor waits until the owner says that it waits for a CA.
func (s *madeStory) waitsFor(text string) {
	s.t.Helper()
	s.eventually("the owner says what it waits for", func(ctx context.Context) error {
		owner, err := s.owner(ctx, s.namespaceOf, "web")
		if err != nil {
			return err
		}
		if said := fmt.Sprint(owner.Object["status"]); !strings.Contains(said, text) {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
}

// served waits until the certificate is one of this CA, with its key.
func (s *madeStory) served(issuer *x509.Certificate) {
	s.t.Helper()
	s.eventually("the certificate is one of "+issuer.Subject.CommonName, func(ctx context.Context) error {
		values, err := s.values(ctx, "web-tls")
		if err != nil {
			return err
		}
		pair, err := tls.X509KeyPair([]byte(values["tls.crt"]), []byte(values["tls.key"]))
		if err != nil {
			return err
		}
		roots := x509.NewCertPool()
		roots.AddCert(issuer)
		_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "web." + s.namespaceOf + ".svc"})
		return err
	})
}

// values are those of a Secret; the private ones are noted.
func (s *madeStory) values(ctx context.Context, name string) (map[string]string, error) {
	secret, err := s.typed.CoreV1().Secrets(s.namespaceOf).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for key, value := range secret.Data {
		values[key] = string(value)
		if !strings.HasSuffix(key, ".crt") && !slices.Contains(s.secrets, string(value)) {
			s.secrets = append(s.secrets, string(value))
		}
	}
	return values, nil
}

func (s *madeStory) patchSecret(name, patch string) {
	s.t.Helper()
	if _, err := s.typed.CoreV1().Secrets(s.namespaceOf).Patch(s.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// everythingShown is all that the binary has said, and that it answers to who asks, by where it stands.
func (s *madeStory) everythingShown() map[string]string {
	s.t.Helper()
	shown := map[string]string{"log": s.out.String(), "traces": s.traces.String()}
	for _, at := range []string{
		s.metrics + "/metrics", s.metrics + "/policies", s.profiles + "/debug/pprof/goroutine?debug=1", s.profiles + "/debug/pprof/goroutine?debug=2",
		s.profiles + "/debug/pprof/heap?debug=1", s.profiles + "/debug/pprof/allocs?debug=1", s.profiles + "/debug/pprof/cmdline",
	} {
		response, err := http.Get("http://" + at)
		if err != nil {
			s.t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
			s.t.Fatalf("%s: %d, %v", at, response.StatusCode, err)
		}
		_, path, _ := strings.Cut(at, "/")
		shown[path] = string(body)
	}
	for _, resource := range []schema.GroupVersionResource{{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}, {Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "events"}, {Version: "v1", Resource: "secrets"}} {
		list, err := s.objects.Resource(resource).Namespace(s.namespaceOf).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for i := range list.Items {
			if resource.Resource == "secrets" {
				unstructured.RemoveNestedField(list.Items[i].Object, "data")
			}
		}
		shown[resource.Resource] = fmt.Sprint(list.Items)
	}
	return shown
}

// search fails for each value that stands anywhere.
func (s *madeStory) search(shown map[string]string) {
	s.t.Helper()
	for place, least := range map[string]string{"log": "because", "metrics": "ambit_reconcile_total", "debug/pprof/goroutine?debug=2": "goroutine ", "memcacheds": "conditions", "traces": "ambit.policy"} {
		if !strings.Contains(shown[place], least) {
			s.t.Errorf("%s has no %q: it is not what is to be searched", place, least)
		}
	}
	searched := 0
	for _, value := range s.secrets {
		if len(value) < 12 {
			continue
		}
		searched++
		for place, text := range shown {
			for _, form := range formsOf(value) {
				if strings.Contains(text, form) {
					s.t.Errorf("a private value stands in %s", place)
				}
			}
		}
	}
	if searched < 6 {
		s.t.Errorf("only %d values were searched for", searched)
	}
}

// formsOf are texts in which a value could stand.
func formsOf(value string) []string {
	forms := []string{value, base64.StdEncoding.EncodeToString([]byte(value)), base64.RawURLEncoding.EncodeToString([]byte(value)), hex.EncodeToString([]byte(value)), fmt.Sprint([]byte(value))}
	if block, _ := pem.Decode([]byte(value)); block != nil {
		body := base64.StdEncoding.EncodeToString(block.Bytes)
		forms = append(forms, body[len(body)-40:])
	}
	return forms
}
