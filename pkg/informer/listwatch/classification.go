package listwatch

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

// Class is what an error means for an informer. Its text is that of the state which it leads
// to.
type Class string

const (
	// Expired: the API server does not have a resourceVersion. The Reflector mends that by
	// itself.
	Expired Class = ""
	// Degraded: it passes by itself.
	Degraded Class = "Degraded"
	// Forbidden: the identity may not do this (403). Final.
	Forbidden Class = "Forbidden"
	// Unauthenticated: the API server does not accept the identity (401). Final.
	Unauthenticated Class = "Unauthenticated"
	// Missing: the API server does not serve the resource (404). Final.
	Missing Class = "Missing"
	// Invalid: the API server refuses such a request (400, 405). Final.
	Invalid Class = "Invalid"
)

// IsFinal reports whether the API server has refused: the epoch is over.
func (c Class) IsFinal() bool {
	switch c {
	case Forbidden, Unauthenticated, Missing, Invalid:
		return true
	}
	return false
}

// Classification is what an answer of the API server means for an informer.
type Classification struct {
	Class Class
	// Reason is a CamelCase word for Err.
	Reason string
	Err    error
}

// Classify reads an answer that is an error.
func Classify(err error) Classification {
	v := Classification{Class: Degraded, Reason: ReasonOf(err), Err: err}
	switch {
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err), isTooLarge(err):
		v.Class = Expired
	case apierrors.IsForbidden(err):
		v.Class = Forbidden
	case apierrors.IsUnauthorized(err):
		v.Class = Unauthenticated
	case apierrors.IsNotFound(err):
		v.Class = Missing
	case refusesRequest(err):
		v.Class = Invalid
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

// ReasonOf returns one CamelCase word for an error.
func ReasonOf(err error) string {
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
