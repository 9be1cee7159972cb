package ssadiff

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/test/objecttext"
)

// managedBy is an object with an entry of the manager `us`.
func managedBy(t testing.TB, text, fields string) *unstructured.Unstructured {
	t.Helper()
	return objecttext.ReadManaged(t, text, "{manager: us, operation: Update, apiVersion: v1, fieldsV1: "+fields+"}")
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
