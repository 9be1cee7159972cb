package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The sides.
const (
	sideBare        = "bare"
	sideHandwritten = "handwritten"
	sideFrugal      = "frugal"
	sideAmbit       = "ambit"
)

// allSides returns the names of all sides in the order of the table.
func allSides() []string { return []string{sideBare, sideHandwritten, sideFrugal, sideAmbit} }

// side is one that takes part.
type side struct {
	name string
	// restarts: it may be started with all work done. The bare client may not: it
	// knows no other way than to create.
	restarts bool
	// command is the program with its arguments, but for the kubeconfig.
	command []string
}

// user returns the name that the side has for the API server.
func (s side) user() string { return "bench-" + s.name }

// pick returns the sides that the options name.
func pick(o options) ([]side, error) {
	workers := "--concurrency=" + strconv.Itoa(o.Workers)
	handwritten := filepath.Join(o.Bin, "bench-handwritten")
	known := map[string]side{
		sideBare:        {command: []string{filepath.Join(o.Bin, "bench-bare"), workers}},
		sideHandwritten: {restarts: true, command: []string{handwritten, workers}},
		sideFrugal:      {restarts: true, command: []string{handwritten, workers, "-frugal"}},
		sideAmbit: {restarts: true, command: []string{
			filepath.Join(o.Bin, "ambit"), "run", "-f", "policies/memcached.yaml", workers,
		}},
	}
	sides := make([]side, 0, len(o.Sides))
	for _, name := range o.Sides {
		s, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("no side %q: there are %s", name, strings.Join(allSides(), ", "))
		}
		s.name = name
		if slices.ContainsFunc(sides, func(other side) bool { return other.name == name }) {
			return nil, fmt.Errorf("side %q is named twice", name)
		}
		sides = append(sides, s)
	}
	return sides, nil
}
