package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/schemas"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// schemaReader gets schemas from the API server. Safe for concurrent use.
type schemaReader struct {
	config *rest.Config
	log    logr.Logger

	mu    sync.Mutex // guards what is below; held over no request
	first []schema.GroupVersion
	known policy.Schemas // of first: what the start has read is not read again by the first source
	until time.Time      // known is not used after: a replica may wait for long before it has sources
}

func newSchemas(config *rest.Config, log logr.Logger) *schemaReader {
	return &schemaReader{config: config, log: log}
}

// keepSchemas is how long what the start has read is used.
const keepSchemas = 30 * time.Second

// atStart is of before there are sources: it keeps what it returns for the first of them.
func (r *schemaReader) atStart(ctx context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
	read := r.schemasOf(ctx, kinds)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first, r.known, r.until = versionsIn(kinds), read, time.Now().Add(keepSchemas)
	return read
}

// schemasOf returns the schemas of kinds, as published does.
func (r *schemaReader) schemasOf(ctx context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
	versions := versionsIn(kinds)
	if len(versions) == 0 {
		return nil
	}
	if known := r.takeFirstRead(versions); known != nil {
		return known
	}
	return readPublished(ctx, r.config, versions, r.log)
}

// takeFirstRead returns what the start has read, if that is for the same versions, once: later it may
// be old.
func (r *schemaReader) takeFirstRead(versions []schema.GroupVersion) policy.Schemas {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.known
	r.known = nil
	if !slices.Equal(versions, r.first) || time.Now().After(r.until) {
		return nil
	}
	return known
}

// publishedTimeout bounds each request for schemas: the start waits for them.
const publishedTimeout = 5 * time.Second

// readPublished returns the schemas that the API server publishes of these groups and
// versions. What is not to be had is not in it: policies run
// without, and the log says so.
func readPublished(ctx context.Context, config *rest.Config, versions []schema.GroupVersion, log logr.Logger) policy.Schemas {
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
		set, err := fetchSchemas(document)
		if err != nil {
			log.Info("fields of kinds are not checked", "version", version.String(), "reason", err.Error())
			continue
		}
		sets = append(sets, set)
	}
	return schemas.JoinSets(sets...)
}

func fetchSchemas(document openapi.GroupVersion) (schemas.Set, error) {
	text, err := document.Schema("application/json")
	if err != nil {
		return schemas.Set{}, fmt.Errorf("fetching the schemas: %w", err)
	}
	return schemas.FromOpenAPI(text)
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
