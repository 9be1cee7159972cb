package main

import (
	"cmp"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
)

// document is a bill of materials, as far as it is used here.
type document struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

// component is a module, or the program.
type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// describe makes the document. Which module needs which is not in a binary: all are
// said to be needed by the program.
func describe(info *debug.BuildInfo, version string) document {
	program := module("application", info.Main.Path, version)
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			program.Properties = append(program.Properties, property{Name: "go:" + s.Key, Value: s.Value})
		}
	}
	components := []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		c := module("library", dep.Path, dep.Version)
		if dep.Sum != "" {
			c.Properties = []property{{Name: "go:sum", Value: dep.Sum}}
		}
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b component) int { return cmp.Compare(a.Ref, b.Ref) })
	needs := dependency{Ref: program.Ref}
	for _, c := range components {
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	return document{
		Format: "CycloneDX", SpecVersion: "1.5", Version: 1,
		Metadata: metadata{Component: program}, Components: components, Dependencies: []dependency{needs},
	}
}

func module(kind, path, version string) component {
	purl := "pkg:golang/" + path + "@" + url.PathEscape(version)
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}
