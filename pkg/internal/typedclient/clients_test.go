package typedclient

import (
	"net/http"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// TestLimit: a limit of requests holds for all clients together, and a config without one, or with a
// limiter, is left as it is.
func TestLimit(t *testing.T) {
	given := flowcontrol.NewFakeAlwaysRateLimiter()
	for name, c := range map[string]struct {
		config rest.Config
		none   bool
		want   flowcontrol.RateLimiter // nil: any
	}{
		"Limited":   {config: rest.Config{QPS: 3, Burst: 4}},
		"Unlimited": {config: rest.Config{QPS: -1}, none: true},
		"Given":     {config: rest.Config{QPS: 3, RateLimiter: given}, want: given},
	} {
		t.Run(name, func(t *testing.T) {
			before := c.config.RateLimiter
			clients, err := NewForConfigAndClient(&c.config, http.DefaultClient)
			if err != nil {
				t.Fatal(err)
			}
			limiter := clients.AuthorizationV1().RESTClient().GetRateLimiter()
			if (limiter == nil) != c.none || c.want != nil && limiter != c.want {
				t.Errorf("the limiter is %v", limiter)
			}
			for _, other := range []rest.Interface{clients.AuthenticationV1().RESTClient(), clients.CoreV1().RESTClient(), clients.RbacV1().RESTClient()} {
				if other.GetRateLimiter() != limiter {
					t.Error("a client has a limiter of its own")
				}
			}
			if c.config.RateLimiter != before {
				t.Error("the config was changed")
			}
		})
	}
	if _, err := NewForConfigAndClient(&rest.Config{QPS: 3}, http.DefaultClient); err == nil {
		t.Error("a limit without a burst is accepted")
	}
}
