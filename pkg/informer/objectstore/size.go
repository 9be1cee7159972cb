package objectstore

// sizeEntry is what an object takes beside its content: its entry, and that in the map of objects, with
// its name.
const sizeEntry = 256

// EstimateBytes estimates how many bytes the objects take, without what they share with others.
func (s *Store) EstimateBytes() int { return s.bytes + sizeEntry*len(s.objects) }
