package main

import "syscall"

// childAttributes keep the terminal's Ctrl-C away from a server, and let the
// kernel kill it when this program dies, however that happens.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
