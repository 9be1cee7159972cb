package install

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// cache is the owner of the story, in each namespace of it.
const cache = "cache"

// tell tells the story: a Memcached where Ambit lacks its rights, then gets them, loses
// them, and gets them again, while another one, if there is a namespace for it, is
// served all the time.
func (s *stage) tell() {
	s.t.Helper()
	s.makeOwner(s.denied)
	s.refused("", 0)
	if s.allowed != "" {
		s.makeOwner(s.allowed)
		s.served(s.allowed, 2)
	}

	s.grant(s.denied)
	s.served(s.denied, 2)
	s.resize(s.denied, 3)
	s.served(s.denied, 3)
	made := s.remade(s.denied, 3)

	s.revoke(s.denied)
	s.refused(made, 3)
	s.resize(s.denied, 1)
	s.refused(made, 3)
	if s.allowed != "" {
		s.resize(s.allowed, 1)
		s.served(s.allowed, 1)
	}

	s.grant(s.denied)
	s.served(s.denied, 1)
	if uid := s.deployment(s.denied).UID; uid != made {
		s.t.Errorf("the Deployment is another one than before: %s, was %s", uid, made)
	}
	s.end()
}

func (s *stage) makeOwner(namespace string) {
	s.t.Helper()
	createAs(s.t, s.by, memcacheds, map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": cache, "namespace": namespace}, "spec": map[string]any{"size": int64(2)},
	})
}

func (s *stage) resize(namespace string, size int) {
	s.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
	if _, err := s.objects.Resource(memcacheds).Namespace(namespace).Patch(s.t.Context(), cache, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) deployment(namespace string) *appsv1.Deployment {
	s.t.Helper()
	d, err := s.sees.AppsV1().Deployments(namespace).Get(s.t.Context(), cache, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// remade deletes the Deployment, waits until another one is as it was, and returns its
// uid.
func (s *stage) remade(namespace string, size int) types.UID {
	s.t.Helper()
	before := s.deployment(namespace).UID
	if err := s.objects.Resource(deployments).Namespace(namespace).Delete(s.t.Context(), cache, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	var made types.UID
	eventually(s.t, "the Deployment is made again", func() error {
		d, err := s.sees.AppsV1().Deployments(namespace).Get(s.t.Context(), cache, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if made = d.UID; made == before {
			return fmt.Errorf("it is the old one")
		}
		return nil
	})
	s.served(namespace, size)
	return made
}

// end deletes the owners, which nothing holds up, and with which all goes.
func (s *stage) end() {
	s.t.Helper()
	for _, namespace := range []string{s.denied, s.allowed} {
		if namespace == "" {
			continue
		}
		removeAs(s.t, s.by, memcacheds, namespace, cache)
		s.nothingLeft(namespace)
	}
}

// nothingLeft waits until what the policy made is gone, and what was made of that.
func (s *stage) nothingLeft(namespace string) {
	s.t.Helper()
	admin := dynamicClient(s.t, control.Admin())
	eventually(s.t, "all goes with the owner", func() error {
		for _, of := range []schema.GroupVersionResource{deployments, replicaSets, pods} {
			list, err := admin.Resource(of).Namespace(namespace).List(s.t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + cache})
			if err != nil {
				return err
			}
			if len(list.Items) > 0 {
				return fmt.Errorf("there are %d %s", len(list.Items), of.Resource)
			}
		}
		return nil
	})
}
