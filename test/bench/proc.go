package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// usage is what a process uses.
type usage struct {
	// rss and peak are its resident memory in bytes, now and at most so far.
	rss, peak float64
	// cpu is the processor time it has had.
	cpu time.Duration
}

// ticks is how many clock ticks of /proc/PID/stat are a second, on every Linux
// that Go runs on.
const ticks = 100

// readUsage returns what the process uses. It needs Linux's /proc; elsewhere it
// returns an error.
func readUsage(pid int) (usage, error) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		return usage{}, fmt.Errorf("reading the memory of process %d: %w", pid, err)
	}
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return usage{}, fmt.Errorf("reading the processor time of process %d: %w", pid, err)
	}
	return parseUsage(string(status), string(stat))
}

// parseUsage reads the texts of /proc/PID/status and /proc/PID/stat.
func parseUsage(status, stat string) (usage, error) {
	rss, err := kilobytes(status, "VmRSS:")
	if err != nil {
		return usage{}, err
	}
	peak, err := kilobytes(status, "VmHWM:")
	if err != nil {
		return usage{}, err
	}
	// The second field is the program's name in brackets, which may hold spaces.
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 13 {
		return usage{}, fmt.Errorf("reading stat: %d fields after the name", len(fields))
	}
	var cpu time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("reading stat: %w", err)
		}
		cpu += time.Duration(n) * time.Second / ticks
	}
	return usage{rss: rss * 1024, peak: peak * 1024, cpu: cpu}, nil
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
