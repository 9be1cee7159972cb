package install

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestImage does what the Dockerfile says without a container engine: what it copies
// is copied to an empty folder, its build step runs there, and the program starts
// alone in an empty root, as the user that the image names.
func TestImage(t *testing.T) {
	steps := dockerfile(t)
	source, image := t.TempDir(), t.TempDir()
	for _, copied := range steps.copied {
		copyInto(t, source, copied)
	}
	build := strings.ReplaceAll(steps.build, "-o /ambit", "-o "+filepath.Join(image, "ambit"))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", build)
	cmd.Dir, cmd.Env = source, append(os.Environ(), "VERSION=v1.2.3-image")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	if err := os.Chmod(image, 0o755); err != nil {
		t.Fatal(err)
	}
	if output := alone(t, image, "version"); !strings.Contains(output, "v1.2.3-image") {
		t.Errorf("version says %q", output)
	}
	if output := alone(t, image, "run", "--policies-from=configmap"); !strings.Contains(output, "no kubeconfig, and no cluster") {
		t.Errorf("run says %q, want that there is no cluster", output)
	}
}

// image is what a Dockerfile says.
type image struct {
	copied []string
	build  string
}

// dockerfile reads the Dockerfile of the repository, and looks at what cannot be tried.
func dockerfile(t *testing.T) image {
	t.Helper()
	text := string(read(t, root+"/Dockerfile"))
	for _, want := range []string{
		"\nFROM ${BUILD_IMAGE} AS build\n", "\nFROM ${BASE_IMAGE}\n", "\nCOPY --from=build /ambit /ambit\n",
		"\nUSER 65532:65532\n", "\nENTRYPOINT [\"/ambit\"]\n", "\nARG BASE_IMAGE=scratch\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	var found image
	for _, line := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(text, -1) {
		found.copied = append(found.copied, strings.Fields(line[1])...)
	}
	build := regexp.MustCompile(`(?m)^RUN (.*go build.*)$`).FindStringSubmatch(text)
	if build == nil || len(found.copied) != 4 {
		t.Fatalf("no build step, or copied is %q", found.copied)
	}
	found.build = build[1]
	return found
}

// copyInto copies a file or a folder of the repository as .dockerignore lets it.
func copyInto(t *testing.T, folder, name string) {
	t.Helper()
	if !strings.Contains(string(read(t, root+"/.dockerignore")), "\n!"+name+"\n") {
		t.Errorf(".dockerignore keeps %s away", name)
	}
	info, err := os.Stat(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(root, name)))
	} else {
		err = os.WriteFile(filepath.Join(folder, name), read(t, filepath.Join(root, name)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// alone runs /ambit where folder is the whole file system, as the user 65532, and
// returns what it prints. Where that is not permitted, in a user namespace; where that
// is not either, the test is skipped, and says so.
func alone(t *testing.T, folder string, args ...string) string {
	t.Helper()
	const user = 65532
	attributes := &syscall.SysProcAttr{Chroot: folder, Credential: &syscall.Credential{Uid: user, Gid: user}}
	if os.Geteuid() != 0 {
		attributes = &syscall.SysProcAttr{
			Chroot: folder, Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getegid(), Size: 1}},
		}
	}
	cmd := exec.CommandContext(t.Context(), "/ambit", args...)
	cmd.SysProcAttr, cmd.Dir, cmd.Env = attributes, "/", []string{"POD_NAMESPACE=ambit-system", "POD_NAME=ambit-0"}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if errors.Is(err, syscall.EPERM) {
		t.Skip("neither chroot nor user namespaces are permitted here: the program was built, and not run in an empty root")
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return output.String()
}
