package policysource

import (
	"context"
	"errors"
	"io"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/objectsource"
	"github.com/ambit-dev/ambit/pkg/policysource/statuswriter"
)

// Options are the inputs of New.
type Options struct {
	// Files are files and folders, as -f names them; `-` is In, which is read once.
	Files []string
	// RetireRemovedFiles has a policy cleaned up after when its text is removed from a file, or
	// with the file: 5 seconds after the first reading without it. Else it is stopped, and what
	// it made stays: see Stopped. A folder that is not there stops its policies in any case.
	RetireRemovedFiles bool
	// In is read for `-`; it may be nil if there is none.
	In io.Reader
	// CustomResources and ConfigMaps say whether those are read.
	CustomResources, ConfigMaps bool
	// Namespace is Ambit's own. Required where objects are read.
	Namespace string
	// Namespaces are where objects are read, beside Namespace, if they cannot be read in
	// all namespaces.
	Namespaces []string
	// Informers and Access are those of the controller; the caller starts them before, and
	// stops them after Start. Client writes as Ambit itself. Required where objects are
	// read.
	Informers *informer.Set
	Access    *access.Reviewer
	Client    dynamic.Interface
	// Schemas returns what is known of the fields of these kinds, of which some come more
	// than once; it is asked for those that policies name which are new, with and without
	// mistakes, one call at a time, and given up after 2 seconds. It ends soon after its
	// context. Nil: fields are not checked.
	Schemas func(context.Context, []schema.GroupVersionKind) policy.Schemas
	// Compiled returns the programs of a file in the order of its policies, if the caller has compiled this very
	// text already; else nil. It is called concurrently. Nil: there are none.
	Compiled func(file string, text []byte) []*policy.Program
	// Functions are those of Go that policies may call. Nil: none.
	Functions *policy.Functions
	// Controller runs the policies. Required.
	Controller Controller
	// Recorder makes events of ConfigMaps and custom resources. Nil: there are none.
	Recorder objectsource.Recorder
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
	// Clock is the time of everything here. Nil means the real one.
	Clock clock.Clock
}

// Controller is what runs policies: see the controller's own methods of these names.
type Controller interface {
	// Set makes it run these policies, and clean up after those, instead of what it
	// did before. The error says which cannot be together; nothing has changed then.
	Set(programs, retire []*policy.Program) error
	statuswriter.Reporter
}

func (o Options) checkSources() error {
	objects := o.CustomResources || o.ConfigMaps
	switch {
	case o.Controller == nil:
		return errors.New("making the sources of policies: Controller is required")
	case objects && (o.Informers == nil || o.Access == nil || o.Client == nil || o.Namespace == ""):
		return errors.New("making the sources of policies: Informers, Access, Client and Namespace are required for objects")
	case !objects && len(o.Files) == 0:
		return errors.New("making the sources of policies: there is none")
	}
	return nil
}
