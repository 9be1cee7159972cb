package objectstore

// sampledObjects is how many objects an estimate looks at.
const sampledObjects = 4

// EstimateBytes estimates how many bytes the objects take, from a few of them. What
// objects share is counted for each, so that it is rather too much.
func (s *Store) EstimateBytes() int {
	looked, total := 0, 0
	for _, e := range s.objects { // in any order: the estimate is not better for one
		if looked == sampledObjects {
			break
		}
		looked++
		total += sizeOf(e.object.Object)
	}
	if looked == 0 {
		return 0
	}
	return total / looked * len(s.objects)
}

// What values take beside their content: a word with its type in an interface, a string's
// header, a slice's, a map's, and an entry of a map with its share of free room.
const (
	sizeValue  = 16
	sizeString = 16
	sizeSlice  = 24
	sizeMap    = 48
	sizeEntry  = 40
)

// sizeOf estimates the bytes of a JSON-like value.
func sizeOf(value any) int {
	switch v := value.(type) {
	case string:
		return sizeValue + sizeString + len(v)
	case []any:
		total := sizeValue + sizeSlice
		for _, element := range v {
			total += sizeOf(element)
		}
		return total
	case map[string]any:
		total := sizeValue + sizeMap
		for key, element := range v {
			total += sizeEntry + len(key) + sizeOf(element)
		}
		return total
	}
	return sizeValue + 8
}
