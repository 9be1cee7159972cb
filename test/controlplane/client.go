package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// client asks a server the few things that the start needs to know.
type client struct {
	http   *http.Client
	server string
	token  string
}

// newClient is a client of the API server at address that trusts ca only: it
// cannot take another control plane's server for its own.
func newClient(address, token string, ca []byte) *client {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &client{http: &http.Client{Transport: transport, Timeout: 10 * time.Second}, server: address, token: token}
}

// newSocketClient is a client of a server on a Unix socket.
func newSocketClient(socket string) *client {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	return &client{http: &http.Client{Transport: transport, Timeout: 10 * time.Second}, server: "http://socket"}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// get decodes the answer into out, unless that is nil. Any status but 2xx is an
// error.
func (c *client) get(ctx context.Context, path string, out any) error {
	return c.do(ctx, http.MethodGet, path, nil, out)
}

// create posts object as JSON.
func (c *client) create(ctx context.Context, path string, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("encoding an object for %s: %w", path, err)
	}
	return c.createFrom(ctx, path, data)
}

// createFrom posts an object in YAML or JSON.
func (c *client) createFrom(ctx context.Context, path string, data []byte) error {
	return c.do(ctx, http.MethodPost, path, data, nil)
}

func (c *client) do(ctx context.Context, method, path string, body []byte, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making a request of %s: %w", path, err)
	}
	request.Header.Set("Content-Type", "application/yaml")
	request.Header.Set("Accept", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err // says method and address
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("reading the answer of %s %s: %w", method, path, err)
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %.300s", method, path, response.Status, answer)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("decoding the answer of %s %s: %w", method, path, err)
	}
	return nil
}
