package memcached

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopy returns a copy that shares nothing with m.
func (m *Memcached) DeepCopy() *Memcached {
	out := *m
	m.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status = m.Status.DeepCopy()
	return &out
}

// DeepCopyObject is DeepCopy, for runtime.Object.
func (m *Memcached) DeepCopyObject() runtime.Object { return m.DeepCopy() }

// DeepCopyObject returns a copy that shares nothing with l.
func (l *MemcachedList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Memcached, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopy()
	}
	return &out
}

// DeepCopy returns a copy that shares nothing with s.
func (s Status) DeepCopy() Status {
	out := s
	out.Nodes = slices.Clone(s.Nodes)
	out.Conditions = make([]metav1.Condition, len(s.Conditions))
	for i := range s.Conditions {
		s.Conditions[i].DeepCopyInto(&out.Conditions[i])
	}
	return out
}
