package registry

import (
	"fmt"
	"testing"
	"time"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/test/policytext"
)

// TestForgetTexts: of texts that come and go nothing is left, whether there are policies in
// them or not.
func TestForgetTexts(t *testing.T) {
	b := New("own", false)
	for i := range 100 {
		for j, content := range []string{"# nothing yet\n", policytext.Document("cache v1"), "{"} {
			o := manifest.Origin{Kind: manifest.ConfigMap, Namespace: "own", Name: fmt.Sprintf("map-%d-%d", i, j), Key: "a.yaml"}
			put := manifest.Manifest{Origin: o, Data: []byte(content)}
			put = put.WithDigest()
			b.TakeSnapshot(manifest.Snapshot{Manifests: []manifest.Manifest{put}}, time.Time{}.Add(time.Hour))
		}
	}
	for i := range 2 {
		b.TakeSnapshot(manifest.Snapshot{Complete: []manifest.Location{{Kind: manifest.ConfigMap}}}, time.Time{}.Add(time.Duration(i+2)*time.Hour))
		b.DecidePolicies(time.Time{}.Add(time.Duration(i+2) * time.Hour))
	}
	if len(b.digests) > 0 || len(b.entries) > 0 {
		t.Errorf("there are %d digests and %d entries left", len(b.digests), len(b.entries))
	}
}
