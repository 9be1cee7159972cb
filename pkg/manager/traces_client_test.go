package manager

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// TestTraceSenderEnvironment: what the variables of OpenTelemetry say of where and how spans are sent.
func TestTraceSenderEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	const all, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	for name, tc := range map[string]struct {
		reason  string
		env     map[string]string
		url     string
		headers map[string]string
		timeout time.Duration
		err     string // a part of the error
	}{
		"Base":      {reason: "The endpoint of all signals is a base.", env: map[string]string{all + "ENDPOINT": "http://host:4318"}, url: "http://host:4318/v1/traces"},
		"BasePath":  {reason: "It may have a path.", env: map[string]string{all + "ENDPOINT": "https://host/otlp/"}, url: "https://host/otlp/v1/traces"},
		"Traces":    {reason: "That of traces is taken as it is, and goes first.", env: map[string]string{all + "ENDPOINT": "http://other", traces + "ENDPOINT": "https://host/in?key=1"}, url: "https://host/in?key=1"},
		"NoPath":    {reason: "Without a path it is the root.", env: map[string]string{traces + "ENDPOINT": "http://host"}, url: "http://host/"},
		"NoScheme":  {reason: "It is not guessed whether it is encrypted.", env: map[string]string{all + "ENDPOINT": "host:4318"}, err: "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL that begins with http:// or https://"},
		"Headers":   {reason: "Values are encoded, and may hold =.", env: map[string]string{all + "ENDPOINT": "http://host", all + "HEADERS": "Authorization=Basic%20eA==, x-team = a ,"}, url: "http://host/v1/traces", headers: map[string]string{"Authorization": "Basic eA==", "X-Team": "a"}},
		"BadHeader": {reason: "What is said does not hold the value, which may be a secret.", env: map[string]string{all + "ENDPOINT": "http://host", traces + "HEADERS": "secret"}, err: "OTEL_EXPORTER_OTLP_TRACES_HEADERS must be NAME=VALUE, separated by commas, and encoded as in URLs"},
		"Timeout":   {reason: "It is in milliseconds.", env: map[string]string{all + "ENDPOINT": "http://host", all + "TIMEOUT": "1500"}, url: "http://host/v1/traces", timeout: 1500 * time.Millisecond},
		"NoTimeout": {reason: "Another unit is a mistake.", env: map[string]string{all + "ENDPOINT": "http://host", all + "TIMEOUT": "10s"}, err: `OTEL_EXPORTER_OTLP_TIMEOUT is "10s"`},
		"Zip":       {reason: "Batches may be compressed.", env: map[string]string{all + "ENDPOINT": "http://host", traces + "COMPRESSION": "gzip"}, url: "http://host/v1/traces", headers: map[string]string{"Content-Encoding": "gzip"}},
		"OtherZip":  {reason: "But in one way only.", env: map[string]string{all + "ENDPOINT": "http://host", all + "COMPRESSION": "zstd"}, err: `"zstd": there are gzip and none`},
		"NoFile":    {reason: "A certificate that is not there is said.", env: map[string]string{all + "ENDPOINT": "https://host", all + "CERTIFICATE": file + "x"}, err: "reading OTEL_EXPORTER_OTLP_CERTIFICATE: open"},
		"NotOne":    {reason: "So is a file that holds none.", env: map[string]string{all + "ENDPOINT": "https://host", traces + "CERTIFICATE": file}, err: "there is no certificate in"},
		"BadPair":   {reason: "And a pair that is none.", env: map[string]string{all + "ENDPOINT": "https://host", all + "CLIENT_CERTIFICATE": file, all + "CLIENT_KEY": file}, err: "reading the client certificate for traces"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newTraceSender(envOf(tc.env))
			if err != nil || tc.err != "" {
				if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			headers := map[string]string{}
			for header := range s.headers {
				if header != "Content-Type" && header != "User-Agent" {
					headers[header] = s.headers.Get(header)
				}
			}
			if tc.headers == nil {
				tc.headers = map[string]string{}
			}
			if tc.timeout == 0 {
				tc.timeout = collectorTimeout
			}
			if diff := cmp.Diff(tc.headers, headers); diff != "" || s.url != tc.url || s.client.Timeout != tc.timeout {
				t.Errorf("%s\nit posts to %q within %s, want %q within %s; headers (-want +got):\n%s", tc.reason, s.url, s.client.Timeout, tc.url, tc.timeout, diff)
			}
		})
	}
}

// roundTrip answers requests in place of a server.
type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answerWith is an answer of a code, with a header and a text.
func answerWith(code int, retryAfter, text string) *http.Response {
	header := http.Header{}
	if retryAfter != "" {
		header.Set("Retry-After", retryAfter)
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Header: header, Body: io.NopCloser(strings.NewReader(text))}
}

// TestUploadTraces: a batch is sent as it is, and again only if it may be accepted then.
func TestUploadTraces(t *testing.T) {
	batch := []*tracev1.ResourceSpans{{SchemaUrl: "a", ScopeSpans: []*tracev1.ScopeSpans{{Spans: []*tracev1.Span{{Name: "one"}}}}}}
	unreachable := errors.New("connection refused")
	for name, tc := range map[string]struct {
		reason string
		codes  []int // of the answers; 0: there is none; the last one is repeated
		after  string
		zip    bool
		// abandoned is after how long it is; 0: it is not.
		abandoned time.Duration
		sent      int
		took      time.Duration
		err       string
	}{
		"Accepted": {reason: "Once is enough.", codes: []int{200}, sent: 1},
		"Zipped":   {reason: "It is whole when it is unpacked.", codes: []int{202}, zip: true, sent: 1},
		"Busy":     {reason: "It is sent again.", codes: []int{503, 429, 200}, sent: 3, took: 3 * time.Second},
		"Asked":    {reason: "Not before the collector says.", codes: []int{429, 200}, after: "20", sent: 2, took: 20 * time.Second},
		"Starting": {reason: "A collector that is not there may come.", codes: []int{0, 200}, sent: 2, took: time.Second},
		"Gone":     {reason: "But not for ever.", codes: []int{0}, sent: 5, took: 15 * time.Second, err: "connection refused"},
		"Refused":  {reason: "What is wrong stays wrong.", codes: []int{400, 200}, sent: 1, err: "the collector answers Bad Request: what is this"},
		"Stopped":  {reason: "Nothing goes on when the process ends.", codes: []int{503}, abandoned: 5 * time.Second, sent: 3, took: 5 * time.Second, err: "context canceled"},
		"Late":     {reason: "Nobody waits longer than he has time.", codes: []int{503}, after: "60", sent: 1, took: 30 * time.Second, err: "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &traceSender{url: "http://host/v1/traces", headers: http.Header{"X-Team": {"a"}}, zip: tc.zip, abandoned: t.Context()}
				if tc.abandoned != 0 {
					abandoned, cancel := context.WithTimeout(t.Context(), tc.abandoned)
					defer cancel()
					s.abandoned = abandoned
				}
				sent := 0
				s.client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					body := io.Reader(r.Body)
					if tc.zip {
						unzipped, err := gzip.NewReader(r.Body)
						if err != nil {
							t.Fatal(err)
						}
						body = unzipped
					}
					data, err := io.ReadAll(body)
					var got collectorv1.ExportTraceServiceRequest
					if err != nil || proto.Unmarshal(data, &got) != nil || r.Header.Get("X-Team") != "a" {
						t.Errorf("it sent %q, %v, with the headers %v", data, err, r.Header)
					}
					if want := (&collectorv1.ExportTraceServiceRequest{ResourceSpans: batch}); !proto.Equal(want, &got) {
						t.Errorf("it sent %v, want %v", &got, want)
					}
					code := tc.codes[min(sent, len(tc.codes)-1)]
					sent++
					if code == 0 {
						return nil, unreachable
					}
					return answerWith(code, tc.after, "what is this"), nil
				})}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				began := time.Now()
				err := s.UploadTraces(ctx, batch)
				if took := time.Since(began); sent != tc.sent || took != tc.took {
					t.Errorf("%s\nit was sent %d times in %s, want %d times in %s", tc.reason, sent, took, tc.sent, tc.took)
				}
				if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
			})
		})
	}
}
