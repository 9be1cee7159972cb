// Package fields holds sets of field paths: which fields of an object somebody
// reads, and the projection of an object to them.
//
// It knows nothing of schemas: a path is a list of map keys, with Any standing
// for every element of a list and every value of a map.
package fields
