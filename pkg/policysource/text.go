package policysource

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
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
	size   int    // of what the digest is of, in bytes
	// steady: the last two readings of the file, a second apart at least, found this text. Of
	// what comes from an API server it is so at once.
	steady bool
	// fresh: the file was written so shortly before the reading that it may be written still.
	fresh bool
	// created, uid and generation are those of the object; zero for files.
	created    time.Time
	uid        types.UID
	generation int64
	// deleting and guarded: the custom resource is being deleted, and has the
	// finalizer. unguardable: the finalizer cannot be put there.
	deleting, guarded, unguardable bool
	// reading is what it says, if that is known already; else nil.
	reading *reading
	// owned: its status says that it has owners.
	owned bool
}

// as returns the text with what an older version of it says, as long as what it says itself is
// not known. Nobody takes it for the newest: it has the generation of the older one, or none.
// It is no steadier than the older one was.
func (t text) as(old text) text {
	if t.uid != old.uid {
		old.generation = 0
	}
	t.data, t.object, t.unread, t.digest, t.size, t.steady = old.data, old.object, old.unread, old.digest, old.size, old.steady
	t.generation, t.reading = old.generation, old.reading
	return t
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
	// gone are the places that are not there: nothing stands in them, and nobody has said
	// that it was removed. Folders of -f only.
	gone []place
	// awaited are origins whose text is there, and not compiled yet for the first time.
	awaited map[Origin]bool
	// within says in which argument of -f a file is found; nil for no files.
	within func(file string) string
}

// coverage is what a snapshot knows of a place in which it has no text.
type coverage int

const (
	unseen   coverage = iota // the text may be there
	removed                  // the place was read, and the text is not there
	notThere                 // the place itself is not there
)

// covers returns what is known of an origin that has no text in the snapshot.
func (s snapshot) covers(o Origin) coverage {
	in := func(p place) bool {
		switch {
		case p.kind != o.Kind:
			return false
		case p.kind == File:
			return s.within == nil || s.within(o.File) == p.argument
		}
		return p.namespace == "" || p.namespace == o.Namespace
	}
	switch {
	case s.awaited[o]:
		return unseen
	case slices.ContainsFunc(s.complete, in):
		return removed
	case slices.ContainsFunc(s.gone, in):
		return notThere
	}
	return unseen
}

// digestOf makes the digest of a text, and says how large it is.
func digestOf(t text) (digest string, size int) {
	hash, counted := sha256.New(), counter{}
	to := io.MultiWriter(hash, &counted)
	to.Write(t.data) // neither fails
	if t.object != nil {
		// What comes from an API server can be encoded.
		if err := json.NewEncoder(to).Encode(map[string]any{
			"apiVersion": t.object["apiVersion"], "kind": t.object["kind"], "spec": t.object["spec"],
		}); err != nil {
			fmt.Fprintf(to, "%v", err)
		}
	}
	if t.unread != nil {
		fmt.Fprintf(to, "\x00%v", t.unread)
	}
	return hex.EncodeToString(hash.Sum(nil)), counted.bytes
}

// counter counts what is written to it.
type counter struct{ bytes int }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}
