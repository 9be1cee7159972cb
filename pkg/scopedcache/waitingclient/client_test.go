package waitingclient

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appliedcorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var errServer, errView = errors.New("the API server refuses"), errors.New("the wait was given up")

// stage is a client, the API server below it, and the view that it waits for. It notes what happens, in order.
type stage struct {
	client.Client // nil: what is not below is not called
	events        []string
	answer        string // the resourceVersion that the API server answers; "": of a dry run
	refuses       error
	view          error
	partial       bool // the cache does not keep whole objects
}

func (s *stage) note(what string) { s.events = append(s.events, what) }

func (s *stage) write(what string, object client.Object) error {
	s.note(what)
	if s.refuses == nil {
		object.SetResourceVersion(s.answer)
	}
	return s.refuses
}

func (s *stage) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return s.write("create", o)
}
func (s *stage) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return s.write("update", o)
}
func (s *stage) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	return s.write("patch", o)
}
func (s *stage) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	s.note("delete")
	return s.refuses
}
func (s *stage) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	s.note("apply")
	o.(*appliedcorev1.ConfigMapApplyConfiguration).WithResourceVersion(s.answer)
	return s.refuses
}
func (s *stage) SubResource(string) client.SubResourceClient { return &subStage{stage: s} }
func (s *stage) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return corev1.SchemeGroupVersion.WithKind("ConfigMap"), nil
}

func (s *stage) AwaitWrite(_ context.Context, o client.Object) error {
	s.note("wait for " + o.GetName() + " at " + o.GetResourceVersion())
	return s.view
}
func (s *stage) AwaitDeletion(o client.Object) func(context.Context) error {
	s.note("look at " + o.GetName())
	return func(context.Context) error { s.note("wait for its end"); return s.view }
}
func (s *stage) IsKeptWhole(_ schema.GroupVersionKind, subresource string) bool {
	s.note("whole " + subresource)
	return !s.partial
}

// subStage writes subresources, into their body if there is one.
type subStage struct {
	client.SubResourceClient
	*stage
}

func (s *subStage) Update(_ context.Context, o client.Object, options ...client.SubResourceUpdateOption) error {
	if body := (&client.SubResourceUpdateOptions{}).ApplyOptions(options).SubResourceBody; body != nil {
		o = body
	}
	return s.write("update", o)
}
func (s *subStage) Patch(_ context.Context, o client.Object, _ client.Patch, options ...client.SubResourcePatchOption) error {
	if body := (&client.SubResourcePatchOptions{}).ApplyOptions(options).SubResourceBody; body != nil {
		o = body
	}
	return s.write("patch", o)
}
func (s *subStage) Apply(ctx context.Context, o runtime.ApplyConfiguration, _ ...client.SubResourceApplyOption) error {
	return s.stage.Apply(ctx, o)
}
func (s *subStage) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	s.note("create")
	return nil
}

func named() *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}} }

// writes are those of a client, by name.
func writes() map[string]func(*Client) error {
	ctx, patch := context.Background(), client.RawPatch("", nil)
	applied := func() *appliedcorev1.ConfigMapApplyConfiguration { return appliedcorev1.ConfigMap("a", "one") }
	return map[string]func(*Client) error{
		"Create":       func(c *Client) error { return c.Create(ctx, named()) },
		"Update":       func(c *Client) error { return c.Update(ctx, named()) },
		"Patch":        func(c *Client) error { return c.Patch(ctx, named(), patch) },
		"Apply":        func(c *Client) error { return c.Apply(ctx, applied()) },
		"StatusUpdate": func(c *Client) error { return c.Status().Update(ctx, named()) },
		"StatusPatch":  func(c *Client) error { return c.Status().Patch(ctx, named(), patch) },
		"StatusApply":  func(c *Client) error { return c.Status().Apply(ctx, applied()) },
		"Scale": func(c *Client) error {
			return c.SubResource("scale").Update(ctx, named(), client.WithSubResourceBody(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "body"}}))
		},
		"ScalePatch": func(c *Client) error {
			return c.SubResource("scale").Patch(ctx, named(), patch, client.WithSubResourceBody(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "body"}}))
		},
	}
}

// TestWrites: a write that is answered is waited for, under the name of the object and at the resourceVersion of the
// answer; one that is refused, and a dry run, are not. What the wait ends with is the caller's.
func TestWrites(t *testing.T) {
	want := map[string][]string{
		"Create": {"create"}, "Update": {"whole ", "update"}, "Patch": {"patch"}, "Apply": {"apply"},
		"StatusUpdate": {"whole status", "update"}, "StatusPatch": {"patch"}, "StatusApply": {"apply"}, "Scale": {"update"}, "ScalePatch": {"patch"},
	}
	for name, write := range writes() {
		t.Run(name, func(t *testing.T) {
			for _, tc := range []struct {
				what  string
				stage stage
				want  []string
				err   error
			}{
				{"answered", stage{answer: "7"}, append(want[name][:len(want[name]):len(want[name])], "wait for a at 7"), nil},
				{"given up", stage{answer: "7", view: errView}, append(want[name][:len(want[name]):len(want[name])], "wait for a at 7"), errView},
				{"refused", stage{answer: "7", refuses: errServer}, want[name], errServer},
				{"dry run", stage{}, want[name], nil},
			} {
				err := write(New(&tc.stage, &tc.stage))
				if diff := cmp.Diff(tc.want, tc.stage.events); diff != "" || !errors.Is(err, tc.err) {
					t.Errorf("%s: error %v, want %v (-want +got):\n%s", tc.what, err, tc.err, diff)
				}
			}
		})
	}
}

// TestNotWhole: an update of what is kept in part is refused before it is sent; other writes clear nothing.
func TestNotWhole(t *testing.T) {
	for name, write := range writes() {
		s := &stage{answer: "7", partial: true}
		err := write(New(s, s))
		if refused := name == "Update" || name == "StatusUpdate"; errors.Is(err, ErrNotWhole) != refused || !refused && err != nil {
			t.Errorf("%s: %v", name, err)
		} else if refused && len(s.events) != 1 {
			t.Errorf("%s was sent: %v", name, s.events)
		}
	}
}

// TestDelete: what is shown is looked at before the deletion, which is waited for if there was one.
func TestDelete(t *testing.T) {
	cases := map[string]struct {
		stage   stage
		options []client.DeleteOption
		want    []string
		err     error
	}{
		"Done":    {want: []string{"look at a", "delete", "wait for its end"}},
		"GivenUp": {stage: stage{view: errView}, want: []string{"look at a", "delete", "wait for its end"}, err: errView},
		"Refused": {stage: stage{refuses: errServer}, want: []string{"look at a", "delete"}, err: errServer},
		"DryRun":  {options: []client.DeleteOption{client.DryRunAll}, want: []string{"look at a", "delete"}},
	}
	for name, tc := range cases {
		err := New(&tc.stage, &tc.stage).Delete(t.Context(), named(), tc.options...)
		if diff := cmp.Diff(tc.want, tc.stage.events); diff != "" || !errors.Is(err, tc.err) {
			t.Errorf("%s: error %v, want %v (-want +got):\n%s", name, err, tc.err, diff)
		}
	}
}

// TestSubResourceCreate: an eviction or a token is no write of the object, and nothing to wait for.
func TestSubResourceCreate(t *testing.T) {
	s := &stage{answer: "7"}
	err := New(s, s).SubResource("eviction").Create(t.Context(), named(), named())
	if diff := cmp.Diff([]string{"create"}, s.events); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}
