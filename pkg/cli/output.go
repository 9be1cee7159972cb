package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"sigs.k8s.io/yaml"
)

// outputFlag is the value of -o: one of a fixed set of formats.
type outputFlag struct {
	value   *string
	allowed []string
}

var _ pflag.Value = outputFlag{}

// String implements pflag.Value.
func (f outputFlag) String() string {
	if f.value == nil {
		return ""
	}
	return *f.value
}

// Type implements pflag.Value.
func (f outputFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (f outputFlag) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("allowed are %s", strings.Join(f.allowed, ", "))
	}
	*f.value = s
	return nil
}

// addOutputFlag adds -o with the allowed formats to flags; the present value is
// the default.
func addOutputFlag(flags *pflag.FlagSet, value *string, allowed ...string) {
	flags.VarP(outputFlag{value: value, allowed: allowed}, "output", "o",
		"Output format: "+strings.Join(allowed, ", "))
}

// printData writes v as format, json or yaml.
func printData(w io.Writer, format string, v any) error {
	encode := yaml.Marshal
	if format == "json" {
		encode = func(v any) ([]byte, error) {
			data, err := json.MarshalIndent(v, "", "  ")
			return append(data, '\n'), err
		}
	}
	data, err := encode(v)
	if err != nil {
		return fmt.Errorf("encoding the result as %s: %w", format, err)
	}
	_, err = w.Write(data)
	return err
}

// printObjects writes objects so that kubectl can apply them: as YAML documents,
// or with format json as one v1 List.
func printObjects(w io.Writer, format string, objects []any) error {
	if format == "json" {
		items := append([]any{}, objects...)
		return printData(w, format, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	for i, object := range objects {
		if i > 0 {
			fmt.Fprintln(w, "---")
		}
		if err := printData(w, format, object); err != nil {
			return err
		}
	}
	return nil
}
