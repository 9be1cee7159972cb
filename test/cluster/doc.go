// Package cluster gives tests a real Kubernetes control plane: etcd,
// kube-apiserver with RBAC and an audit log, kube-controller-manager,
// kube-scheduler, and KWOK for nodes and Pods without containers. A start takes
// about three seconds and half a gigabyte; a package starts one for all its tests
// (see Main and Lazy) and gives each test a namespace of its own.
//
// It runs the program bin/controlplane, which `make controlplane` builds, and
// knows nothing of Ambit.
//
// The control plane is real in what it decides and quiet besides: nodes send no
// heartbeats, so what the audit log shows in an idle cluster is what the tested
// client did. Delays of Kubernetes remain: the garbage collector sees a new kind
// up to 45 seconds late (Options.CRDs avoids it), and a namespace takes 5 seconds
// to go.
package cluster
