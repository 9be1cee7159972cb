package program

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process uses.
type Usage struct {
	// RSS and Peak are its resident memory in bytes, now and at most so far.
	RSS, Peak float64
	// CPU is the processor time it has had.
	CPU time.Duration
}

// ticks is how many clock ticks of /proc/PID/stat are a second, on every Linux
// that Go runs on.
const ticks = 100

// ReadUsage returns what a process uses. It needs Linux's /proc; elsewhere it returns an error.
func ReadUsage(pid int) (Usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return Usage{}, fmt.Errorf("reading the processor time of process %d: %w", pid, err)
	}
	return parseUsage(string(status), string(stat))
}

// parseUsage reads the texts of /proc/PID/status and /proc/PID/stat.
func parseUsage(status, stat string) (Usage, error) {
	rss, err := kilobytes(status, "VmRSS:")
	if err != nil {
		return Usage{}, err
	}
	peak, err := kilobytes(status, "VmHWM:")
	if err != nil {
		return Usage{}, err
	}
	// The second field is the program's name in brackets, which may hold spaces.
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("reading stat: %d fields after the name", len(fields))
	}
	var cpu time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Usage{}, fmt.Errorf("reading stat: %w", err)
		}
		cpu += time.Duration(n) * time.Second / ticks
	}
	return Usage{RSS: rss * 1024, Peak: peak * 1024, CPU: cpu}, nil
}

// kilobytes returns the number of the line of status that begins with the name.
func kilobytes(status, name string) (float64, error) {
	_, rest, found := strings.Cut(status, name)
	if !found {
		return 0, fmt.Errorf("reading status: no %s", name)
	}
	line, _, _ := strings.Cut(rest, "kB")
	n, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if err != nil {
		return 0, fmt.Errorf("reading status: %w", err)
	}
	return n, nil
}
