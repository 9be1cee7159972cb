package manager

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
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
// for HTTP comes with gRPC: 91 packages that are never used. It is safe for concurrent use. newTraceSender makes one.
type traceSender struct {
	url     string
	headers http.Header
	gzip    bool
	client  *http.Client
	// stopped is closed by stop: it ends what is being sent, and what waits to be sent again.
	stopped  chan struct{}
	stopOnce sync.Once
}

var _ otlptrace.Client = (*traceSender)(nil)

// stopSending ends what is being sent, and what waits to be sent again.
func (s *traceSender) stopSending() { s.stopOnce.Do(func() { close(s.stopped) }) }

// Start implements otlptrace.Client.
func (s *traceSender) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client. The exporter calls it when all has been sent, and sends nothing afterwards.
func (s *traceSender) Stop(context.Context) error {
	s.stopSending()
	s.client.CloseIdleConnections()
	return nil
}

// UploadTraces implements otlptrace.Client. It sends again, within ctx and until s is stopped, while the
// collector asks for that or is not to be reached. Errors hold neither the user nor the query of the URL, which may be secret.
func (s *traceSender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	ctx, release := s.untilStopped(ctx)
	defer release()
	body, err := s.encodeSpans(spans)
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	pause := backoff.Exponential{First: time.Second, Last: 30 * time.Second}
	for attempt := 1; ; attempt++ {
		retryAfter, retry, err := s.postRequest(ctx, body)
		if err == nil || !retry || attempt == collectorAttempts {
			return err
		}
		select {
		case <-time.After(max(retryAfter, pause.WaitAfter(attempt))):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

// untilStopped returns a context that ends with ctx and when s is stopped. release must be called: it ends the context, and
// what waits for the stop.
func (s *traceSender) untilStopped(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-s.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-ended }
}

// encodeSpans returns a request for spans. A TracesData has the form of an ExportTraceServiceRequest, whose
// package comes with gRPC.
func (s *traceSender) encodeSpans(spans []*tracepb.ResourceSpans) ([]byte, error) {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil || !s.gzip {
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

// postRequest sends one request. retry: the same may be accepted later, not before retryAfter has passed.
func (s *traceSender) postRequest(ctx context.Context, body []byte) (retryAfter time.Duration, retry bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, s.withoutSecrets(err)
	}
	request.Header = s.headers.Clone()
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, ctx.Err() == nil && isConnectionError(err), s.withoutSecrets(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, collectorAnswer)) // the code says what became of the spans
	switch code := answer.StatusCode; code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		retryAfter, retry = time.Duration(seconds)*time.Second, true
	default:
		if code/100 == 2 {
			return 0, false, partialSuccess(answer.Header.Get("Content-Type"), text)
		}
	}
	return retryAfter, retry, fmt.Errorf("the collector answers %s: %s", answer.Status, strings.TrimSpace(string(text)))
}

// withoutSecrets is an error of a request with the collector's scheme, host and path in place of the URL.
func (s *traceSender) withoutSecrets(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	to, parseErr := url.Parse(s.url)
	if parseErr != nil {
		return fmt.Errorf("sending to the collector: %w", err)
	}
	return fmt.Errorf("sending to %s://%s%s: %w", to.Scheme, to.Host, to.EscapedPath(), err)
}

// Fields of an ExportTraceServiceResponse, and of the ExportTracePartialSuccess in it, whose package comes with gRPC.
const (
	fieldPartialSuccess protowire.Number = 1
	fieldRejectedSpans  protowire.Number = 1
	fieldErrorMessage   protowire.Number = 2
)

// partialSuccess returns an error if the answer to a batch that was accepted says that some of its spans were not. An answer
// that is not legible says nothing.
func partialSuccess(contentType string, answer []byte) error {
	if contentType != "application/x-protobuf" {
		return nil
	}
	var rejected uint64
	var why string
	eachField(answer, func(field protowire.Number, _ uint64, part []byte) {
		if field != fieldPartialSuccess {
			return
		}
		eachField(part, func(field protowire.Number, number uint64, text []byte) {
			switch field {
			case fieldRejectedSpans:
				rejected = number
			case fieldErrorMessage:
				why = string(text)
			}
		})
	})
	switch {
	case rejected > 0:
		return fmt.Errorf("the collector rejected %d spans: %s", rejected, cmp.Or(why, "it does not say why"))
	case why != "":
		return fmt.Errorf("the collector accepted the spans, and warns: %s", why)
	}
	return nil
}

// eachField calls f with the fields of a message until one is not legible: with the number if it is one, or the bytes.
func eachField(message []byte, f func(field protowire.Number, number uint64, data []byte)) {
	for len(message) > 0 {
		field, kind, length := protowire.ConsumeTag(message)
		if length < 0 {
			return
		}
		message = message[length:]
		var number uint64
		var data []byte
		switch kind {
		case protowire.VarintType:
			number, length = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			data, length = protowire.ConsumeBytes(message)
		default:
			length = protowire.ConsumeFieldValue(field, kind, message)
		}
		if length < 0 {
			return
		}
		f(field, number, data)
		message = message[length:]
	}
}
