package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"sigs.k8s.io/yaml"
)

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

// newTableWriter aligns columns that are separated by tabs, as kubectl does. Flush writes them.
func newTableWriter(w io.Writer) *tabwriter.Writer {
	const minWidth, tabWidth, padding = 6, 4, 3
	return tabwriter.NewWriter(w, minWidth, tabWidth, padding, ' ', 0)
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

// progressEvery is how long a command is silent at most while it waits.
const progressEvery = time.Second

// showProgress writes what text returns to w each second, unless it is empty, until stop is
// called, which returns when no more is written. text is called in another
// goroutine. What takes less than a second writes nothing.
func showProgress(w io.Writer, text func() string) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
				if now := text(); now != "" {
					fmt.Fprintln(w, now)
				}
			}
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}

// joinNames is a list of names in words.
func joinNames(names []string) string { return strings.Join(names, ", ") }

// pluralize returns `1 mistake`, `2 mistakes`.
func pluralize(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// joinAlternatives is a list in words: `a, b or c`.
func joinAlternatives(list []string) string {
	last := len(list) - 1
	return fmt.Sprintf("%s or %s", joinNames(list[:last]), list[last])
}
