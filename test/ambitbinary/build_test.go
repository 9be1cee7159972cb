package ambitbinary

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestArguments: `make build` and the Dockerfile build the program as tests do.
func TestArguments(t *testing.T) {
	dry := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "-C", "../..", "build", "VERSION=devel", "OUTPUT=/ambit")
	made, err := dry.Output()
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"make build": string(made), "the Dockerfile": string(image)} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(arguments("/ambit"), wordsOfBuild(t, text)); diff != "" {
				t.Errorf("it differs (-tests +%s):\n%s", name, diff)
			}
		})
	}
}

// wordsOfBuild has a shell take the words apart that follow `go` in the one line of text that builds without C.
func wordsOfBuild(t *testing.T, text string) []string {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^(?:RUN )?CGO_ENABLED=0 .*\bgo (build .*)$`).FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", ""), -1)
	if len(lines) != 1 {
		t.Fatalf("%d lines build it:\n%s", len(lines), text)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+lines[0][1])
	shell.Env = []string{"VERSION=devel"}
	output, err := shell.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(output), "\n"), "\n")
}
