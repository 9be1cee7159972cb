package projection

import (
	"crypto/sha256"
	"hash/maphash"
	"math/bits"
	"reflect"
	"sync"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// interner lets the objects of informers of one form share the parts that are the same in
// many of them: what a template says of every child, and above all the paths in
// managedFields, which are most of an object. It remembers a bounded number of
// parts, those met lately: no longer than it takes to meet as many objects as there
// are, for most parts of an older version of an object are in no object any more. It
// is safe for concurrent use.
//
// Shared parts are why nobody may change an object of a store.
type interner struct {
	seed maphash.Seed // set once

	mu sync.Mutex // guards what is below
	// parts are by hash, texts are strings by themselves.
	parts    generations[uint64, any]
	texts    generations[string, *internedText]
	read     generations[textDigest, sharedValue]
	users    generations[partIdentity, partUser]
	objects  int   // that there are
	met      int   // changes since the last generation began
	elements []any // of lists that are being read
}

// internedText is a string that is met in many objects, as a key or as a value.
type internedText struct {
	value any // the string, in its box
	hash  uint64
}

func (t *internedText) textKey() string { return t.value.(string) }

// textDigest is a text of JSON, by its digest, and what is read of it.
type textDigest struct {
	digest [sha256.Size]byte
	set    *fields.Set
}

// sharedValue is a shared part and its hash.
type sharedValue struct {
	value any
	hash  uint64
}

// partIdentity tells a map or a list that is not empty from all others that there are.
type partIdentity struct {
	at      unsafe.Pointer
	entries int
}

func identityOf(part any) partIdentity {
	switch part := part.(type) {
	case map[string]any:
		return partIdentity{reflect.ValueOf(part).UnsafePointer(), len(part)}
	case []any:
		return partIdentity{unsafe.Pointer(unsafe.SliceData(part)), len(part)}
	}
	return partIdentity{}
}

// partUser says which objects a part was packed with lately.
type partUser struct {
	first   types.NamespacedName
	several bool
}

// noteUser notes that an object has a part, and reports whether others have it too; mu is held. Versions of one
// object have most parts in common, which does not count.
func (in *interner) noteUser(part any, name types.NamespacedName) (shared bool) {
	identity := identityOf(part)
	user, ok := in.users.look(identity)
	if !ok {
		user.first = name
	}
	user.several = user.several || user.first != name
	in.users.remember(identity, user)
	return user.several
}

// knownText returns the string of a text that was met lately, in its box; mu is held.
func (in *interner) knownText(text string) (any, bool) {
	found, ok := in.texts.look(text)
	if !ok {
		return nil, false
	}
	return found.value, true
}

func newInterner() *interner { return &interner{seed: maphash.MakeSeed()} }

// forgetAll lets go of all that is remembered; mu is held.
func (in *interner) forgetAll() {
	in.parts.forgetAll()
	in.texts.forgetAll()
	in.read.forgetAll()
	in.users.forgetAll()
	in.met = 0
}

// nextGeneration begins another generation, whatever the size of this one; mu is held.
func (in *interner) nextGeneration() {
	in.parts.beginNext()
	in.texts.beginNext()
	in.read.beginNext()
	in.users.beginNext()
	in.met = 0
}

// fitBy is called after each change, with how many objects there are more; mu is held. Two
// generations together remember what was met in about as many changes for each of
// them, and in the first list. A single object shares with nobody.
func (in *interner) fitBy(more int) {
	in.objects += more
	in.met++
	switch {
	case in.objects <= 1:
		in.forgetAll()
	case in.met > in.objects:
		in.nextGeneration()
	}
}

// internObject replaces parts of obj, which must be the caller's alone, by equal ones.
func (in *interner) internObject(obj *unstructured.Unstructured) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for key, value := range obj.Object {
		if metadata, ok := value.(map[string]any); ok && key == "metadata" {
			in.internMetadata(metadata)
			continue
		}
		obj.Object[internText(in, key).textKey()], _ = in.shareValue(value)
	}
}

// internMetadata leaves alone what is different in every object.
func (in *interner) internMetadata(metadata map[string]any) {
	for key, value := range metadata {
		switch key {
		case "name", "uid", "resourceVersion":
		default:
			value, _ = in.shareValue(value)
		}
		metadata[internText(in, key).textKey()] = value
	}
}

// shareValue returns a value equal to v, and its hash. Parts of v are replaced.
func (in *interner) shareValue(v any) (any, uint64) {
	switch v := v.(type) {
	case map[string]any:
		hash := uint64(len(v))
		for key, value := range v {
			shared, h := in.shareValue(value)
			if !isScalar(value) {
				v[key] = shared
			}
			hash += mixHashes(internText(in, key).hash, h) // whatever the order
		}
		return in.sharedPart(v, hash), hash
	case []any:
		hash := uint64(0)
		for i, value := range v {
			shared, h := in.shareValue(value)
			v[i] = shared
			hash = mixHashes(hash, h)
		}
		hash = mixHashes(^uint64(len(v)), hash)
		return in.sharedPart(v, hash), hash
	case string:
		t := internText(in, v)
		return t.value, t.hash
	case int64:
		return v, mixHashes(1, uint64(v))
	case bool:
		if v {
			return v, mixHashes(2, 2)
		}
	}
	return v, mixHashes(3, 3) // identical tells them apart
}

// isScalar reports whether sharing a value saves nothing.
func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any, string:
		return false
	}
	return true
}

// mixHashes makes one hash of two, of which the order matters.
func mixHashes(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, bits.RotateLeft64(b, 32)^0xd1b54a32d192ed03)
	return high ^ low
}

// sharedPart returns the part that is remembered as equal to v, or v, which is then.
func (in *interner) sharedPart(v any, hash uint64) any {
	found, ok := in.parts.look(hash)
	if !ok || !isIdentical(found, v) {
		in.internKeys(v)
		found = v
	}
	in.parts.remember(hash, found)
	return found
}

// internKeys shares the keys of a new part. Assigning to a key that is there replaces
// the string too.
func (in *interner) internKeys(v any) {
	if v, ok := v.(map[string]any); ok {
		for key, value := range v {
			v[internText(in, key).textKey()] = value
		}
	}
}

// internText returns what is remembered of a text, of which no string is made if there is something; mu is held.
func internText[T string | []byte](in *interner, text T) *internedText {
	if found, ok := in.texts.young[string(text)]; ok {
		return found
	}
	found, ok := in.texts.old[string(text)]
	if !ok {
		s := string(text)
		found = &internedText{s, maphash.String(in.seed, s)}
	}
	in.texts.remember(found.textKey(), found)
	return found
}

// isIdentical reports whether two parts are equal, given that equal parts below them
// are one.
func isIdentical(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && identicalMaps(x, y)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !identicalValue(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	return false
}

func identicalMaps(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for key, x := range a {
		if y, ok := b[key]; !ok || !identicalValue(x, y) {
			return false
		}
	}
	return true
}

// identicalValue is == also for maps and lists, which it takes by identity.
func identicalValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && reflect.ValueOf(x).UnsafePointer() == reflect.ValueOf(y).UnsafePointer()
	case []any:
		y, ok := b.([]any)
		return ok && len(x) == len(y) && (len(x) == 0 || &x[0] == &y[0])
	case string, int64, float64, bool, nil:
		return a == b
	}
	return false
}
