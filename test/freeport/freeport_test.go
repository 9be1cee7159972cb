package freeport

import (
	"net"
	"sync"
	"testing"
)

// TestAddress: servers that start at once get an address each, though none of them listens yet.
func TestAddress(t *testing.T) {
	const servers = 200
	var group sync.WaitGroup
	addresses := make([]string, servers)
	for i := range servers {
		group.Go(func() {
			var err error
			if addresses[i], err = Address(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, address := range addresses {
		if seen[address] {
			t.Errorf("%s was given to two", address)
		}
		seen[address] = true
	}
}

// TestTaken: a port on which somebody listens is not chosen, and it is said why none is.
func TestTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if address, err := chooseAmong(listener.Addr().(*net.TCPAddr).Port, 1); err == nil {
		t.Errorf("%s was chosen, and somebody listens there", address)
	}
}
