package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// runBuild is the verb "build". It leaves alone what is provided in
// $KUBEBUILDER_ASSETS and what was built before from the same pins, flags and
// Go version; so it costs milliseconds when nothing has changed.
func runBuild(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	bin := flags.String("bin", "bin", "folder for the binaries")
	if err := parse(flags, args); err != nil {
		return err
	}
	b, err := newBuilder(*bin)
	if err != nil {
		return err
	}
	defer b.close()
	for _, s := range servers() {
		if err := b.server(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// builder builds servers into a folder. It is for one goroutine.
type builder struct {
	bin    string // absolute
	module string // a folder with the pins, where go runs
	ldArgs string
}

// newBuilder makes the folders of a builder; close removes the module again.
func newBuilder(bin string) (*builder, error) {
	ldArgs, err := linkFlags()
	if err != nil {
		return nil, err
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return nil, fmt.Errorf("finding folder %q: %w", bin, err)
	}
	if err := os.MkdirAll(filepath.Join(bin, ".built"), 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for binaries: %w", err)
	}
	module, err := os.MkdirTemp("", "controlplane-build-")
	if err != nil {
		return nil, fmt.Errorf("making a folder to build in: %w", err)
	}
	b := &builder{bin: bin, module: module, ldArgs: ldArgs}
	for name, data := range map[string][]byte{"go.mod": goMod, "go.sum": goSum} {
		if err := os.WriteFile(filepath.Join(module, name), data, 0o644); err != nil {
			b.close()
			return nil, fmt.Errorf("writing the pins: %w", err)
		}
	}
	return b, nil
}

func (b *builder) close() { os.RemoveAll(b.module) }

// server builds one server unless there is nothing to do.
func (b *builder) server(ctx context.Context, s server) error {
	if path := provided(s.name); path != "" {
		fmt.Fprintf(os.Stderr, "using %s from $KUBEBUILDER_ASSETS: %s\n", s.name, path)
		return nil
	}
	out, stamp := filepath.Join(b.bin, s.name), filepath.Join(b.bin, ".built", s.name)
	args := []string{"build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", b.ldArgs, "-o", out, s.pkg}
	want := fingerprint(args)
	if current(out, stamp, want) {
		return nil
	}
	// A build that is cut short must not pass for one of the pins before.
	if err := os.RemoveAll(stamp); err != nil {
		return fmt.Errorf("removing the mark of the last build of %s: %w", s.name, err)
	}
	start := time.Now()
	fmt.Fprintf(os.Stderr, "building %s (%s the first time)\n", s.name, s.takes)
	if err := b.goBuild(ctx, s.name, args); err != nil {
		return fmt.Errorf("building %s: %w", s.name, err)
	}
	fmt.Fprintf(os.Stderr, "built %s in %s\n", s.name, time.Since(start).Round(100*time.Millisecond))
	if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
		return fmt.Errorf("marking %s as built: %w", s.name, err)
	}
	return nil
}

// goBuild runs go and says every 30 s that it still does.
func (b *builder) goBuild(ctx context.Context, name string, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second

	done, start := make(chan error, 1), time.Now()
	go func() { done <- cmd.Run() }()
	tick := time.NewTicker(30 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			fmt.Fprintf(os.Stderr, "still building %s, %s so far\n", name, time.Since(start).Round(time.Second))
		}
	}
}

// fingerprint changes with everything that the binary depends on.
func fingerprint(args []string) string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\x00%s\x00%s\x00%s", runtime.Version(), strings.Join(args, "\x00"), goMod, goSum)
	return hex.EncodeToString(hash.Sum(nil))
}

// current says whether out is there and was built from what want stands for.
func current(out, stamp, want string) bool {
	if _, err := os.Stat(out); err != nil {
		return false
	}
	have, err := os.ReadFile(stamp)
	return err == nil && string(have) == want
}
