package memcached

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns the group and version of Memcached.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "cache.example.com", Version: "v1alpha1"}
}

// AddToScheme registers Memcached and MemcachedList. It never fails; the error
// is there to fit the builders of schemes.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion(), &Memcached{}, &MemcachedList{})
	metav1.AddToGroupVersion(s, GroupVersion())
	return nil
}

// Memcached is a set of memcached servers.
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status,omitempty"`
}

// MemcachedList is a list of Memcacheds.
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Memcached `json:"items"`
}

// Spec is what a user wants.
type Spec struct {
	// Size is the number of servers, 0 or more.
	Size int32 `json:"size"`
}

// Status is how a Memcached fares.
type Status struct {
	// Nodes are the names of the running Pods, sorted.
	Nodes []string `json:"nodes"`
	// State says in short how it fares.
	State State `json:"state"`
	// Conditions are Available and Degraded.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// State says in short how a Memcached fares.
type State struct {
	// Status is Ready or Progressing.
	Status string `json:"status"`
	// Message says how many nodes are available.
	Message string `json:"message"`
}
