// Package freeport chooses ports for servers that tests start as processes of their own, and which therefore cannot
// listen on port 0.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports are chosen from first on, below first+count: below those that systems take for outgoing connections (32768
// and up on Linux), for such a connection may come between the choice and the server; and below those that
// test/controlplane chooses (20001 and up).
const (
	first = 10000
	count = 10000
)

// handedOut are the ports that this process has been given. The server of one may not listen yet.
var (
	mu        sync.Mutex
	handedOut = map[int]bool{}
)

// Address returns a loopback address, host and port, at which nobody listens, and which this process was not given
// before. It is safe for concurrent use.
func Address() (string, error) {
	return chooseAmong(first, count)
}

// ForTest is an Address. Without one the test ends.
func ForTest(t testing.TB) string {
	t.Helper()
	address, err := Address()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// chooseAmong chooses one of count ports from first on.
func chooseAmong(first, count int) (string, error) {
	mu.Lock()
	defer mu.Unlock()
	lastErr := fmt.Errorf("all of %d to %d were given to this process", first, first+count-1)
	for _, offset := range rand.Perm(count) {
		port := first + offset
		if handedOut[port] {
			continue
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		listener, err := net.Listen("tcp", address)
		if err != nil {
			lastErr = err
			continue
		}
		if err := listener.Close(); err != nil {
			return "", fmt.Errorf("freeing %s: %w", address, err)
		}
		handedOut[port] = true
		return address, nil
	}
	return "", fmt.Errorf("finding a free port: %w", lastErr)
}
