package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

const parcelGroup = "versions.example.com"

var parcels = schema.GroupVersionResource{Group: parcelGroup, Version: "v1", Resource: "parcels"}

// parcelsPolicy keeps a Parcel in another namespace for each owner, in a version that
// will not be served for ever.
const parcelsPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: parcels, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: parcel
      template:
        apiVersion: versions.example.com/v1beta1
        kind: Parcel
        metadata: {name: "${owner.metadata.name}", namespace: "${owner.metadata.annotations.copies}"}
        spec: {size: "${owner.spec.size}"}
`

// TestCleanupVersionGone: the version of a kind in which children were made is no longer
// served, another one is: their objects are not gone. The owners say so, and when they
// are deleted the objects go before them, whether Ambit was running meanwhile or not. It
// fails if an object is left behind, or an owner stays for ever.
func TestCleanupVersionGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "versions")
	home, there := w.namespace(homeRights()...), w.namespace(rightsTo(parcelGroup, "parcels"))
	w.decided(there, true, rightsTo(parcelGroup, "parcels"))
	w.makeKind(parcelGroup, "parcels", "Parcel")
	w.serveBeta(true)
	stop := w.run([]string{home}, program(t, "parcels.yaml", []byte(parcelsPolicy)))
	for _, name := range []string{"running", "restarted"} {
		w.copiesTo(home, name, there)
		w.condition(home, name, v1alpha1.ConditionReady, "True", "")
		w.hasParcel(there, name)
	}
	w.serveBeta(false)
	message := w.condition(home, "running", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonInvalid)
	if !strings.Contains(message, "v1beta1") || !strings.Contains(message, "but in "+parcelGroup+"/v1") {
		t.Errorf("message %q does not say which version is served", message)
	}
	w.hasParcel(there, "running")
	w.deleteOwner(home, "running")
	w.ownerGone(home, "running")
	w.noParcel(there, "running")

	stop()
	w.hasParcel(there, "restarted")
	w.deleteOwner(home, "restarted")
	w.run([]string{home}, program(t, "parcels.yaml", []byte(parcelsPolicy)))
	w.ownerGone(home, "restarted")
	w.noParcel(there, "restarted")
}

// serveBeta makes the API server serve Parcels in v1beta1 beside v1, or no longer.
func (w *world) serveBeta(served bool) {
	w.t.Helper()
	text := string(simpleCRD(parcelGroup, "parcels", "Parcel"))
	i := strings.Index(text, "    - name: v1\n")
	beta := strings.NewReplacer("name: v1\n", "name: v1beta1\n", "storage: true", "storage: false", "served: true", fmt.Sprintf("served: %t", served)).Replace(text[i:])
	if err := w.control.Apply(w.t.Context(), append(bytes.TrimRight([]byte(text), "\n"), "\n"+beta...)); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(fmt.Sprintf("v1beta1 is served: %t", served), func(ctx context.Context) error {
		resource := parcels
		resource.Version = "v1beta1"
		_, err := w.objects.Resource(resource).List(ctx, metav1.ListOptions{})
		if (err == nil) != served {
			return fmt.Errorf("listing answers %v", err)
		}
		return nil
	})
}

func (w *world) hasParcel(namespace, name string) {
	w.t.Helper()
	if _, err := w.objects.Resource(parcels).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{}); err != nil {
		w.t.Fatalf("Parcel %s/%s: %v", namespace, name, err)
	}
}

// noParcel looks at once: the object goes before its owner.
func (w *world) noParcel(namespace, name string) {
	w.t.Helper()
	if _, err := w.objects.Resource(parcels).Namespace(namespace).Get(w.t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		w.t.Errorf("Parcel %s/%s was left behind: %v", namespace, name, err)
	}
}
