// Package freeport chooses the addresses of servers that tests and benchmarks start, where an address has to be known
// before its server listens.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports are chosen below those that systems take for outgoing connections (32768 and up on Linux), for such a
// connection may come between the choice and the server; and below those that test/controlplane chooses (20001 and up).
const (
	firstPort = 10000
	portCount = 10000
)

// ofProcess is shared by all of a process: the server of one port may not listen yet when the next is chosen.
var ofProcess = newChooser(firstPort, portCount, listenOnce)

// Address returns a loopback address, host and port, at which nobody listens, and which this process was not given
// before. Another process may be given the same one, by a chance of one in ten thousand. It is safe for concurrent use.
func Address() (string, error) { return ofProcess.chooseAddress() }

// ForTest is an Address. Without one the test ends.
func ForTest(t testing.TB) string {
	t.Helper()
	address, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// listenOnce fails where somebody listens.
func listenOnce(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// chooser tries each of its ports once. It is safe for concurrent use.
type chooser struct {
	listen func(address string) error

	mu      sync.Mutex // guards untried
	untried []int
}

// newChooser returns a chooser of count ports, from first on.
func newChooser(first, count int, listen func(address string) error) *chooser {
	c := &chooser{listen: listen, untried: rand.Perm(count)}
	for i := range c.untried {
		c.untried[i] += first
	}
	return c
}

// chooseAddress returns a loopback address with one of the ports.
func (c *chooser) chooseAddress() (string, error) {
	lastErr := errors.New("all were given to this process")
	for {
		port, ok := c.takePort()
		if !ok {
			return "", fmt.Errorf("finding a free port, each of which is tried once: %w", lastErr)
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		if lastErr = c.listen(address); lastErr == nil {
			return address, nil
		}
	}
}

// takePort returns a port that was not tried yet, if there is one.
func (c *chooser) takePort() (port int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.untried) - 1
	if last < 0 {
		return 0, false
	}
	port, c.untried = c.untried[last], c.untried[:last]
	return port, true
}
