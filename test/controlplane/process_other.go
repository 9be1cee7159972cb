//go:build unix && !linux

package main

import "syscall"

// childAttributes keep the terminal's Ctrl-C away from a server. If this program
// is killed, the servers go on: only Linux can tie their lives to it.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
