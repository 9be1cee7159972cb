package placepermissions

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
)

// Uses are the places that owners make use of: a placeuses.Index that is safe for concurrent use. Its
// methods call nobody.
type Uses struct {
	mu    sync.Mutex
	index *placeuses.Index
}

// FitOwner is placeuses.Index.FitOwner: which of the places that an owner would make use of it may.
func (u *Uses) FitOwner(owner types.NamespacedName, next placeuses.ByPlace) placeuses.Fit {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.FitOwner(owner, next)
}

// UsesIn returns what owners make use of in a place. The result is the caller's.
func (u *Uses) UsesIn(place string) []placeuses.Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.UsesIn(place)
}

// CountPlaces returns in how many places a part of the policy is made use of.
func (u *Uses) CountPlaces(part string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.CountPlaces(part)
}

// HasPlace reports whether an owner makes use of a place.
func (u *Uses) HasPlace(owner types.NamespacedName, place string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.HasPlace(owner, place)
}

// IsCrowded reports whether an owner has to make room for others.
func (u *Uses) IsCrowded(owner types.NamespacedName) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.IsCrowded(owner)
}

func (u *Uses) setOwner(owner types.NamespacedName, next placeuses.ByPlace) (changed []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.SetOwner(owner, next)
}

func (u *Uses) isUsed(place string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.IsUsed(place)
}

// payerOf is the owner on whose account a place is asked about.
func (u *Uses) payerOf(place string) (owner types.NamespacedName, used bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.index.PayerOf(place)
}
