package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// event is what is read of an event of a watch on owners or children.
type event struct {
	Type   string `json:"type"`
	Object struct {
		Kind     string `json:"kind"`
		Message  string `json:"message"`
		Metadata struct {
			Namespace  string `json:"namespace"`
			Name       string `json:"name"`
			Generation int64  `json:"generation"`
			Version    string `json:"resourceVersion"`
		} `json:"metadata"`
		Spec struct {
			Size     int64 `json:"size"`
			Replicas int64 `json:"replicas"`
		} `json:"spec"`
		Status struct {
			Conditions []condition `json:"conditions"`
		} `json:"status"`
	} `json:"object"`
}

// condition is what is read of a condition.
type condition struct {
	Type               string `json:"type"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// kindDeployment is the kind of children that has the size of its owner.
const kindDeployment = "Deployment"

// change returns p as it is after the event. kinds are those of the children.
func (e event) change(p pair, kinds map[string]childSet) pair {
	gone := e.Type == "DELETED"
	if kind := kinds[e.Object.Kind]; kind != 0 {
		p.children |= kind
		if gone {
			p.children &^= kind
		}
		if e.Object.Kind == kindDeployment {
			p.replicas = e.Object.Spec.Replicas
			if gone {
				p.replicas = 0
			}
		}
		return p
	}
	p.size, p.generation, p.reported = e.Object.Spec.Size, e.Object.Metadata.Generation, e.reported()
	if gone {
		p.size, p.generation, p.reported = 0, 0, 0
	}
	return p
}

// reported returns the generation that the owner's status is about: that of
// condition Available, which every side writes.
func (e event) reported() int64 {
	for _, c := range e.Object.Status.Conditions {
		if c.Type == "Available" {
			return c.ObservedGeneration
		}
	}
	return 0
}

// follow sends the events of the collection at url to the observer until ctx
// ends. It blocks; the error is why it ended before that. A watch that the server
// ends, as it does when it cannot deliver events fast enough, goes on in another.
func follow(ctx context.Context, c *http.Client, url string, to *observer) error {
	for version := ""; ; {
		last, err := stream(ctx, c, url+"?watch=true&timeoutSeconds=86400&resourceVersion="+version, to)
		if err != nil {
			return fmt.Errorf("watching %q: %w", url, err)
		}
		if last == "" {
			return fmt.Errorf("watching %q: the server ends watches without an event", url)
		}
		version = last
	}
}

// stream sends the events of one watch until the server ends it, and returns the
// resourceVersion of the last, "" if there was none.
func stream(ctx context.Context, c *http.Client, url string, to *observer) (last string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", errors.New(res.Status)
	}
	for dec := json.NewDecoder(res.Body); ; {
		var e event
		if err := dec.Decode(&e); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return last, nil
		} else if err != nil {
			return "", err
		}
		if e.Type == "ERROR" {
			return "", errors.New(e.Object.Message)
		}
		last = e.Object.Metadata.Version
		to.see(e, time.Now())
	}
}
