package fields

// ProjectObject returns the covered part of an object. The object is not changed; the
// result shares covered subtrees with it, and has maps and lists of its own on
// the way to them. List elements keep their position: one with nothing covered
// becomes an empty map. Maps with nothing covered are left out.
func (s *Set) ProjectObject(obj map[string]any) map[string]any {
	if s.IsAll() {
		return obj
	}
	if s.IsEmpty() {
		return map[string]any{}
	}
	return s.projectMap(obj)
}

func (s *Set) projectMap(obj map[string]any) map[string]any {
	if s.below[Any] != nil {
		return s.projectEach(obj)
	}
	result := make(map[string]any, min(len(obj), len(s.below)))
	for element, sub := range s.below {
		if value, ok := obj[element]; ok {
			if kept, ok := sub.projectValue(value); ok {
				result[element] = kept
			}
		}
	}
	return result
}

func (s *Set) projectEach(obj map[string]any) map[string]any {
	result := make(map[string]any, len(obj))
	for element, value := range obj {
		if kept, ok := s.SetBelow(element).projectValue(value); ok {
			result[element] = kept
		}
	}
	return result
}

// projectValue returns the covered part of a value. A scalar where the set looks
// deeper is kept: readers get the same error from it as from the whole object.
func (s *Set) projectValue(value any) (any, bool) {
	if s == nil {
		return nil, false
	}
	if s.whole {
		return value, true
	}
	switch v := value.(type) {
	case map[string]any:
		return s.projectMap(v), true
	case []any:
		return s.projectList(v), true
	}
	return value, true
}

func (s *Set) projectList(list []any) []any {
	sub := s.below[Any]
	result := make([]any, len(list))
	for i, value := range list {
		if kept, ok := sub.projectValue(value); ok {
			result[i] = kept
			continue
		}
		result[i] = map[string]any{}
	}
	return result
}
