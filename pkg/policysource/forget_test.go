package policysource

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestForgetTexts: of texts that come and go nothing is left, whether there are policies in
// them or not.
func TestForgetTexts(t *testing.T) {
	b := newBook("own")
	for i := range 100 {
		for j, content := range []string{"# nothing yet\n", documentText("cache v1"), "{"} {
			o := Origin{Kind: ConfigMap, Namespace: "own", Name: fmt.Sprintf("map-%d-%d", i, j), Key: "a.yaml"}
			put := text{origin: o, data: []byte(content)}
			put.digest, put.size = digestOf(put)
			b.read(snapshot{texts: []text{put}}, time.Time{}.Add(time.Hour))
		}
	}
	for i := range 2 {
		b.read(snapshot{complete: []place{{kind: ConfigMap}}}, time.Time{}.Add(time.Duration(i+2)*time.Hour))
		b.decide(time.Time{}.Add(time.Duration(i+2) * time.Hour))
	}
	if len(b.digests) > 0 || len(b.entries) > 0 {
		t.Errorf("there are %d digests and %d entries left", len(b.digests), len(b.entries))
	}
}

// TestForgetLast: that a policy has gone is known also of the last one: another one of its
// name is another one.
func TestForgetLast(t *testing.T) {
	var log []string
	engine := newFakeEngine()
	s := newSecretary(Options{Controller: engine, Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{}), Clock: clock.RealClock{}}, nil)
	engine.report(Report{Policy: "p", Serving: true, Denied: []v1alpha1.DeniedAccess{{Verb: "list", Resource: "apps"}}})
	there := decision{documents: []document{{entryKey: entryKey{origin: Origin{Kind: File, File: "a.yaml"}, name: "p"}, id: "p"}}}
	for _, d := range []decision{there, {}, there} {
		s.tell(d)
		s.pass(t.Context())
	}
	if len(log) != 4 {
		t.Errorf("of a policy that comes, goes and comes it is said: %q", log)
	}
	s.tell(decision{})
	s.pass(t.Context())
	if n := len(s.known) + len(s.lacking); n > 0 {
		t.Errorf("it is remembered when it has gone")
	}
}
