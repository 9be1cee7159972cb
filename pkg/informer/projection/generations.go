package projection

// generationEntries is how many entries one generation holds.
const generationEntries = 256

// generations remember what was met lately: a bounded number of entries. When young is full it becomes old,
// and what was old is forgotten; what is met again moves back to young. The maps are used again, for a policy
// with many owners fills them all the time.
type generations[K comparable, V any] struct{ young, old map[K]V }

// find returns the value of a key, and makes it young.
func (g *generations[K, V]) find(key K) (V, bool) {
	value, ok := g.young[key]
	if ok {
		return value, true
	}
	if value, ok = g.old[key]; ok {
		g.remember(key, value)
	}
	return value, ok
}

// look returns the value of a key.
func (g *generations[K, V]) look(key K) (V, bool) {
	value, ok := g.young[key]
	if !ok {
		value, ok = g.old[key]
	}
	return value, ok
}

// remember makes value that of a key, which becomes young.
func (g *generations[K, V]) remember(key K, value V) {
	if len(g.young) >= generationEntries {
		if _, ok := g.young[key]; !ok {
			g.beginNext()
		}
	}
	if g.young == nil {
		g.young = map[K]V{}
	}
	g.young[key] = value
}

// beginNext makes old what is young, and forgets what was old.
func (g *generations[K, V]) beginNext() {
	g.young, g.old = g.old, g.young
	clear(g.young)
}

// forgetAll forgets everything.
func (g *generations[K, V]) forgetAll() { *g = generations[K, V]{} }

// count returns how many entries there are in both.
func (g *generations[K, V]) count() int { return len(g.young) + len(g.old) }
