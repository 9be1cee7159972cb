package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// flapTake deletes the RoleBinding that gives the story's user its rights in a
// namespace; flapGive makes it again. Both may be called from any goroutine.
func (w *world) flapTake(ctx context.Context, namespace string) error {
	if err := w.typed.RbacV1().RoleBindings(namespace).Delete(ctx, "ambit", metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the RoleBinding in %q: %w", namespace, err)
	}
	return nil
}

func (w *world) flapGive(ctx context.Context, namespace string) error {
	binding := flapBinding("ambit", w.user)
	if _, err := w.typed.RbacV1().RoleBindings(namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("making the RoleBinding in %q: %w", namespace, err)
	}
	return nil
}

func flapBinding(role, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
}

// flapAllow gives a user rights in a namespace by a Role and a RoleBinding of a
// name of their own, and returns what takes them away. A ServiceAccount is a user
// by its user name.
func (w *world) flapAllow(namespace, name, user string, rules ...rbacv1.PolicyRule) (take func()) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	rbac := w.typed.RbacV1()
	if _, err := rbac.Roles(namespace).Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatalf("making Role %s/%s: %v", namespace, name, err)
	}
	if _, err := rbac.RoleBindings(namespace).Create(w.t.Context(), flapBinding(name, user), metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making RoleBinding %s/%s: %v", namespace, name, err)
	}
	return func() {
		w.t.Helper()
		if err := rbac.RoleBindings(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.t.Fatalf("deleting RoleBinding %s/%s: %v", namespace, name, err)
		}
	}
}

// flapRules replaces the rules that the story's user has in a namespace.
func (w *world) flapRules(namespace string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "ambit"}, Rules: rules}
	if _, err := w.typed.RbacV1().Roles(namespace).Update(w.t.Context(), role, metav1.UpdateOptions{}); err != nil {
		w.t.Fatalf("changing the Role in %q: %v", namespace, err)
	}
}

// flapSeeRBAC lets the story's user list and watch all RBAC objects, until the
// returned function is called or the test ends.
func (w *world) flapSeeRBAC() (blind func()) {
	w.t.Helper()
	name := strings.ReplaceAll("see-rbac-"+w.user, ":", "-")
	rbac := w.typed.RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{rbacv1.GroupName}, Verbs: []string{"list", "watch"},
		Resources: []string{"roles", "rolebindings", "clusterroles", "clusterrolebindings"},
	}}}
	if _, err := rbac.ClusterRoles().Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		w.t.Fatalf("making ClusterRole %q: %v", name, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user}},
	}
	if _, err := rbac.ClusterRoleBindings().Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making ClusterRoleBinding %q: %v", name, err)
	}
	blind = func() {
		// The test's own context has ended when it cleans up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
		defer cancel()
		if err := rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Errorf("deleting ClusterRoleBinding %q: %v", name, err)
		}
	}
	w.t.Cleanup(blind)
	return blind
}

// launched is Ambit in this process, with a log in a file, where it does not
// count as memory of the process, and with goroutines that can be told from
// those of other tests: they inherit a label from the one that runs Ambit.
type launched struct {
	t     *testing.T
	label string
	log   string
	gauge *prometheus.Registry
	ended chan struct{} // closed when Run has returned
	stop  func()        // may be called more than once; the end of the test calls it
}

// launch runs Ambit with this configuration.
func (w *world) launch(config *rest.Config, namespaces []string, programs ...*policy.Program) *launched {
	w.t.Helper()
	l := &launched{t: w.t, label: w.t.Name(), log: filepath.Join(w.t.TempDir(), "log"), gauge: prometheus.NewRegistry(), ended: make(chan struct{})}
	file, err := os.OpenFile(l.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	options := manager.Options{Config: config, Programs: programs, Namespaces: namespaces, Metrics: l.gauge}
	options.Logger = funcr.New(func(prefix, args string) { _, _ = fmt.Fprintf(file, "%s: %s\n", prefix, args) }, funcr.Options{LogTimestamp: true})
	ctx, cancel := context.WithCancel(context.Background())
	var runErr error
	go pprof.Do(ctx, pprof.Labels("ambit", l.label), func(ctx context.Context) {
		defer close(l.ended)
		runErr = manager.Run(ctx, options)
	})
	stopped := false
	l.stop = func() {
		if stopped {
			return
		}
		stopped = true
		select {
		case <-l.ended:
			w.t.Errorf("Ambit ended by itself: %v", runErr)
		default:
		}
		cancel()
		<-l.ended
		if runErr != nil {
			w.t.Errorf("running Ambit: %v", runErr)
		}
		if err := file.Close(); err != nil {
			w.t.Error(err)
		}
		if w.t.Failed() {
			w.t.Logf("the end of Ambit's log:\n%s", l.tail())
		}
	}
	w.t.Cleanup(l.stop)
	return l
}

func (l *launched) lines(from int) []byte {
	data, err := os.ReadFile(l.log)
	if err != nil {
		l.t.Errorf("reading Ambit's log: %v", err)
		return nil
	}
	return data[min(from, len(data)):]
}

// said is how much Ambit has logged so far, for says.
func (l *launched) said() int { return len(l.lines(0)) }

func (l *launched) tail() []byte {
	data := l.lines(0)
	return data[max(0, len(data)-8000):]
}

// says waits until a line of the log after from has all words.
func (w *world) says(l *launched, from int, words ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the log says %q", words), func(context.Context) error {
		for line := range bytes.Lines(l.lines(from)) {
			missing := 0
			for _, word := range words {
				if !bytes.Contains(line, []byte(word)) {
					missing++
				}
			}
			if missing == 0 {
				return nil
			}
		}
		return fmt.Errorf("it says:\n%s", l.tail())
	})
}

// denies says whether the metric `ambit_denied` has this verb on this resource.
func (l *launched) denies(verb, resource, namespace string) bool {
	return l.metric("ambit_denied", map[string]string{"verb": verb, "resource": resource, "namespace": namespace}) == 1
}

// live is how many streams of a resource are Live.
func (l *launched) live(resource string) int {
	return int(l.metric("ambit_watches", map[string]string{"resource": resource, "state": "Live"}))
}

// metric returns the value of a gauge that has these labels, and maybe others; 0
// if there is none.
func (l *launched) metric(name string, labels map[string]string) float64 {
	families, err := l.gauge.Gather()
	if err != nil {
		l.t.Errorf("reading Ambit's metrics: %v", err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			same := 0
			for _, label := range metric.GetLabel() {
				if want, ok := labels[label.GetName()]; ok && want == label.GetValue() {
					same++
				}
			}
			if family.GetName() == name && same == len(labels) {
				return metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// connection matches the goroutines of HTTP connections. Those are shared by all
// stories of this process, whoever opened them, and stay a while for the next.
var connection = regexp.MustCompile(`http2\S*ReadLoop\)?\.run|http\.\(\*persistConn\)|http\.\(\*Transport\)\.dial|http2\.\(\*ClientConn\)\.(dial|close|healthCheck)`)

// goroutines counts the goroutines of this Ambit by the function that is at the
// bottom of their stacks, those of connections left out.
func (l *launched) goroutines() (n int, by map[string]int) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		l.t.Errorf("looking at the goroutines: %v", err)
	}
	by = map[string]int{}
	label := fmt.Sprintf("%q:%q", "ambit", l.label)
	for record := range strings.SplitSeq(profile.String(), "\n\n") {
		if !strings.Contains(record, label) || connection.MatchString(record) {
			continue
		}
		number, _, _ := strings.Cut(strings.TrimSpace(record), " @")
		count, err := strconv.Atoi(number[strings.LastIndexByte(number, '\n')+1:])
		if err != nil {
			l.t.Errorf("reading the goroutine profile: %v in:\n%s", err, record)
		}
		lines := strings.Split(strings.TrimSpace(record), "\n")
		n += count
		by[regexp.MustCompile(`^#\s+0x[0-9a-f]+\s+`).ReplaceAllString(lines[len(lines)-1], "")] += count
	}
	return n, by
}

// goroutinesAtMost waits until this Ambit has at most so many goroutines.
func (w *world) goroutinesAtMost(l *launched, when string, limit int, baseline map[string]int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("Ambit has at most %d goroutines %s", limit, when), func(context.Context) error {
		n, by := l.goroutines()
		if n <= limit {
			return nil
		}
		var more []string
		for function, count := range by {
			if count > baseline[function] {
				more = append(more, fmt.Sprintf("%d, before %d: %s", count, baseline[function], function))
			}
		}
		return fmt.Errorf("it has %d; more than before:\n%s", n, strings.Join(more, "\n"))
	})
}

// steadyGoroutines waits until the number of goroutines of this Ambit stays the
// same for a second, and returns it.
func (w *world) steadyGoroutines(l *launched, when string) (n int, by map[string]int) {
	w.t.Helper()
	n, by = l.goroutines()
	since := time.Now()
	w.eventually("the number of goroutines is steady", func(context.Context) error {
		now, nowBy := l.goroutines()
		if now != n {
			n, by, since = now, nowBy, time.Now()
		}
		if time.Since(since) < time.Second {
			return fmt.Errorf("it was %d %s ago", n, time.Since(since))
		}
		return nil
	})
	if n == 0 {
		w.t.Fatalf("no goroutine is taken for Ambit's")
	}
	w.t.Logf("%d goroutines %s", n, when)
	return n, by
}

// simpleCRD is a namespaced kind with any content in spec and status.
func simpleCRD(group, plural, kind string) []byte {
	return fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[2]s, singular: %[4]s}
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
            status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, group, plural, kind, strings.ToLower(kind))
}

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// makeKind makes a kind that is there until the end of the test, unless it is
// deleted before, and waits until it is served.
func (w *world) makeKind(group, plural, kind string) {
	w.t.Helper()
	if err := w.control.Apply(w.t.Context(), simpleCRD(group, plural, kind)); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
		defer cancel()
		if err := w.objects.Resource(crdResource).Delete(ctx, plural+"."+group, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Errorf("deleting kind %s: %v", kind, err)
		}
	})
}

// deleteKind deletes a kind with all its objects, and waits until it is gone.
func (w *world) deleteKind(group, plural string) {
	w.t.Helper()
	name := plural + "." + group
	if err := w.objects.Resource(crdResource).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("deleting kind %s: %v", name, err)
	}
	w.eventually("kind "+name+" is gone", func(ctx context.Context) error {
		if _, err := w.objects.Resource(crdResource).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
}

// rightsTo are all verbs that a child needs, on these resources.
func rightsTo(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"create", "delete", "get", "list", "patch", "watch"}}
}

// patiently lets time pass in which nothing may happen.
func (w *world) patiently(window time.Duration) {
	w.t.Helper()
	select {
	case <-time.After(window):
	case <-w.t.Context().Done():
		w.t.Fatal("the test was cut off")
	}
}
