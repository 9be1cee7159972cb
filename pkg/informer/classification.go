package informer

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// errEnded is the answer of a client that got a connection, but no response on
// it: client-go gives a watch that has ended already then.
var errEnded = errors.New("the connection was closed before the API server answered")

// classification is what an answer of the API server means for an informer.
type classification struct {
	// state is the final state, Degraded for what passes, "" for what the Reflector
	// mends by itself: a resourceVersion that the API server does not have.
	state  State
	reason string
	err    error
}

// classify reads an answer that is an error.
func classify(err error) classification {
	v := classification{state: Degraded, reason: reasonOf(err), err: err}
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), isTooLarge(err):
		v.state = ""
	case apierrors.IsForbidden(err):
		v.state = Forbidden
	case apierrors.IsUnauthorized(err):
		v.state = Unauthenticated
	case apierrors.IsNotFound(err):
		v.state = Missing
	case refusesRequest(err):
		v.state = Invalid
	}
	return v
}

// refusesRequest reports whether the same request will always be answered so.
func refusesRequest(err error) bool {
	switch codeOf(err) {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// refusesInitial reports whether the answer may be about asking for the first list
// inside the watch, which old and aggregated API servers do not know. Then the
// list that the Reflector falls back to decides.
func refusesInitial(err error) bool {
	return refusesRequest(err) && codeOf(err) != http.StatusMethodNotAllowed
}

// isUnreachable reports whether the API server gave no answer at all.
func isUnreachable(err error) bool { return codeOf(err) == 0 }

func codeOf(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// isTooLarge recognises a resourceVersion that the API server has not reached.
func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

// reasonOf is one CamelCase word for an error.
func reasonOf(err error) string {
	if reason := apierrors.ReasonForError(err); reason != metav1.StatusReasonUnknown {
		return string(reason)
	}
	switch {
	case utilnet.IsConnectionRefused(err):
		return "ConnectionRefused"
	case isUnreachable(err):
		return "Unreachable"
	}
	return "Unknown"
}
