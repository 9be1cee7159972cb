package manager

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
)

// Sources say where policies come from that may change while Ambit runs.
type Sources struct {
	// Files are files and folders; `-` is In, which is read once. They are read again
	// when they change.
	Files []string
	In    io.Reader
	// RetireRemovedFiles is as in policysource.Options: a policy that is removed from Files is
	// cleaned up after. Else it is stopped, and what it made stays.
	RetireRemovedFiles bool
	// CustomResources and ConfigMaps say whether those are read.
	CustomResources, ConfigMaps bool
	// Namespace is Ambit's own. Required for CustomResources and ConfigMaps.
	Namespace string
	// Schemas is as in policysource.Options; nil: fields are not checked.
	Schemas func(context.Context, []schema.GroupVersionKind) policy.Schemas
	// Compiled is as in policysource.Options; nil: nothing is compiled yet.
	Compiled func(file string, text []byte) []*policy.Program
	// Functions are those of Go that these policies may call; nil: none. Programs of Options are
	// compiled with theirs.
	Functions *policy.Functions
}

// sourceKinds are the kinds of sources that are read. Programs that are given come from files.
func (s *Sources) sourceKinds() []manifest.Kind {
	if s == nil {
		return []manifest.Kind{manifest.File}
	}
	var kinds []manifest.Kind
	for kind, read := range map[manifest.Kind]bool{manifest.File: len(s.Files) > 0, manifest.CustomResource: s.CustomResources, manifest.ConfigMap: s.ConfigMaps} {
		if read {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// newSource makes the sources of policies; nil if there are none.
func (p *process) newSource(made *parts) (*policysource.Source, error) {
	from := p.options.Sources
	if from == nil {
		return nil, nil
	}
	client, err := p.policyWriter()
	if err != nil {
		return nil, fmt.Errorf("preparing the sources of policies: %w", err)
	}
	s, err := policysource.New(policysource.Options{
		Files: from.Files, In: from.In, RetireRemovedFiles: from.RetireRemovedFiles, CustomResources: from.CustomResources, ConfigMaps: from.ConfigMaps,
		Namespace: from.Namespace, Namespaces: p.options.Namespaces,
		Informers: made.streams, Access: made.reviewer, Client: client,
		Schemas: from.Schemas, Compiled: from.Compiled, Functions: from.Functions, Controller: runner{made.controller}, Recorder: p.recorder, Logger: p.log.WithName("source"),
	})
	if err != nil {
		return nil, fmt.Errorf("preparing the sources of policies: %w", err)
	}
	return s, nil
}

// runner is the engine as the sources see it.
type runner struct{ *controller.Controller }

var _ policysource.Controller = runner{}

// Reports implements policysource.Controller.
func (r runner) Reports() []policystatus.Report {
	reports := r.Controller.Reports()
	list := make([]policystatus.Report, len(reports))
	for i, report := range reports {
		list[i] = policystatus.Report{
			Policy: report.Policy, Serving: report.Serving, Nowhere: report.Nowhere,
			Ready: report.Owners.Ready, Progressing: report.Owners.Progressing, Stalled: report.Owners.Stalled,
			Denied: accessOf(report.Denied), PolicyError: policyErrorOf(report.PolicyError),
		}
	}
	return list
}

func accessOf(denied []controller.Denial) []v1alpha1.DeniedAccess {
	var list []v1alpha1.DeniedAccess
	for _, d := range denied {
		list = append(list, d.DeniedAccess)
	}
	return list
}

func policyErrorOf(h *controller.PolicyError) *policystatus.PolicyError {
	if h == nil {
		return nil
	}
	return &policystatus.PolicyError{Reason: h.Reason, Message: h.Message}
}
