package manager

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"golang.org/x/net/http/httpguts"
)

// collectorEnvironment reads the OTEL_EXPORTER_OTLP_* of traces. It is os.Getenv but in tests.
type collectorEnvironment func(name string) string

// variablePrefixes are those of the variables, in the order in which they count.
func (collectorEnvironment) variablePrefixes() []string {
	return []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"}
}

// lookupVariable returns the first variable of a name that is set, with its value without spaces around it; else two empty strings.
func (getenv collectorEnvironment) lookupVariable(name string) (variable, value string) {
	for _, prefix := range getenv.variablePrefixes() {
		if value := getenv.getVariable(prefix + name); value != "" {
			return prefix + name, value
		}
	}
	return "", ""
}

func (getenv collectorEnvironment) getVariable(variable string) string {
	return strings.TrimSpace(getenv(variable))
}

// newTraceSender reads how to reach the collector from the environment variables of OpenTelemetry,
// OTEL_EXPORTER_OTLP_TRACES_* before OTEL_EXPORTER_OTLP_*: ENDPOINT, HEADERS, TIMEOUT, COMPRESSION,
// CERTIFICATE, CLIENT_CERTIFICATE and CLIENT_KEY. The first that cannot be understood is an error, where OpenTelemetry's
// sender logs it and goes on without.
func newTraceSender(getenv collectorEnvironment) (*traceSender, error) {
	to, err := collectorURL(getenv.lookupVariable("ENDPOINT"))
	if err != nil {
		return nil, err
	}
	headers, err := collectorHeaders(getenv.lookupVariable("HEADERS"))
	if err != nil {
		return nil, err
	}
	isCompressed, err := collectorCompression(getenv.lookupVariable("COMPRESSION"))
	if err != nil {
		return nil, err
	}
	headers.Set("Content-Type", "application/x-protobuf")
	headers.Del("Content-Encoding")
	if isCompressed {
		headers.Set("Content-Encoding", "gzip")
	}
	timeout, err := requestTimeout(getenv.lookupVariable("TIMEOUT"))
	if err != nil {
		return nil, err
	}
	transport, err := collectorTransport(getenv)
	if err != nil {
		return nil, err
	}
	return &traceSender{
		url: to, headers: headers, gzip: isCompressed,
		client: &http.Client{Transport: transport, Timeout: timeout}, stopped: make(chan struct{}),
	}, nil
}

// collectorURL returns where spans are posted: at the endpoint of traces itself, or below one for all signals.
func collectorURL(variable, value string) (string, error) {
	at, err := url.Parse(value)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		variable = cmp.Or(variable, "OTEL_EXPORTER_OTLP_ENDPOINT")
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

// collectorHeaders returns the headers that a variable has, and the name of who sends if it has none.
func collectorHeaders(variable, pairs string) (http.Header, error) {
	headers := http.Header{"User-Agent": {"OTel OTLP Exporter Go/" + otlptrace.Version()}}
	for pair := range strings.SplitSeq(pairs, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, encoded, found := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		value, err := url.PathUnescape(strings.TrimSpace(encoded))
		if !found || err != nil { // what is said does not hold the value, which may be a secret
			return nil, fmt.Errorf("%s must be NAME=VALUE, separated by commas, and encoded as in URLs", variable)
		}
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, fmt.Errorf("%s: %q cannot be the name of a header", variable, name)
		}
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("%s: the value of %s has a character that no header may have", variable, name)
		}
		headers.Set(name, strings.TrimSpace(value))
	}
	return headers, nil
}

// collectorCompression reports whether batches are compressed by gzip.
func collectorCompression(variable, value string) (bool, error) {
	switch value {
	case "", "none":
		return false, nil
	case "gzip":
		return true, nil
	}
	return false, fmt.Errorf("%s is %q: there are gzip and none", variable, value)
}

// requestTimeout returns how long one request may take.
func requestTimeout(variable, value string) (time.Duration, error) {
	if value == "" {
		return collectorTimeout, nil
	}
	milliseconds, err := strconv.ParseInt(value, 10, 32)
	if err != nil || milliseconds <= 0 {
		return 0, fmt.Errorf("%s is %q: it must be a number of milliseconds", variable, value)
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

// collectorTransport is Go's, with the certificates that the environment names.
func collectorTransport(getenv collectorEnvironment) (*http.Transport, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var err error
	if config.RootCAs, err = collectorAuthorities(getenv.lookupVariable("CERTIFICATE")); err != nil {
		return nil, err
	}
	if config.Certificates, err = clientCertificates(getenv); err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	return transport, nil
}

// collectorAuthorities returns who may have signed the collector's certificate; nil for those of the system.
func collectorAuthorities(variable, file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", variable, err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("reading %s: there is no certificate in %s", variable, file)
	}
	return authorities, nil
}

// clientCertificates returns the certificate that is shown to the collector, if there is one: it and its key have
// variables of one prefix.
func clientCertificates(getenv collectorEnvironment) ([]tls.Certificate, error) {
	for _, prefix := range getenv.variablePrefixes() {
		ofCertificate, ofKey := prefix+"CLIENT_CERTIFICATE", prefix+"CLIENT_KEY"
		certificate, key := getenv.getVariable(ofCertificate), getenv.getVariable(ofKey)
		if certificate == "" && key == "" {
			continue
		}
		if certificate == "" || key == "" {
			return nil, fmt.Errorf("%s and %s go together: one of them is not set", ofCertificate, ofKey)
		}
		pair, err := tls.LoadX509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("reading %s and %s: %w", ofCertificate, ofKey, err)
		}
		return []tls.Certificate{pair}, nil
	}
	return nil, nil
}
