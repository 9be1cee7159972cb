// Command rights measures how fast Ambit follows rights as they come and go, and
// what that costs: bin/ambit with policies/memcached.yaml on a real etcd and
// kube-apiserver. `make bench` builds what it needs and runs it; it works in the
// root of the repository.
//
// The account of Ambit may watch owners and patch their status everywhere; a
// RoleBinding in a namespace gives it the rest there. There is no
// kube-controller-manager: Deployments get no Pods, and what is measured is
// Ambit. A cycle in a namespace without RoleBinding:
//
//  1. An owner is made. Time counts until its status says that it is denied.
//  2. The RoleBinding is made. Time counts until the Deployment is there.
//  3. The RoleBinding is deleted. Time counts until the status says so, and until
//     the API server has closed the last watch in that namespace.
//  4. Owner and Deployment are deleted.
//
// Times count from just before the request to when this program's own watch shows
// the effect; the ends of watches are those of the audit log. All namespaces have
// their cycles at the same time, and there is a pause of random length before
// each request, so that nothing keeps step with Ambit's own timers.
//
// All of that is done twice, with a process and a user of its own: with the RBAC
// objects watchable for Ambit, and without. Without, watches are opened anew every
// few seconds; so there are further namespaces with an owner and a RoleBinding
// that stay, as many as make about 200 watches in all, and what reopening them
// costs is measured while nothing else happens.
//
// It exits with 1 if something does not happen in time, with the end of what Ambit
// printed. An aim that is missed is printed as such, and is no error.
package main
