package main

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// config holds the servers' own configuration files.
//
//go:embed config/*.yaml
var config embed.FS

// makeDir returns an empty folder: the given one, or a temporary one.
func makeDir(dir string) (string, error) {
	if dir == "" {
		temp, err := os.MkdirTemp("", "controlplane-")
		if err != nil {
			return "", fmt.Errorf("making a folder: %w", err)
		}
		return filepath.Abs(temp)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making folder %q: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("reading folder %q: %w", dir, err)
	}
	if len(entries) > 0 {
		return "", usageError{fmt.Sprintf("--dir %q: not empty; a control plane begins with nothing", dir)}
	}
	return filepath.Abs(dir)
}

func (p *plane) writeFiles() error {
	ca, err := writeKeys(p.dir)
	if err != nil {
		return err
	}
	p.ca = ca
	admin := user{name: adminName, groups: []string{"system:masters"}}
	tokens := ""
	for _, u := range append([]user{admin}, p.options.users...) {
		u = u.withToken()
		p.users, tokens = append(p.users, u), tokens+u.tokenLine()
	}
	for server, u := range ownUsers() {
		u = u.withToken()
		p.own[server], tokens = u, tokens+u.tokenLine()
	}
	if err := os.WriteFile(filepath.Join(p.dir, tokenFile), []byte(tokens), 0o600); err != nil {
		return fmt.Errorf("writing the tokens: %w", err)
	}
	files, err := fs.Sub(config, "config")
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	if err := os.CopyFS(p.dir, files); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return nil
}
