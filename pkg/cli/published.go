package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/schemas"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// publishedTimeout bounds each request for schemas: the start waits for them.
const publishedTimeout = 5 * time.Second

// readPublished returns the schemas that the API server publishes of kinds, and of others in their groups and
// versions. What is not to be had is not in it: policies run without, and the log says so.
func readPublished(ctx context.Context, config *rest.Config, kinds []schema.GroupVersionKind, log logr.Logger) policy.Schemas {
	versions := versionsIn(kinds)
	if len(versions) == 0 {
		return nil
	}
	config = rest.CopyConfig(config)
	config.Timeout = publishedTimeout
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		log.Info("fields of kinds are not checked", "reason", err.Error())
		return nil
	}
	documents, err := client.OpenAPIV3().Paths()
	if err != nil {
		log.Info("fields of kinds are not checked: the API server does not publish them", "reason", err.Error())
		return nil
	}
	var sets []schemas.Set
	for _, version := range versions {
		if ctx.Err() != nil {
			break
		}
		document, served := documents[documentOf(version)]
		if !served {
			continue
		}
		set, err := fetchSchemas(ctx, client.RESTClient(), document)
		if err != nil {
			log.Info("fields of kinds are not checked", "version", version.String(), "reason", err.Error())
			continue
		}
		sets = append(sets, set)
	}
	return schemas.JoinSets(sets...)
}

// fetchSchemas reads a document as it comes: one of Kubernetes' own has more than a megabyte.
func fetchSchemas(ctx context.Context, client rest.Interface, document openapi.GroupVersion) (schemas.Set, error) {
	body, err := client.Get().RequestURI(document.ServerRelativeURL()).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return schemas.Set{}, fmt.Errorf("fetching the schemas: %w", err)
	}
	defer body.Close()
	return schemas.FromOpenAPI(body)
}

// documentOf is the path of a version's document: `apis/apps/v1`, or `api/v1`.
func documentOf(version schema.GroupVersion) string {
	if version.Group == "" {
		return "api/" + version.Version
	}
	return "apis/" + version.String()
}

// versionsIn returns the groups and versions of kinds, each once, sorted.
func versionsIn(kinds []schema.GroupVersionKind) []schema.GroupVersion {
	found := make([]schema.GroupVersion, len(kinds))
	for i, kind := range kinds {
		found[i] = kind.GroupVersion()
	}
	slices.SortFunc(found, func(a, b schema.GroupVersion) int { return cmp.Compare(a.String(), b.String()) })
	return slices.Compact(found)
}
