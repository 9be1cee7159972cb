package cluster

import "time"

// Stages of a request. A watch has a line for each, all others have only the
// second.
const (
	stageStarted  = "ResponseStarted"
	stageComplete = "ResponseComplete"
)

// Request is one line of the audit log.
type Request struct {
	// Verb is as in RBAC: get, list, watch, create, update, patch, delete,
	// deletecollection.
	Verb string
	// User is who the request was done as; with impersonation, not who asked.
	User      string
	UserAgent string
	// Group is empty for the core group. Resource is the plural, empty for
	// requests that are not of a resource, such as discovery.
	Group, Resource, Subresource string
	// Namespace is empty for what is cluster-scoped or of all namespaces.
	Namespace string
	// Name may be empty for a create whose name is in its body only.
	Name string
	// Code is the HTTP status. Message says why a request was refused; else it may be empty.
	Code    int
	Message string
	// Stage is "ResponseStarted" when a watch opens and "ResponseComplete" when
	// a request or a watch has ended.
	Stage string
	URI   string
	// Time is when the API server received the request, Logged when it came to
	// Stage.
	Time, Logged time.Time

	id string // the same in all lines of one request
}

// IsWatch says whether this is the opening or the end of a watch.
func (r Request) IsWatch() bool { return r.Verb == "watch" }

// IsWatchOpened says whether this is a watch that the server accepted.
func (r Request) IsWatchOpened() bool {
	return r.IsWatch() && r.Stage == stageStarted && r.Code < 300
}

// IsWatchClosed says whether this is the end of a watch, also of a refused one.
func (r Request) IsWatchClosed() bool { return r.IsWatch() && r.Stage != stageStarted }

// IsRead says whether this is a get or a list of a resource.
func (r Request) IsRead() bool {
	return r.Resource != "" && (r.Verb == "get" || r.Verb == "list")
}

// IsWrite says whether this is a request to change something, refused or not.
// Access reviews count: they are creates.
func (r Request) IsWrite() bool {
	switch r.Verb {
	case "create", "update", "patch", "delete", "deletecollection":
		return true
	}
	return false
}

// moment is when the line says that something happened. For a watch each stage
// is something; any other request happens when it is received, so that one that
// was answered before a mark never counts after it, however late its line is.
func (r Request) moment() time.Time {
	if r.IsWatch() {
		return r.Logged
	}
	return r.Time
}

// event is a line of the log, as far as it is needed.
type event struct {
	AuditID    string
	Stage      string
	RequestURI string
	Verb       string
	User       struct{ Username string }
	// ImpersonatedUser is nil when the user acts as themself.
	ImpersonatedUser *struct{ Username string }
	UserAgent        string
	ObjectRef        struct {
		Resource, Namespace, Name, APIGroup, Subresource string
	}
	ResponseStatus struct {
		Code    int
		Message string
	}
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
}

func (e event) request() Request {
	user := e.User.Username
	if e.ImpersonatedUser != nil {
		user = e.ImpersonatedUser.Username
	}
	return Request{
		Verb: e.Verb, User: user, UserAgent: e.UserAgent,
		Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Code: e.ResponseStatus.Code, Message: e.ResponseStatus.Message, Stage: e.Stage, URI: e.RequestURI,
		Time: e.RequestReceivedTimestamp, Logged: e.StageTimestamp, id: e.AuditID,
	}
}
