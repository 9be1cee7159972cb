package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// text is what stands in one place: a file, one key of a ConfigMap, or a custom
// resource. It is immutable.
type text struct {
	origin Origin
	// data is the text of files and ConfigMaps, object the content of a custom
	// resource.
	data   []byte
	object map[string]any
	// unread is why it could not be read; nil if it could.
	unread error
	digest string // of data, object and unread
	// created, uid and generation are those of the object; zero for files.
	created    time.Time
	uid        types.UID
	generation int64
	// deleting and guarded: the custom resource is being deleted, and has the
	// finalizer. unguardable: the finalizer cannot be put there.
	deleting, guarded, unguardable bool
	// owned: its status says that it has owners.
	owned bool
}

// place is a part of the world that a shelf has seen all of.
type place struct {
	kind Kind
	// argument is that of -f for files; namespace is "" for all, else where objects are.
	argument, namespace string
}

// snapshot is what the shelves hold at one moment.
type snapshot struct {
	texts []text
	// complete are the places of which texts holds everything.
	complete []place
	// within says in which argument of -f a file is found; nil for no files.
	within func(file string) string
}

// covers says whether what stands at an origin would be in the snapshot.
func (s snapshot) covers(o Origin) bool {
	for _, p := range s.complete {
		switch {
		case p.kind != o.Kind:
		case p.kind != File:
			if p.namespace == "" || p.namespace == o.Namespace {
				return true
			}
		case s.within == nil || s.within(o.File) == p.argument:
			return true
		}
	}
	return false
}

// digestOf makes the digest of a text.
func digestOf(t text) string {
	hash := sha256.New()
	hash.Write(t.data)
	if t.object != nil {
		// What comes from an API server can be encoded.
		if err := json.NewEncoder(hash).Encode(map[string]any{
			"apiVersion": t.object["apiVersion"], "kind": t.object["kind"], "spec": t.object["spec"],
		}); err != nil {
			fmt.Fprintf(hash, "%v", err)
		}
	}
	if t.unread != nil {
		fmt.Fprintf(hash, "\x00%v", t.unread)
	}
	return hex.EncodeToString(hash.Sum(nil))
}
