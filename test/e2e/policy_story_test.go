package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// policyNames are those of policies/ that have a story of their own here.
func policyNames() []string {
	return []string{"capsule-tenant", "config-propagation", "crd-roles", "cron-job", "job-history", "namespace-defaults",
		"postgres", "preview-environment", "protected-volume", "secret-propagation", "service-per-pod", "web-app", "webhook-certificates"}
}

// policyUsers are the identities of these stories.
func policyUsers() []string {
	users := []string{togetherUser}
	for _, name := range policyNames() {
		users = append(users, policyUser(name))
	}
	return users
}

func policyUser(name string) string { return "policy-" + name }

// policyCRDs are the files with the kinds of these stories.
func policyCRDs() []string {
	var files []string
	for _, name := range policyNames() {
		if file := exampleOf(name) + "/crd.yaml"; isFile(file) {
			files = append(files, file)
		}
	}
	return files
}

func exampleOf(name string) string { return "../../examples/" + name }

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// policyStory is the story of a policy in policies/, run with exactly the rights
// that `ambit rbac` prints for it.
type policyStory struct {
	*world
	name    string
	program *policy.Program
	began   cluster.Mark
	*running
}

// running is the Ambit of a story, whose parts share it.
type running struct {
	whole *world // that of the story, not of a part
	ambit *ambit
}

// tellPolicy begins the story: the rights are there, and Ambit runs. handedOut are
// rights that the policy does not use but gives to others: nobody can give what they
// do not have.
func tellPolicy(t *testing.T, name string, handedOut ...rbacv1.PolicyRule) *policyStory {
	t.Helper()
	w := newWorld(t, policyUser(name))
	if file := exampleOf(name) + "/crd.yaml"; isFile(file) {
		if err := w.control.Apply(t.Context(), read(t, file)); err != nil {
			t.Fatal(err)
		}
	}
	file := "../../policies/" + name + ".yaml"
	s := &policyStory{world: w, name: name, program: program(t, name+".yaml", read(t, file))}
	s.giveRights(handedOut)
	s.began = w.control.Audit().Mark()
	s.running = &running{whole: w, ambit: w.runMeasured(nil, s.program)}
	return s
}

// within is the story for a part of it: what fails, fails there.
func (s *policyStory) within(t *testing.T) *policyStory {
	sub := *s
	sub.world = s.in(t)
	return &sub
}

// restart runs Ambit again.
func (s *policyStory) restart() {
	s.t.Helper()
	s.ambit.stop()
	s.ambit = s.whole.runMeasured(nil, s.program)
}

func (s *policyStory) giveRights(handedOut []rbacv1.PolicyRule) {
	s.t.Helper()
	if len(handedOut) > 0 {
		s.grantEverywhere("hands-out", handedOut...)
		s.decided("", true, handedOut...)
	}
	text := policyRights(s.t, s.name, "--user", s.user)
	if err := s.control.Apply(s.t.Context(), []byte(text)); err != nil {
		s.t.Fatal(err)
	}
	for _, document := range strings.Split(text, "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			s.t.Fatal(err)
		}
		if role.Kind == "ClusterRole" {
			s.decided("", true, role.Rules...)
		}
	}
}

// policyRights is what `ambit rbac` prints for a policy.
func policyRights(t *testing.T, name string, flags ...string) string {
	t.Helper()
	args := []string{"rbac", "-f", "../../policies/" + name + ".yaml"}
	if isFile(exampleOf(name) + "/crd.yaml") {
		args = append(args, "--crds", exampleOf(name)+"/crd.yaml")
	}
	code, out, stderr := ambitSays(t, append(args, flags...)...)
	if code != 0 {
		t.Fatalf("ambit rbac: exit code %d\n%s", code, stderr)
	}
	return out
}

// TestPolicyRights: the rights in examples/ are what `ambit rbac` prints, whatever it
// says about them.
func TestPolicyRights(t *testing.T) {
	for _, name := range policyNames() {
		t.Run(name, func(t *testing.T) {
			want, got := policyRights(t, name), string(read(t, exampleOf(name)+"/rbac.yaml"))
			if diff := cmp.Diff(withoutComments(want), withoutComments(got)); diff != "" {
				t.Errorf("examples/%s/rbac.yaml is not what ambit rbac -f policies/%s.yaml prints (-want +got):\n%s", name, name, diff)
			}
		})
	}
}

func withoutComments(text string) string {
	lines := strings.Split(text, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "#") }), "\n")
}

// steady: for ten seconds nothing is written; nor is it after a restart.
func (s *policyStory) steady() {
	s.t.Helper()
	s.settled()
	s.ambit.stop()
	mark := s.control.Audit().Mark()
	s.restart()
	s.eventually("Ambit watches its owners again", func(context.Context) error {
		if n := len(s.since(mark, cluster.Request.IsWatchOpened)); n == 0 {
			return fmt.Errorf("no watch is open")
		}
		return nil
	})
	s.settledSince(mark)
	s.noRequests(mark, "after a restart", isStoryWrite)
}

func isStoryWrite(r cluster.Request) bool { return r.IsWrite() && !isSelfReview(r) }

// ends the story: nothing that the policy has made is left, and nothing was ever
// refused for want of a right. In a namespace that is being deleted nobody may make
// anything, whatever their rights: that a child is gone may be seen before that is.
func (s *policyStory) ends() {
	s.t.Helper()
	for _, child := range s.program.Children {
		if child.Existing != v1alpha1.ExistingMerge {
			s.noneLeft(child.GVK.Kind)
		}
	}
	s.ambit.stop()
	s.none(s.began, "a refused request", func(r cluster.Request) bool {
		return isRefused(r) && !strings.Contains(r.Message, "because it is being terminated")
	})
	if n := len(s.since(s.began, isStoryWrite)); n == 0 {
		s.t.Error("the story is not in the audit log")
	}
}

// noneLeft waits until there is nowhere an object of the policy.
func (s *policyStory) noneLeft(kind string) {
	s.t.Helper()
	s.eventually("no "+kind+" of the policy is left", func(ctx context.Context) error {
		list, err := s.resource(kind, "").List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy + "=" + v1alpha1.PolicyLabel("ambit-system", s.name)})
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			return fmt.Errorf("%s/%s is there, and %d in all", item.GetNamespace(), item.GetName(), len(list.Items))
		}
		return nil
	})
}

func (s *policyStory) resource(kind, namespace string) dynamic.ResourceInterface {
	resource := s.objects.Resource(storyKind(s.t, kind))
	if namespace == "" {
		return resource
	}
	return resource.Namespace(namespace)
}

// apply makes or changes objects, as administrator.
func (s *policyStory) apply(text string, parts ...any) {
	s.t.Helper()
	if err := s.control.Apply(s.t.Context(), fmt.Appendf(nil, text, parts...)); err != nil {
		s.t.Fatal(err)
	}
}

// patch changes an object by a JSON merge patch, as somebody.
func (s *policyStory) patch(kind, namespace, name, text string) {
	s.t.Helper()
	_, err := s.resource(kind, namespace).Patch(s.t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: "somebody"})
	if err != nil {
		s.t.Fatalf("patching %s %s/%s: %v", kind, namespace, name, err)
	}
}

func (s *policyStory) delete(kind, namespace, name string) {
	s.t.Helper()
	if err := s.resource(kind, namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatalf("deleting %s %s/%s: %v", kind, namespace, name, err)
	}
}

// shows waits until an object has all that the text, in YAML, says.
func (s *policyStory) shows(kind, namespace, name, text string, parts ...any) {
	s.t.Helper()
	want := fromYAML(s.t, fmt.Sprintf(text, parts...))
	s.eventually(fmt.Sprintf("%s %s/%s shows it", kind, namespace, name), func(ctx context.Context) error {
		object, err := s.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lacks := lacking("", want, object.Object); lacks != "" {
			return fmt.Errorf("%s", lacks)
		}
		return nil
	})
}

// absent waits until there is no such object.
func (s *policyStory) absent(kind, namespace, name string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s %s/%s is gone", kind, namespace, name), func(ctx context.Context) error {
		object, err := s.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("it is there: finalizers %v, status %v", object.GetFinalizers(), object.Object["status"])
	})
}

// only waits until the policy's objects of a kind in a namespace are these.
func (s *policyStory) only(kind, namespace string, names ...string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%ss in %q are %q", kind, namespace, names), func(ctx context.Context) error {
		list, err := s.resource(kind, namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy + "=" + v1alpha1.PolicyLabel("ambit-system", s.name)})
		if err != nil {
			return err
		}
		got := []string{}
		for _, item := range list.Items {
			got = append(got, item.GetName())
		}
		slices.Sort(got)
		if diff := cmp.Diff(append([]string{}, names...), got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// unmarked waits until nothing of Ambit is in an object's metadata.
func (s *policyStory) unmarked(kind, namespace, name string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s %s/%s carries no mark", kind, namespace, name), func(ctx context.Context) error {
		object, err := s.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if slices.Contains(object.GetFinalizers(), v1alpha1.FinalizerCleanup) || object.GetAnnotations()[v1alpha1.AnnotationChildren] != "" {
			return fmt.Errorf("finalizers %v, annotations %v", object.GetFinalizers(), object.GetAnnotations())
		}
		return nil
	})
}
