package freeport

import (
	"errors"
	"net"
	"slices"
	"syscall"
	"testing"
)

// TestGivenOnce: an address is given to one, though its server does not listen yet.
func TestGivenOnce(t *testing.T) {
	c := newChooser(1, 3, func(string) error { return nil })
	var got []string
	for range 3 {
		address, err := c.chooseAddress()
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, address)
	}
	slices.Sort(got)
	if want := []string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}; !slices.Equal(got, want) {
		t.Errorf("given are %q, want %q", got, want)
	}
	if address, err := c.chooseAddress(); err == nil {
		t.Errorf("%s is given, and all were", address)
	}
}

// TestTaken: an address at which somebody listens is given to nobody, and it is said why.
func TestTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	c := newChooser(listener.Addr().(*net.TCPAddr).Port, 1, listenOnce)
	if address, err := c.chooseAddress(); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("address %q, error %v, want that it is in use", address, err)
	}
}

// TestAddress: one can listen at an address that was given.
func TestAddress(t *testing.T) {
	listener, err := net.Listen("tcp", ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
}
