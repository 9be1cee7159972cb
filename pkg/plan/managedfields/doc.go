// Package managedfields reads what metadata.managedFields of an object say of one manager: which fields
// it owns, by which operation, and how the API server matches the items of a list.
//
// It knows no desired object and compares nothing. Malformed entries are taken for absent; nothing panics,
// and nothing that is read is changed.
package managedfields
