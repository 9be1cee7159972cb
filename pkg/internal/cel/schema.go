package cel

import "sync"

// Schema says which fields an object has. nil stands for a value of which nothing
// is known. It is immutable and safe for concurrent use; schemas may refer to each
// other in a circle, for what is below a schema is only made when it is asked for.
type Schema struct {
	fields map[string]func() *Schema // an object with these fields and no others
	below  func() *Schema            // of a list or a map: its elements
	list   bool
}

// ObjectOf makes the schema of an object that has these fields and no others. The
// functions give their schemas; each is called once at most. The map must not be
// changed any more.
func ObjectOf(fields map[string]func() *Schema) *Schema {
	once := make(map[string]func() *Schema, len(fields))
	for name, field := range fields {
		once[name] = sync.OnceValue(field)
	}
	return &Schema{fields: once}
}

// ListOf makes the schema of a list of such elements.
func ListOf(element *Schema) *Schema { return LazyListOf(func() *Schema { return element }) }

// LazyListOf is ListOf for a schema that is made when it is asked for.
func LazyListOf(element func() *Schema) *Schema {
	return &Schema{below: sync.OnceValue(element), list: true}
}

// LazyMapOf makes the schema of a map with any keys and such values.
func LazyMapOf(value func() *Schema) *Schema { return &Schema{below: sync.OnceValue(value)} }

// elementSchema is the schema of what is in a list or a map.
func (s *Schema) elementSchema() *Schema {
	if s == nil || s.below == nil {
		return nil
	}
	return s.below()
}

// fieldSchema returns the schema of a field or of a map's value; known is false if the
// value is sure not to have it.
func (s *Schema) fieldSchema(name string) (field *Schema, known bool) {
	switch {
	case s == nil || s.list:
		return nil, true
	case s.below != nil:
		return s.below(), true
	}
	get, known := s.fields[name]
	if !known {
		return nil, false
	}
	return get(), true
}
