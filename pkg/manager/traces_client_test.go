package manager

import (
	"compress/gzip"
	"context"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		"OwnType":   {reason: "What is sent stays what it is.", env: map[string]string{all + "ENDPOINT": "http://host", all + "HEADERS": "content-type=text/plain,content-encoding=br"}, url: "http://host/v1/traces"},
		"BadName":   {reason: "Each batch would fail by it.", env: map[string]string{all + "ENDPOINT": "http://host", all + "HEADERS": "x team=secret"}, err: `OTEL_EXPORTER_OTLP_HEADERS: "x team" cannot be the name of a header`},
		"NoName":    {reason: "So it would without a name.", env: map[string]string{all + "ENDPOINT": "http://host", all + "HEADERS": "=secret"}, err: `OTEL_EXPORTER_OTLP_HEADERS: "" cannot be the name of a header`},
		"BadValue":  {reason: "Or by such a value.", env: map[string]string{all + "ENDPOINT": "http://host", all + "HEADERS": "x-team=a%0Ab"}, err: "OTEL_EXPORTER_OTLP_HEADERS: the value of x-team has a character that no header may have"},
		"Blank":     {reason: "What is blank is not set, and the variable is named.", env: map[string]string{traces + "ENDPOINT": " "}, err: "OTEL_EXPORTER_OTLP_ENDPOINT must be a URL"},
		"NoKey":     {reason: "A certificate without its key is of no use.", env: map[string]string{all + "ENDPOINT": "https://host", all + "CLIENT_CERTIFICATE": file}, err: "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY go together"},
		"OtherKey":  {reason: "Its key is the one beside it.", env: map[string]string{all + "ENDPOINT": "https://host", traces + "CLIENT_KEY": file, all + "CLIENT_CERTIFICATE": file}, err: "OTEL_EXPORTER_OTLP_TRACES_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY go together"},
		"Zip":       {reason: "Batches may be compressed.", env: map[string]string{all + "ENDPOINT": "http://host", traces + "COMPRESSION": "gzip"}, url: "http://host/v1/traces", headers: map[string]string{"Content-Encoding": "gzip"}},
		"OtherZip":  {reason: "But in one way only.", env: map[string]string{all + "ENDPOINT": "http://host", all + "COMPRESSION": "zstd"}, err: `"zstd": there are gzip and none`},
		"NoFile":    {reason: "A certificate that is not there is said.", env: map[string]string{all + "ENDPOINT": "https://host", all + "CERTIFICATE": file + "x"}, err: "reading OTEL_EXPORTER_OTLP_CERTIFICATE: open"},
		"NotOne":    {reason: "So is a file that holds none.", env: map[string]string{all + "ENDPOINT": "https://host", traces + "CERTIFICATE": file}, err: "there is no certificate in"},
		"BadPair":   {reason: "And a pair that is none.", env: map[string]string{all + "ENDPOINT": "https://host", all + "CLIENT_CERTIFICATE": file, all + "CLIENT_KEY": file}, err: "reading OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: "},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newTraceSender(envOf(tc.env))
			if err != nil || tc.err != "" {
				if err == nil || tc.err == "" || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if kind := s.headers.Get("Content-Type"); kind != "application/x-protobuf" {
				t.Errorf("%s\nit sends %s", tc.reason, kind)
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
	unreachable := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		reason string
		codes  []int // of the answers; 0: there is none; the last one is repeated
		after  string
		fails  error // why there is no answer; nil: nobody listens
		gzip   bool
		// stopped is after how long it is; 0: it is not.
		stopped time.Duration
		sent    int
		took    time.Duration
		err     string
	}{
		"Accepted": {reason: "Once is enough.", codes: []int{200}, sent: 1},
		"Zipped":   {reason: "It is whole when it is unpacked.", codes: []int{202}, gzip: true, sent: 1},
		"Busy":     {reason: "It is sent again.", codes: []int{503, 429, 200}, sent: 3, took: 3 * time.Second},
		"Asked":    {reason: "Not before the collector says.", codes: []int{429, 200}, after: "20", sent: 2, took: 20 * time.Second},
		"Starting": {reason: "A collector that is not there may come.", codes: []int{0, 200}, sent: 2, took: time.Second},
		"Gone":     {reason: "But not for ever.", codes: []int{0}, sent: 5, took: 15 * time.Second, err: "connection refused"},
		"Lost":     {reason: "Nor is a connection that is lost.", codes: []int{0, 200}, fails: io.EOF, sent: 2, took: time.Second},
		"Slow":     {reason: "Nor is a collector that is slow.", codes: []int{0, 200}, fails: os.ErrDeadlineExceeded, sent: 2, took: time.Second},
		"Foreign":  {reason: "One that is not to be trusted stays so.", codes: []int{0, 200}, fails: x509.UnknownAuthorityError{}, sent: 1, err: "sending to http://host/v1/traces: x509: certificate signed by unknown authority"},
		"Refused":  {reason: "What is wrong stays wrong.", codes: []int{400, 200}, sent: 1, err: "the collector answers Bad Request: what is this"},
		"Stopped":  {reason: "Nothing goes on when the process ends.", codes: []int{503}, stopped: 5 * time.Second, sent: 3, took: 5 * time.Second, err: "context canceled"},
		"Late":     {reason: "Nobody waits longer than he has time.", codes: []int{503}, after: "60", sent: 1, took: 30 * time.Second, err: "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &traceSender{url: "http://user:secret@host/v1/traces?key=secret", headers: http.Header{"X-Team": {"a"}}, gzip: tc.gzip, stopped: make(chan struct{})}
				if tc.stopped != 0 {
					defer time.AfterFunc(tc.stopped, s.stopSending).Stop()
				}
				sent := 0
				s.client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					body := io.Reader(r.Body)
					if tc.gzip {
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
						if tc.fails != nil {
							return nil, tc.fails
						}
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
				if err != nil && strings.Contains(err.Error(), "secret") {
					t.Errorf("%s\nthe error tells a secret: %v", tc.reason, err)
				}
				if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s\ngot error %v, want %q", tc.reason, err, tc.err)
				}
			})
		})
	}
}

// TestPartialSuccess: spans that were not accepted with the others are said, and not sent again.
func TestPartialSuccess(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		answer *collectorv1.ExportTraceServiceResponse
		kind   string
		err    string
	}{
		"All":      {reason: "Nothing is said of nothing.", answer: &collectorv1.ExportTraceServiceResponse{}},
		"Some":     {reason: "How many, and why.", answer: partly(3, "too old"), err: "the collector rejected 3 spans: too old"},
		"NoReason": {reason: "It need not say why.", answer: partly(1, ""), err: "the collector rejected 1 spans: it does not say why"},
		"Warning":  {reason: "It may warn only.", answer: partly(0, "nearly full"), err: "the collector accepted the spans, and warns: nearly full"},
		"Text":     {reason: "Another kind of answer is not read.", answer: partly(3, "too old"), kind: "text/plain"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.kind == "" {
				tc.kind = "application/x-protobuf"
			}
			data, err := proto.Marshal(tc.answer)
			if err != nil {
				t.Fatal(err)
			}
			sent := 0
			s := &traceSender{url: "http://host/v1/traces", stopped: make(chan struct{})}
			s.client = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				sent++
				answer := answerWith(http.StatusOK, "", string(data))
				answer.Header.Set("Content-Type", tc.kind)
				return answer, nil
			})}
			got := ""
			if err := s.UploadTraces(t.Context(), nil); err != nil {
				got = err.Error()
			}
			if got != tc.err || sent != 1 {
				t.Errorf("%s\nit was sent %d times, error %q, want once, %q", tc.reason, sent, got, tc.err)
			}
		})
	}
	for _, cut := range []string{"\xff", "\x0a\x05\x08", "\x0a\x02\x12\x09", "\x0b"} {
		if err := partialSuccess("application/x-protobuf", []byte(cut)); err != nil {
			t.Errorf("of %q, which is not legible: %v", cut, err)
		}
	}
}

// partly is an answer to a batch that was accepted in part.
func partly(rejected int64, why string) *collectorv1.ExportTraceServiceResponse {
	return &collectorv1.ExportTraceServiceResponse{PartialSuccess: &collectorv1.ExportTracePartialSuccess{RejectedSpans: rejected, ErrorMessage: why}}
}
