package listwatch

import (
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func statusError(code int32, reason metav1.StatusReason) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: http.StatusText(int(code)),
	}}
}

func TestClassify(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	tooLarge := apierrors.NewTimeoutError("Too large resource version: 9, current: 8", 1)
	cases := map[string]struct {
		reason     string
		err        error
		class      Class
		word       string
		notInitial bool // the list that comes instead of a list inside the watch decides
	}{
		"Expired":           {"the Reflector lists anew", apierrors.NewResourceExpired("old"), Expired, "Expired", false},
		"Gone":              {"as old API servers say it", statusError(http.StatusGone, metav1.StatusReasonGone), Expired, "Gone", false},
		"TooLarge":          {"another API server is behind", tooLarge, Expired, "Timeout", false},
		"Forbidden":         {"no permission", apierrors.NewForbidden(things, "", errors.New("no")), Forbidden, "Forbidden", false},
		"Unauthorized":      {"no such identity", apierrors.NewUnauthorized("who?"), Unauthenticated, "Unauthorized", false},
		"NotFound":          {"no such resource", apierrors.NewNotFound(things, ""), Missing, "NotFound", false},
		"BadRequest":        {"a selector that is not supported", apierrors.NewBadRequest("no"), Invalid, "BadRequest", true},
		"MethodNotAllowed":  {"it cannot be listed either", apierrors.NewMethodNotSupported(things, "list"), Invalid, "MethodNotAllowed", false},
		"Unprocessable":     {"options that are not known", statusError(422, metav1.StatusReasonInvalid), Invalid, "Invalid", true},
		"TooManyRequests":   {"it is busy", apierrors.NewTooManyRequests("busy", 1), Degraded, "TooManyRequests", false},
		"InternalError":     {"it may pass", apierrors.NewInternalError(errors.New("oh")), Degraded, "InternalError", false},
		"Wrapped":           {"an answer inside another error", fmt.Errorf("listing: %w", apierrors.NewNotFound(things, "")), Missing, "NotFound", false},
		"ConnectionRefused": {"nobody is there", fmt.Errorf("dial tcp: %w", syscall.ECONNREFUSED), Degraded, "ConnectionRefused", false},
		"Unreachable":       {"no answer", errEnded, Degraded, "Unreachable", false},
		"Unknown":           {"an answer without a reason", statusError(599, ""), Degraded, "Unknown", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if v := Classify(c.err); v.Class != c.class || v.Reason != c.word || !errors.Is(v.Err, c.err) {
				t.Errorf("%s: %+v, want class %q for reason %s", c.reason, v, c.class, c.word)
			}
			if got := refusesInitial(c.err); got != c.notInitial {
				t.Errorf("%s: refuses the list inside a watch: %t, want %t", c.reason, got, c.notInitial)
			}
		})
	}
}

func TestFinal(t *testing.T) {
	for class, want := range map[Class]bool{
		Expired: false, Degraded: false, Forbidden: true, Unauthenticated: true, Missing: true, Invalid: true,
	} {
		if class.IsFinal() != want {
			t.Errorf("%q is final: %t, want %t", class, class.IsFinal(), want)
		}
	}
}
