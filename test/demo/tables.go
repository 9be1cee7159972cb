package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/client-go/rest"
)

// getTable returns what `kubectl get` prints for all objects at an absolute path
// of the API: the API server itself makes the table.
func getTable(ctx context.Context, client rest.Interface, path string) (string, error) {
	table := &metav1.Table{}
	request := client.Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	data, err := request.Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("reading the table of %s: %w", path, err)
	}
	if err := json.Unmarshal(data, table); err != nil {
		return "", fmt.Errorf("decoding the table of %s: %w", path, err)
	}
	for i := range table.Rows {
		object := &table.Rows[i].Object
		if object.Object, err = runtime.Decode(unstructured.UnstructuredJSONScheme, object.Raw); err != nil {
			return "", fmt.Errorf("decoding the table of %s: %w", path, err)
		}
	}
	var b strings.Builder
	if err := printers.NewTablePrinter(printers.PrintOptions{WithNamespace: true}).PrintObj(table, &b); err != nil {
		return "", fmt.Errorf("printing the table of %s: %w", path, err)
	}
	return b.String(), nil
}

// conditionsTable shows an object's conditions as `kubectl describe` does.
func conditionsTable(object *unstructured.Unstructured) string {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "TYPE\tSTATUS\tREASON\tMESSAGE")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok {
			fmt.Fprintf(w, "%v\t%v\t%v\t%v\n", condition["type"], condition["status"], condition["reason"], condition["message"])
		}
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	return b.String()
}
