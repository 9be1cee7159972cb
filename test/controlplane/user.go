package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// adminName is the user who may do everything.
const adminName = "admin"

// user is somebody with a token, which the API server knows from its start.
type user struct {
	name   string
	groups []string
	token  string
}

// parseUser reads NAME[=GROUP,GROUP]. Names stand in file names and in a CSV
// file, so they are of plain characters.
func parseUser(s string) (user, error) {
	name, list, _ := strings.Cut(s, "=")
	var groups []string
	if list != "" {
		groups = strings.Split(list, ",")
	}
	plain := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9:._@-]*$`)
	for _, part := range append([]string{name}, groups...) {
		if !plain.MatchString(part) {
			return user{}, fmt.Errorf("%q has characters other than letters, digits and :._@-", part)
		}
	}
	return user{name: name, groups: groups}, nil
}

// Users of the control plane itself. Their requests are not audited.
func ownUsers() map[string]user {
	masters := []string{"system:masters"}
	return map[string]user{
		"controlplane":    {name: "system:controlplane", groups: masters},
		controllerManager: {name: "system:kube-controller-manager"},
		scheduler:         {name: "system:kube-scheduler"},
		kwok:              {name: "system:kwok", groups: masters},
	}
}

// withToken returns the user with a token of 128 random bits.
func (u user) withToken() user {
	u.token = rand.Text()
	return u
}

// tokenLine is the user's line in the API server's token file.
func (u user) tokenLine() string {
	return fmt.Sprintf("%s,%s,%s,%q\n", u.token, u.name, u.name, strings.Join(u.groups, ","))
}

// writeKubeconfig writes a kubeconfig that needs no other file.
func (u user) writeKubeconfig(path, server string, ca []byte) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: controlplane
clusters:
- name: controlplane
  cluster: {server: %q, certificate-authority-data: %s}
contexts:
- name: controlplane
  context: {cluster: controlplane, user: %q}
users:
- name: %q
  user: {token: %s}
`, server, base64.StdEncoding.EncodeToString(ca), u.name, u.name, u.token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing the kubeconfig of %q: %w", u.name, err)
	}
	return nil
}

func kubeconfigPath(dir, name string) string { return filepath.Join(dir, name+".kubeconfig") }
