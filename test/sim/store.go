package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// commitLocked stores what a write has made of an object, or of none: old and new are
// as it was and is, in the stored version; nil means that it was or is not there. It
// sets the resourceVersion of new, which nobody may change afterwards. What was deleted
// is returned as its watchers see it.
func (s *Server) commitLocked(r *resource, old, new *unstructured.Unstructured) *unstructured.Unstructured {
	s.version++
	if s.written != nil {
		close(s.written)
		s.written = nil
	}
	c := change{version: s.version, old: old, new: new}
	if new == nil {
		c.old = withVersion(old, s.version)
		delete(r.objects, keyOf(old))
	} else {
		new.SetResourceVersion(strconv.FormatUint(s.version, 10))
		r.objects[keyOf(new)] = new
	}
	r.history = append(r.history, c)
	if over := len(r.history) - s.options.History; over > 0 {
		r.compacted = r.history[over-1].version
		r.history = r.history[over:]
	}
	for _, w := range sortedWatchers(r.watchers) {
		w.sendLocked(c)
	}
	s.followLocked(r, c)
	if s.options.Observer != nil {
		seen := s.handled
		seen.Old, seen.New = old, new
		s.options.Observer(seen)
	}
	s.wake()
	if new == nil {
		return c.old
	}
	return new
}

// followLocked keeps what the server derives from objects: rights and kinds.
func (s *Server) followLocked(r *resource, c change) {
	switch {
	case r.group == rbacGroup:
		s.authorizer.noteLocked(r.plural, c)
	case r.plural == definitions.Resource && r.group == definitions.Group:
		s.serveLocked(c.old, c.new)
	}
}

// withVersion returns the object with another resourceVersion. It shares the rest.
func withVersion(obj *unstructured.Unstructured, version uint64) *unstructured.Unstructured {
	top := maps.Clone(obj.Object)
	metadata, _ := top["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	metadata["resourceVersion"] = strconv.FormatUint(version, 10)
	top["metadata"] = metadata
	return &unstructured.Unstructured{Object: top}
}

func keyOf(obj *unstructured.Unstructured) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// versionOf is the resourceVersion of an object; 0 if it has none.
func versionOf(obj *unstructured.Unstructured) (uint64, error) {
	text := obj.GetResourceVersion()
	if text == "" || text == "0" {
		return 0, nil
	}
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("strconv.ParseUint: parsing %q: invalid syntax", text)
	}
	return version, nil
}

// sortedKeys are the keys of the objects in a namespace, "" for all, in the order of
// lists.
func (r *resource) sortedKeys(namespace string) []types.NamespacedName {
	var keys []types.NamespacedName
	for key := range r.objects {
		if namespace == "" || key.Namespace == namespace {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

func compareKeys(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// sortedResourcesLocked are all of them in a stable order. The slice is never changed: it is
// made anew when there are others.
func (s *Server) sortedResourcesLocked() []*resource {
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.resources), func(a, b *resource) int {
			return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(a.plural, b.plural))
		})
	}
	return s.sorted
}

// newUIDLocked returns a uid that the seed decides.
func (s *Server) newUIDLocked() types.UID {
	a, b := s.random.Uint64(), s.random.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, 0x8000|b>>48&0x3fff, b&0xffffffffffff))
}

// alphanums are the letters of generated names, as Kubernetes has them.
const alphanums = "bcdfghjklmnpqrstvwxz2456789"

// newNameLocked appends five letters.
func (s *Server) newNameLocked(base string) string {
	const letters, longest = 5, 63
	if len(base) > longest-letters {
		base = base[:longest-letters]
	}
	suffix := make([]byte, letters)
	for i := range suffix {
		suffix[i] = alphanums[s.random.IntN(len(alphanums))]
	}
	return base + string(suffix)
}
