package rbac

import (
	"cmp"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Subject is who gets rights: a ServiceAccount, or a user if Namespace is empty.
// The zero Subject is whoever asks: it can be asked about, and not granted to.
type Subject struct {
	// Namespace is that of the ServiceAccount.
	Namespace string
	// Name is that of the ServiceAccount or the user.
	Name string
}

// User is the name that the API server knows the subject by.
func (s Subject) User() string {
	if s.Namespace == "" {
		return s.Name
	}
	return "system:serviceaccount:" + s.Namespace + ":" + s.Name
}

// Groups are those that the API server puts the subject in by itself. Of a user
// that is one only: which others it has, only its credentials say.
func (s Subject) Groups() []string {
	const everybody = "system:authenticated"
	if s.Namespace == "" {
		return []string{everybody}
	}
	return []string{"system:serviceaccounts", "system:serviceaccounts:" + s.Namespace, everybody}
}

// reference is the subject in a binding.
func (s Subject) reference() rbacv1.Subject {
	if s.Namespace == "" {
		return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: s.Name}
	}
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: s.Name}
}

// compareSubjects orders ServiceAccounts by namespace and name.
func compareSubjects(a, b Subject) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
