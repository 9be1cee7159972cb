package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// page is the text as it grows.
type page struct {
	strings.Builder
	examples map[string]*example
	errs     []error
}

// write returns the page. The error names all that is missing.
func write(intro string, fields []field, examples map[string]*example) ([]byte, error) {
	p := &page{examples: examples}
	p.WriteString("<!-- Written by `make generate` from pkg/api/v1alpha1, hack/docs/intro.md and docs/examples. -->\n")
	p.intro(intro)
	p.WriteString("\n## Fields\n\nBelow `spec`; `[]` is each element of a list.\n\n")
	p.contents(fields)
	for _, f := range fields {
		p.field(f)
	}
	for _, name := range sortedKeys(examples) {
		if !examples[name].used {
			p.errs = append(p.errs, fmt.Errorf("example %q is shown nowhere: its name is no field, and intro.md does not name it", name))
		}
	}
	return []byte(p.String()), errors.Join(p.errs...)
}

// intro writes the text with the examples that it names.
func (p *page) intro(text string) {
	placeholder := regexp.MustCompile(`(?m)^<!-- example ([\w.]+) -->$`)
	p.WriteString(placeholder.ReplaceAllStringFunc(text, func(line string) string {
		name := placeholder.FindStringSubmatch(line)[1]
		e := p.examples[name]
		if e == nil {
			p.errs = append(p.errs, fmt.Errorf("intro.md names the example %q, which is not there", name))
			return ""
		}
		return strings.TrimSuffix(e.block(), "\n")
	}))
}

// contents lists the fields directly below spec.
func (p *page) contents(fields []field) {
	var links []string
	for _, f := range fields {
		if !strings.Contains(f.path, ".") {
			name := strings.TrimSuffix(f.path, "[]")
			links = append(links, fmt.Sprintf("[`%s`](#%s)", name, anchor(f.path)))
		}
	}
	p.WriteString(strings.Join(links, " · ") + "\n")
}

func (p *page) field(f field) {
	level := min(3+strings.Count(f.path, "."), 5)
	fmt.Fprintf(p, "\n%s `%s`\n\n%s\n", strings.Repeat("#", level), f.path, sentence(f))
	if len(f.values) > 0 {
		p.WriteString("\n| value | meaning |\n| --- | --- |\n")
	}
	for _, v := range f.values {
		fmt.Fprintf(p, "| `%s` | %s |\n", v.text, strings.ReplaceAll(v.doc, "|", `\|`))
	}
	e := exampleOf(f, p.examples)
	switch {
	case e == nil:
		p.errs = append(p.errs, fmt.Errorf("field %s has no example: docs/examples/%s.yaml", f.path, strings.ReplaceAll(f.path, "[]", "")))
	case !e.used:
		p.WriteString("\n" + e.block())
	default:
		fmt.Fprintf(p, "\nExample: [%s](#%s).\n", e.name, e.anchor())
	}
}

// sentence is the kind and limits of a field, and its comment as a sentence.
func sentence(f field) string {
	about := []string{f.kind, "optional"}
	if f.required {
		about[1] = "required"
	}
	about = append(about, f.limits...)
	return fmt.Sprintf("*%s.* %s", strings.Join(about, ", "), "`"+f.name()+"`"+strings.TrimPrefix(f.doc, f.name()))
}

// name is the last part of the path.
func (f field) name() string {
	return strings.TrimSuffix(f.path[strings.LastIndex(f.path, ".")+1:], "[]")
}

// block is the example with a line that can be linked to.
func (e *example) block() string {
	e.used = true
	return fmt.Sprintf("<a id=%q></a>[examples/%s.yaml](examples/%s.yaml)\n\n```yaml\n%s```\n", e.anchor(), e.name, e.name, e.text)
}

func (e *example) anchor() string { return "example-" + e.name }

// anchor is what GitHub makes of a heading.
func anchor(path string) string {
	return strings.ToLower(regexp.MustCompile(`[^\w-]`).ReplaceAllString(path, ""))
}

func sortedKeys(m map[string]*example) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
