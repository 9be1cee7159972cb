package manager

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ambit-dev/ambit/pkg/internal/backoff"
)

const (
	// collectorTimeout bounds one request, as OpenTelemetry says where nothing else does.
	collectorTimeout = 10 * time.Second
	// collectorAttempts is how often a batch is sent, while the collector asks for that or is not to be reached.
	collectorAttempts = 5
	// collectorAnswer is how much of an answer is read, in bytes.
	collectorAnswer = 4 << 10
)

// traceSender sends spans by OTLP over HTTP. It is an otlptrace.Client of our own because OpenTelemetry's
// for HTTP comes with gRPC: 91 packages that are never used. It is safe for concurrent use.
type traceSender struct {
	url     string
	headers http.Header
	zip     bool
	client  *http.Client
	// abandoned ends what is being sent, and what waits to be sent again.
	abandoned context.Context
	abandon   context.CancelFunc
}

var _ otlptrace.Client = (*traceSender)(nil)

// newTraceSender reads how to reach the collector from the environment variables of OpenTelemetry,
// OTEL_EXPORTER_OTLP_TRACES_* before OTEL_EXPORTER_OTLP_*: ENDPOINT, HEADERS, TIMEOUT, COMPRESSION,
// CERTIFICATE, CLIENT_CERTIFICATE and CLIENT_KEY. The first that cannot be understood is an error.
func newTraceSender(getenv func(string) string) (*traceSender, error) {
	s := &traceSender{headers: http.Header{"Content-Type": {"application/x-protobuf"}, "User-Agent": {"OTel OTLP Exporter Go/" + otlptrace.Version()}}}
	env := func(name string) (variable, value string) {
		for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
			if value := strings.TrimSpace(getenv(prefix + name)); value != "" {
				return prefix + name, value
			}
		}
		return "", ""
	}
	var err error
	if s.url, err = collectorURL(env("ENDPOINT")); err != nil {
		return nil, err
	}
	variable, headers := env("HEADERS")
	for pair := range strings.SplitSeq(headers, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil {
			return nil, fmt.Errorf("%s must be NAME=VALUE, separated by commas, and encoded as in URLs", variable) // a value may be a secret
		}
		s.headers.Set(strings.TrimSpace(name), value)
	}
	switch variable, value := env("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		s.zip = true
		s.headers.Set("Content-Encoding", "gzip")
	default:
		return nil, fmt.Errorf("%s is %q: there are gzip and none", variable, value)
	}
	transport, err := collectorTransport(env)
	if err != nil {
		return nil, err
	}
	timeout := collectorTimeout
	if variable, value := env("TIMEOUT"); value != "" {
		milliseconds, err := strconv.Atoi(value)
		if err != nil || milliseconds <= 0 {
			return nil, fmt.Errorf("%s is %q: it must be a number of milliseconds", variable, value)
		}
		timeout = time.Duration(milliseconds) * time.Millisecond
	}
	s.client = &http.Client{Transport: transport, Timeout: timeout}
	s.abandoned, s.abandon = context.WithCancel(context.Background())
	return s, nil
}

// collectorURL returns where spans are posted: at the endpoint of traces itself, or below one for all signals.
func collectorURL(variable, value string) (string, error) {
	at, err := url.Parse(value)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", fmt.Errorf("%s must be a URL that begins with http:// or https://", variable) // it may hold a password
	}
	if !strings.HasSuffix(variable, "_TRACES_ENDPOINT") {
		return at.JoinPath("v1", "traces").String(), nil
	}
	if at.Path == "" {
		at.Path = "/"
	}
	return at.String(), nil
}

// collectorTransport is Go's, with the certificates that the environment names.
func collectorTransport(env func(name string) (variable, value string)) (*http.Transport, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if variable, file := env("CERTIFICATE"); file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", variable, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("reading %s: there is no certificate in %s", variable, file)
		}
	}
	_, certificate := env("CLIENT_CERTIFICATE")
	_, key := env("CLIENT_KEY")
	if certificate != "" && key != "" {
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("reading the client certificate for traces: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport.TLSClientConfig = config
	return transport, nil
}

// Start implements otlptrace.Client.
func (s *traceSender) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. The exporter calls it when all has been sent, and sends nothing afterwards.
func (s *traceSender) Stop(context.Context) error {
	s.abandon()
	s.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It sends again, within ctx and until s is abandoned, while the
// collector asks for that or is not to be reached.
func (s *traceSender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.abandoned, cancel)()
	body, err := s.encode(spans)
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	pause := backoff.Exponential{First: time.Second, Last: 30 * time.Second}
	for attempt := 1; ; attempt++ {
		after, again, err := s.post(ctx, body)
		if err == nil || !again || attempt == collectorAttempts {
			return err
		}
		select {
		case <-time.After(max(after, pause.After(attempt))):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// encode returns a request for spans. A TracesData has the form of an ExportTraceServiceRequest, whose
// package comes with gRPC.
func (s *traceSender) encode(spans []*tracepb.ResourceSpans) ([]byte, error) {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil || !s.zip {
		return body, err
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return zipped.Bytes(), nil
}

// post sends one request. again: the same may be accepted later, not before after has passed.
func (s *traceSender) post(ctx context.Context, body []byte) (after time.Duration, again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	request.Header = s.headers.Clone()
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, ctx.Err() == nil, err
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, collectorAnswer))
	switch code := answer.StatusCode; code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		after, again = time.Duration(seconds)*time.Second, true
	default:
		if code/100 == 2 {
			return 0, false, nil
		}
	}
	return after, again, fmt.Errorf("the collector answers %s: %s", answer.Status, strings.TrimSpace(string(text)))
}
