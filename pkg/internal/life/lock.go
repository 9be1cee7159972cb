// Package life elects one Pod as leader for as long as it lives: who makes the
// ConfigMap is the leader, and it belongs to the leader's Pod, so that the garbage
// collector removes it with the Pod. There is no lease to renew and no clock to trust: a
// leader that is cut off stays the leader until its Pod is gone, and no other starts
// before.
//
// It needs rights in one namespace only: get Pods; get, create and delete ConfigMaps; and,
// to be told of changes instead of looking every few seconds, watch ConfigMaps.
//
//  1. The candidate reads its own Pod, for its uid.
//  2. It reads the ConfigMap. If there is none it creates it, with an ownerReference to
//     its Pod. Of several that try, the API server lets one through.
//  3. If the ConfigMap belongs to the candidate's own Pod, an earlier process of that Pod
//     has made it: a container that was started again is still the leader.
//  4. If it belongs to a Pod that is there and has ended for good (Failed, such as an
//     evicted one, or Succeeded), which Kubernetes may keep for long, the candidate deletes
//     it, by uid and resourceVersion.
//  5. Otherwise it waits until the ConfigMap changes, and begins again at 2.
//
// The leader looks on: a ConfigMap that is gone or somebody else's says that its Pod was
// deleted while the process goes on, and that another may lead already.
package life

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// ErrLost says that this process is not the leader any more.
var ErrLost = errors.New("leadership is lost")

// errReplaced says that the Pod of this process is gone, and another one has its name.
var errReplaced = errors.New("another one has its name")

// Options are the inputs of a Lock.
type Options struct {
	// Client acts in Namespace only. Required.
	Client typedcorev1.CoreV1Interface
	// Namespace is that of the Pod. Required.
	Namespace string
	// Pod is the name of the Pod that this process runs in. Required.
	Pod string
	// UID is that Pod's. With it a process whose Pod is gone, and another has its name, as
	// that of a StatefulSet has when it is made anew, does not lead in the place of that
	// one: it may go on where the kubelet is cut off. Empty: the uid of whichever Pod has
	// the name.
	UID types.UID
	// Name is that of the ConfigMap. Required.
	Name string
	// Look is after how long it is looked at again unasked where the ConfigMap is
	// watched: an ended Pod gives no event of it. 0 means 10 s.
	Look time.Duration
	// Poll is the same where it may not be watched. 0 means 1 s.
	Poll time.Duration
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
	// Clock is for waiting. Nil means the real one.
	Clock clock.WithTicker
}

const (
	defaultLook = 10 * time.Second
	defaultPoll = time.Second
)

// Lock is a candidate, and then the leader. It is for one goroutine at a time.
type Lock struct {
	options Options
	pod     types.UID // of this process; empty until it was read
	held    types.UID // of the ConfigMap; empty while another leads
	version string    // resourceVersion of the ConfigMap, as it was read last
	holder  string    // whom the log named last as the leader
	blind   bool      // the ConfigMap may not be watched
}

// New makes a Lock. It makes no request. It panics if something required is missing.
func New(o Options) *Lock {
	if o.Client == nil || o.Namespace == "" || o.Pod == "" || o.Name == "" {
		panic("life: Client, Namespace, Pod and Name are required")
	}
	if o.Look == 0 {
		o.Look = defaultLook
	}
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Lock{options: o}
}

// AcquireLeadership returns nil when this process is the leader. An error says why it can never
// be: a right is missing, there is no such Pod any more, or ctx has ended. What is wrong for a
// while is waited for.
func (l *Lock) AcquireLeadership(ctx context.Context) error {
	for {
		err := l.tryAcquire(ctx)
		switch {
		case l.held != "":
			l.options.Logger.Info("became the leader, for as long as the Pod lives", "pod", l.options.Pod)
			return nil
		case isFinal(err):
			return fmt.Errorf("becoming the leader by ConfigMap %s/%s: %w", l.options.Namespace, l.options.Name, err)
		case err != nil:
			l.options.Logger.Info("cannot become the leader now", "reason", err.Error())
			wakeup.WaitFor(ctx, l.options.Clock, l.options.Poll, nil)
		default:
			l.awaitHolder(ctx)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("waiting to become the leader: %w", context.Cause(ctx))
		}
	}
}

// HoldLeadership returns nil when ctx ends, and ErrLost as soon as it is known that the ConfigMap is
// gone, or is somebody else's. An API server that does not answer says nothing.
func (l *Lock) HoldLeadership(ctx context.Context) error {
	for ctx.Err() == nil {
		found, err := l.getConfigMap(ctx)
		switch {
		case apierrors.IsNotFound(err) || err == nil && found.UID != l.held:
			return fmt.Errorf("%w: ConfigMap %s/%s, which belongs to Pod %q, is gone", ErrLost, l.options.Namespace, l.options.Name, l.options.Pod)
		case err == nil && podOf(found).UID != l.pod: // whose it is leads
			return fmt.Errorf("%w: ConfigMap %s/%s was given to Pod %q", ErrLost, l.options.Namespace, l.options.Name, podOf(found).Name)
		case err != nil:
			wakeup.WaitFor(ctx, l.options.Clock, l.options.Poll, nil)
		default:
			l.awaitHolder(ctx)
		}
	}
	return nil
}

// tryAcquire makes one attempt. Without an error and without held, another leads.
func (l *Lock) tryAcquire(ctx context.Context) error {
	if err := l.identifyPod(ctx); err != nil {
		return err
	}
	found, err := l.getConfigMap(ctx)
	if apierrors.IsNotFound(err) {
		return l.createConfigMap(ctx)
	}
	if err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	owner := podOf(found)
	if owner.UID == l.pod {
		l.held = found.UID
		return nil
	}
	l.logHolder(owner.Name)
	return l.releaseFrom(ctx, found, owner)
}

// identifyPod reads the own Pod, once.
func (l *Lock) identifyPod(ctx context.Context) error {
	if l.pod != "" {
		return nil
	}
	pod, err := l.options.Client.Pods(l.options.Namespace).Get(ctx, l.options.Pod, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Pod that this process runs in: %w", err)
	}
	if own := l.options.UID; own != "" && own != pod.UID {
		return fmt.Errorf("the Pod %q of this process, uid %s, is gone: %w, uid %s", pod.Name, own, errReplaced, pod.UID)
	}
	l.pod = pod.UID
	return nil
}

func (l *Lock) getConfigMap(ctx context.Context) (*corev1.ConfigMap, error) {
	found, err := l.options.Client.ConfigMaps(l.options.Namespace).Get(ctx, l.options.Name, metav1.GetOptions{})
	if err == nil {
		l.version = found.ResourceVersion
	}
	return found, err
}

// createConfigMap makes the ConfigMap. That another was first is no error.
func (l *Lock) createConfigMap(ctx context.Context) error {
	wanted := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            l.options.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: l.options.Pod, UID: l.pod}},
	}}
	made, err := l.options.Client.ConfigMaps(l.options.Namespace).Create(ctx, wanted, metav1.CreateOptions{})
	switch {
	case apierrors.IsAlreadyExists(err):
		l.version = ""
		return nil
	case err != nil:
		return fmt.Errorf("making it: %w", err)
	}
	l.held, l.version = made.UID, made.ResourceVersion
	return nil
}

// logHolder logs whom this process waits for, once for each.
func (l *Lock) logHolder(holder string) {
	if holder != l.holder {
		l.options.Logger.Info("waiting to become the leader", "leader", holder)
	}
	l.holder = holder
}

// isFinal says whether trying again is of no use before somebody has acted.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		apierrors.IsNotFound(err) || errors.Is(err, errReplaced)
}

// podOf is the Pod that a ConfigMap belongs to; empty if it belongs to none.
func podOf(found *corev1.ConfigMap) metav1.OwnerReference {
	for _, owner := range found.OwnerReferences {
		if owner.APIVersion == "v1" && owner.Kind == "Pod" {
			return owner
		}
	}
	return metav1.OwnerReference{}
}

// releaseFrom deletes the ConfigMap of a Pod that has ended for good and is kept. What
// belongs to a Pod that is gone is left to the garbage collector; what belongs to none,
// to who made it.
func (l *Lock) releaseFrom(ctx context.Context, found *corev1.ConfigMap, owner metav1.OwnerReference) error {
	if owner.Name == "" {
		return nil
	}
	pod, err := l.options.Client.Pods(l.options.Namespace).Get(ctx, owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the leader's Pod: %w", err)
	}
	if pod.UID != owner.UID || pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
		return nil
	}
	l.options.Logger.Info("the leader's Pod has ended: its ConfigMap goes", "leader", owner.Name, "phase", pod.Status.Phase)
	is := metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}
	err = l.options.Client.ConfigMaps(l.options.Namespace).Delete(ctx, l.options.Name, metav1.DeleteOptions{Preconditions: &is})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting it: %w", err)
	}
	l.version = ""
	return nil
}
