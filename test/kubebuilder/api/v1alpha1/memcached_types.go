package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemcachedSpec is what is wanted.
type MemcachedSpec struct {
	// Size is the number of servers.
	Size int32 `json:"size"`
}

// MemcachedStatus is what there is.
type MemcachedStatus struct {
	// Conditions has one of type Available, once the Memcached was reconciled.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Memcached is a set of memcached servers.
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MemcachedSpec   `json:"spec"`
	Status MemcachedStatus `json:"status,omitempty"`
}

// MemcachedList is a list of Memcacheds.
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Memcached `json:"items"`
}
