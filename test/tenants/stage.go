package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/pkg/cli"
	"github.com/ambit-dev/ambit/test/cluster"
)

const (
	policyFile = "policies/capsule-tenant.yaml"
	kindFile   = "examples/capsule-tenant/crd.yaml"
	// user is the name that Ambit has for the API server.
	user = "tenants"
	// tenantName is the name of the Tenant, and the value of the label that says that
	// a Namespace is its.
	tenantName  = "large"
	tenantLabel = "tenancy.example.com/tenant"
)

// stage is the control plane on which Ambit is measured.
type stage struct {
	options
	control *cluster.Cluster
	typed   kubernetes.Interface // as administrator
	objects dynamic.Interface    // as administrator
	// folder is a temporary one, for the kubeconfig.
	folder string
}

// open starts a control plane with the kind Tenant, the Namespaces, and the rights of
// the policy. Whoever opens it closes it.
func open(ctx context.Context, o options) (*stage, error) {
	progress("starting the control plane")
	control, err := cluster.Start(ctx, cluster.Options{
		Audit: true, Users: map[string][]string{user: nil}, CRDs: []string{kindFile},
		Without: []string{"kube-scheduler", "kwok"},
	})
	if err != nil {
		return nil, fmt.Errorf("starting the control plane: %w", err)
	}
	folder, err := os.MkdirTemp("", "ambit-tenants-")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a folder: %w", err), control.Stop())
	}
	s := &stage{options: o, control: control, folder: folder}
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// close stops all that open started.
func (s *stage) close() error { return errors.Join(s.control.Stop(), os.RemoveAll(s.folder)) }

// prepare fills the control plane.
func (s *stage) prepare(ctx context.Context) error {
	var err error
	if s.typed, err = kubernetes.NewForConfig(s.control.Admin()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if s.objects, err = dynamic.NewForConfig(s.control.Admin()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := s.admit(ctx); err != nil {
		return err
	}
	progress("making %d namespaces", s.Namespaces)
	for i := range s.Namespaces {
		if err := s.makeNamespace(ctx, namespaceName(i)); err != nil {
			return err
		}
	}
	return nil
}

func namespaceName(i int) string { return fmt.Sprintf("%s-%03d", tenantName, i) }

// makeNamespace makes a Namespace of the Tenant.
func (s *stage) makeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{tenantLabel: tenantName}}}
	if _, err := s.typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %q: %w", name, err)
	}
	return nil
}

// admit gives Ambit's user what `ambit rbac` prints.
func (s *stage) admit(ctx context.Context) error {
	var out, problems bytes.Buffer
	args := []string{"ambit", "rbac", "-f", policyFile, "--crds", kindFile, "--user", user}
	if code := cli.Main(ctx, args, genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &problems}); code != 0 {
		return fmt.Errorf("ambit rbac: exit code %d: %s", code, problems.String())
	}
	if err := s.control.Apply(ctx, out.Bytes()); err != nil {
		return fmt.Errorf("giving Ambit its rights: %w", err)
	}
	return nil
}

// kubeconfig writes the kubeconfig of Ambit and returns its path.
func (s *stage) kubeconfig() (string, error) {
	path := filepath.Join(s.folder, "kubeconfig")
	return path, s.control.Kubeconfig(s.control.User(user), path)
}
