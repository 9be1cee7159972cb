package controller

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/informer"
)

// otherVersion is the error of a kind that is served, but not in the version that was
// looked for. Its objects are there.
type otherVersion struct {
	wanted, served schema.GroupVersionKind
	kind           kind // as it is served
}

func (e *otherVersion) Error() string {
	return fmt.Sprintf("the API server does not serve kind %s in %s, but in %s", e.wanted.Kind, e.wanted.GroupVersion(), e.served.GroupVersion())
}

// isUnserved says whether a kind is not served in the version that was looked for.
func isUnserved(err error) bool {
	var other *otherVersion
	return meta.IsNoMatchError(err) || errors.As(err, &other)
}

// doubt is a resource that was answered not to be there.
type doubt struct {
	retry
	asked time.Time // when its kind was looked up last; zero: not yet
	gone  bool      // no version of its kind was served then
	// waits: somebody asked and has had no answer.
	waits bool
	// back: the resource is there again after its kind was gone. It may be another kind now.
	back bool
}

// anyVersion is lookup for what needs no particular version: rights, and the removal of
// objects. Of a kind that is served in another version it returns that.
func (k *kinds) anyVersion(gvk schema.GroupVersionKind) (found kind, ok bool) {
	found, ok, err := k.lookup(gvk)
	var other *otherVersion
	if errors.As(err, &other) {
		return other.kind, true
	}
	return found, ok
}

// isGone says of a resource that was answered not to be there, since that time, whether
// its kind is gone: whether it is served in no version. While that is not known it is
// false, and looked up.
func (k *kinds) isGone(resource schema.GroupVersionResource, since time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.doubts[resource]
	if d == nil {
		d = &doubt{retry: newRetry(k.clock.Now())}
		k.doubts[resource] = d
	}
	if d.gone && !d.asked.Before(since) {
		return true
	}
	if !d.waits || d.asked.Before(since) {
		d.retry = newRetry(k.clock.Now())
		poke(k.wake)
	}
	d.waits = true
	return false
}

// forget drops the doubts about resources that are there now, or that nobody needs; of
// those whose kind was gone as soon as it is known what they are now.
func (k *kinds) forget(missing func() []informer.Key) {
	k.mu.Lock()
	doubts := len(k.doubts)
	k.mu.Unlock()
	if doubts == 0 {
		return
	}
	still := map[schema.GroupVersionResource]bool{}
	for _, key := range missing() {
		still[key.GVR] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.doubts, func(resource schema.GroupVersionResource, d *doubt) bool {
		d.back = d.gone && !still[resource]
		return !still[resource] && !d.back
	})
}

// noteLocked notes in which version a kind is served, for actions on its objects. The
// caller holds mu.
func (k *kinds) noteLocked(err error) {
	var other *otherVersion
	if errors.As(err, &other) {
		delete(k.wanted, other.served)
		k.knowLocked(other.served, other.kind)
	}
}

// renew notes how the kind of a doubted resource is served now, and says whether that is
// news: a definition that was deleted and made again may have another scope or resource.
func (k *kinds) renew(resource schema.GroupVersionResource, gvk schema.GroupVersionKind, found kind) (news bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	d, before := k.doubts[resource], k.known[gvk]
	if d == nil || before == found && !d.back {
		return false
	}
	delete(k.doubts, resource)
	delete(k.wanted, gvk)
	k.knowLocked(gvk, found)
	return before != found
}

// answer notes what a look at a doubted resource has given, and says whether that is
// news. A kind that is served in another version is from now on not known in this one.
func (k *kinds) answer(resource schema.GroupVersionResource, gvk schema.GroupVersionKind, asked time.Time, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	d := k.doubts[resource]
	if d == nil {
		return false
	}
	d.putOff(k.clock.Now(), lookupBackoffMax)
	if d.back && err != nil && !isUnserved(err) {
		return false
	}
	var other *otherVersion
	if errors.As(err, &other) {
		delete(k.doubts, resource)
		delete(k.known, gvk)
		k.wanted[gvk] = &search{retry: newRetry(k.clock.Now())}
		k.wanted[gvk].failed(k.clock.Now(), err)
		k.noteLocked(err)
		return true
	}
	before := *d
	d.asked, d.gone = asked, meta.IsNoMatchError(err)
	d.waits = before.waits && !d.gone
	return d.gone && (before.waits || !before.gone)
}
