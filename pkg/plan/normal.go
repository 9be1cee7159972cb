package plan

import (
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// dropNulls removes fields that are null: to the API server they are not there.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
				continue
			}
			dropNulls(value)
		}
	case []any:
		for _, e := range v {
			dropNulls(e)
		}
	}
}

func isSecret(gvk schema.GroupVersionKind) bool {
	return gvk == schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// encodeStringData turns a Secret's stringData into data, as the API server does:
// stringData itself can never be read back. If a value is no string, as the API
// server demands, it returns the key.
func encodeStringData(secret map[string]any) (key string, ok bool) {
	plain, ok := secret["stringData"].(map[string]any)
	if !ok {
		return "", true
	}
	delete(secret, "stringData")
	data := submap(secret, "data")
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		value, ok := plain[key].(string)
		if !ok {
			return key, false
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return "", true
}
