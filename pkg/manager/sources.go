package manager

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/engine"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/source"
)

// Sources say where policies come from that may change while Ambit runs.
type Sources struct {
	// Files are files and folders; `-` is In, which is read once. They are read again
	// when they change.
	Files []string
	In    io.Reader
	// RetireRemovedFiles is as in source.Options: a policy that is removed from Files is
	// cleaned up after. Else it is stopped, and what it made stays.
	RetireRemovedFiles bool
	// CustomResources and ConfigMaps say whether those are read.
	CustomResources, ConfigMaps bool
	// Namespace is Ambit's own. Required for CustomResources and ConfigMaps.
	Namespace string
	// Schemas is as in source.Options; nil: fields are not checked.
	Schemas func(context.Context, []schema.GroupVersionKind) policy.Schemas
}

// kinds are the kinds of sources that are read. Programs that are given come from files.
func (s *Sources) kinds() []source.Kind {
	if s == nil {
		return []source.Kind{source.File}
	}
	var kinds []source.Kind
	for kind, read := range map[source.Kind]bool{source.File: len(s.Files) > 0, source.CustomResource: s.CustomResources, source.ConfigMap: s.ConfigMaps} {
		if read {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// newSource makes the sources of policies; nil if there are none.
func (p *process) newSource(made *parts) (*source.Source, error) {
	from := p.options.Sources
	if from == nil {
		return nil, nil
	}
	client, err := p.policyWriter()
	if err != nil {
		return nil, fmt.Errorf("preparing the sources of policies: %w", err)
	}
	s, err := source.New(source.Options{
		Files: from.Files, In: from.In, RetireRemovedFiles: from.RetireRemovedFiles, CustomResources: from.CustomResources, ConfigMaps: from.ConfigMaps,
		Namespace: from.Namespace, Namespaces: p.options.Namespaces,
		Streams: made.streams, Access: made.reviewer, Client: client,
		Schemas: from.Schemas, Engine: runner{made.engine}, Recorder: p.recorder, Logger: p.log.WithName("source"),
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the sources of policies: %w", err)
	}
	return s, nil
}

// runner is the engine as the sources see it.
type runner struct{ *engine.Engine }

var _ source.Engine = runner{}

// Reports implements source.Engine.
func (r runner) Reports() []source.Report {
	reports := r.Engine.Reports()
	list := make([]source.Report, len(reports))
	for i, report := range reports {
		list[i] = source.Report{
			Policy: report.Policy, Serving: report.Serving, Nowhere: report.Nowhere,
			Ready: report.Owners.Ready, Progressing: report.Owners.Progressing, Stalled: report.Owners.Stalled,
			Denied: accesses(report.Denied), Halt: haltOf(report.Halt),
		}
	}
	return list
}

func accesses(denied []engine.Denial) []v1alpha1.DeniedAccess {
	var list []v1alpha1.DeniedAccess
	for _, d := range denied {
		list = append(list, d.DeniedAccess)
	}
	return list
}

func haltOf(h *engine.Halt) *source.Halt {
	if h == nil {
		return nil
	}
	return &source.Halt{Reason: h.Reason, Message: h.Message}
}
