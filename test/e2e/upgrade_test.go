package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ambit-dev/ambit/test/ambitbinary"
	"github.com/ambit-dev/ambit/test/cluster"
)

const upgradeUser = "upgrade"

// upgradedFrom is the commit that the upgrade begins with: the first one that knows policies by namespace
// and name. What was made before it is not taken over. Every full clone has it. A shallow clone, or a copy
// of the files alone, has not: there the story fails, as an upgrade that nobody tried is not one that works.
const upgradedFrom = "66988d1145c4c16d0d9d374417701766c75d6724"

// TestUpgrade: 30 owners that an older Ambit has served are served by this one: it writes
// nothing, neither children nor statuses, until there is something to do, and then no more
// than that.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	const spaces, each = 3, 10
	w := newWorld(t, upgradeUser)
	older, binary := buildOlder(t, upgradedFrom), buildAmbit(t)
	var namespaces []string
	for range spaces {
		namespaces = append(namespaces, w.namespace(memcachedRights()...))
	}
	kill := w.runBinary(older, namespaces)
	for i, namespace := range namespaces {
		for j := range each {
			w.createOwner(namespace, fmt.Sprintf("cache-%d", j), 0)
		}
		w.allReady(namespaces, (i+1)*each)
	}
	w.settled()
	kill()
	w.openStreams(map[string]int{})

	mark := w.control.Audit().Mark()
	w.runBinary(binary, namespaces)
	w.openStreams(map[string]int{"memcacheds": spaces, "deployments": spaces, "pods": spaces})
	w.settledSince(mark)
	w.noRequests(mark, "after the upgrade", func(r cluster.Request) bool { return r.IsWrite() && !isSelfReview(r) })

	mark = w.control.Audit().Mark()
	w.resize(namespaces[0], "cache-0", 2)
	w.deploymentHas(namespaces[0], "cache-0", 2)
	w.settledSince(mark)
	w.noRequests(mark, "when one owner has changed", func(r cluster.Request) bool {
		return r.IsWrite() && !isSelfReview(r) && (r.Namespace != namespaces[0] || r.Name != "cache-0")
	})
}

// buildOlder builds the binary of a commit.
func buildOlder(t *testing.T, commit string) string {
	t.Helper()
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "source"), filepath.Join(folder, "ambit")
	if err := hasCommit(t.Context(), "../..", commit); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(folder, "source.tar")
	command(t, "../..", "git", "archive", "--format=tar", "--prefix=source/", "-o", archive, commit, "go.mod", "go.sum", "cmd", "pkg")
	command(t, folder, "tar", "-xf", archive)
	if err := ambitbinary.Build(source, binary); err != nil {
		t.Fatal(err)
	}
	return binary
}

// hasCommit returns an error if the repository in a folder has not got a commit.
func hasCommit(ctx context.Context, folder, commit string) error {
	out, err := exec.CommandContext(ctx, "git", "-C", folder, "cat-file", "-e", commit+"^{commit}").CombinedOutput()
	if err != nil {
		return fmt.Errorf("looking for the commit to upgrade from, %s: %w: this takes a full clone (git fetch --unshallow)\n%s", commit, err, out)
	}
	return nil
}

// command runs a command in a folder.
func command(t *testing.T, folder, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}
