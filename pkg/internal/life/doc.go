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
