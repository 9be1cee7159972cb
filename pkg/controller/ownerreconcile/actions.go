package ownerreconcile

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// accessOf is the right that an action needs. The authorizer does not see the name
// of a new object: it is not in the request's path.
func accessOf(action plan.Action, k discovery.Resource) access.Access {
	a := access.Access{Verb: verbOf(action), Group: k.GVR.Group, Resource: k.GVR.Resource}
	if action.Verb != plan.Create {
		a.Name = action.Name
	}
	return a
}

// verbOf is the right that an action needs.
func verbOf(action plan.Action) string {
	switch action.Verb {
	case plan.Create:
		return "create"
	case plan.Delete:
		return "delete"
	}
	return "patch"
}

func actionLog(ctx context.Context, action plan.Action) logr.Logger {
	object := action.Name
	if action.Namespace != "" {
		object = action.Namespace + "/" + object
	}
	return ctrllog.FromContext(ctx).WithValues("verb", action.Verb, "kind", action.GVK.Kind, "object", object)
}

// keyOfAction names the object of an action.
func keyOfAction(action plan.Action) inventory.ObjectKey {
	return inventory.ObjectKey{Kind: action.GVK.GroupKind(), Namespace: action.Namespace, Name: action.Name}
}

// digestOf is equal for equal texts, and small: what was refused may be large.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// writeText says what an action writes: equal for equal writes.
func writeText(action plan.Action) string {
	var object []byte
	if action.Object != nil {
		object, _ = json.Marshal(action.Object.Object) // JSON-like by construction
	}
	return fmt.Sprintf("%s %s %s", action.Verb, action.UID, object)
}

// lastSeen is what an action says of the object that it deleted.
func lastSeen(action plan.Action) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(action.GVK)
	obj.SetNamespace(action.Namespace)
	obj.SetName(action.Name)
	obj.SetUID(action.UID)
	obj.SetResourceVersion(action.ResourceVersion)
	return obj
}

// childOf is the child that an action is about; nil if the program has it no more.
func (w childWriter) childOf(action plan.Action) *policy.Child {
	if action.Ensured {
		return policy.FindChild(w.Program.Ensured, action.Child)
	}
	return policy.FindChild(w.Program.Children, action.Child)
}

// labelsText stands for all writes that want the same object, whether to make it or to put labels
// on it.
func labelsText(action plan.Action) string { return "labels of " + action.Wanted }

// nameOf is as in `Deployment "web"`, with the namespace where it is not the owner's.
func (w childWriter) nameOf(action plan.Action) string {
	name := fmt.Sprintf("%s %q", action.GVK.Kind, action.Name)
	if action.Namespace != "" && (w.owner == nil || w.owner.GetNamespace() != action.Namespace) {
		name += fmt.Sprintf(" in namespace %q", action.Namespace)
	}
	return name
}
