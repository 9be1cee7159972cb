package informer

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// sharedMap is a SharedStorage: names and values of objects.
type sharedMap struct {
	alone  *server // its own source
	refuse string  // the name of an object that it cannot decode

	mu      sync.Mutex // guards what is below
	objects map[string]string
	calls   []string
}

var _ SharedStorage = &sharedMap{}

func (m *sharedMap) Source() (listwatch.Source, error) { m.note("alone"); return m.alone, nil }
func (m *sharedMap) Transformer() cache.TransformFunc  { return nil }
func (m *sharedMap) Resync() error                     { return nil }
func (m *sharedMap) UpdateResourceVersion(string)      {}
func (m *sharedMap) Add(obj any) error                 { return m.Update(obj) }
func (m *sharedMap) DropAll(status Status) {
	m.Replace(nil, "")
	m.note("drop " + string(status.State))
}
func (m *sharedMap) ObjectCount() int     { return len(m.names()) }
func (m *sharedMap) Update(obj any) error { m.put(obj); return nil }
func (m *sharedMap) Delete(obj any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, obj.(*unstructured.Unstructured).GetName())
	return nil
}

func (m *sharedMap) DecodeObject(data []byte) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		return nil, err
	}
	if object.GetName() == m.refuse {
		return nil, errors.New("it is not of this type")
	}
	return object, nil
}

func (m *sharedMap) note(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
}

func (m *sharedMap) take() []string {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return calls
}

func (m *sharedMap) put(obj any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := obj.(*unstructured.Unstructured)
	m.objects[object.GetName()] = fmt.Sprint(object.Object["spec"])
}

func (m *sharedMap) Replace(list []any, _ string) error {
	m.mu.Lock()
	m.objects = map[string]string{}
	m.mu.Unlock()
	for _, obj := range list {
		m.put(obj)
	}
	return nil
}

func (m *sharedMap) names() []string {
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.objects))
}

func (m *sharedMap) need() Interest {
	return Interest{Key: Key{GVR: needOf("").Key.GVR, Namespace: "ns", Form: Form{Storage: "shared"}}, Storage: m}
}

// open returns how many watches are open.
func (s *server) open() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watches)
}

func newShared(api *server) *sharedMap { return &sharedMap{alone: api, objects: map[string]string{}} }

// TestSharedStream: an informer with a Storage and one without have one stream; each keeps what it keeps, and whoever joins
// or leaves, nobody else notices.
func TestSharedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{Retry: func(int) time.Duration { return time.Second }})
		defer begin(t, s)()
		api.put(thing("a", "1"))
		own, told := &recorder{}, &recorder{}
		view := s.Require(own, []Interest{needOf("ns")})[0]
		expect(t, "alone", events("Synced"), own.take())
		epoch := view.Status().Epoch
		api.take()

		kept := newShared(api)
		joined := s.Require(told, []Interest{kept.need()})[0]
		expect(t, "who joins", events("Synced"), told.take())
		expect(t, "who was there", events(), own.take())
		expect(t, "objects", []string{"a"}, kept.names())
		expect(t, "watches", 1, api.open())
		expect(t, "requests to join", 1, len(api.take()))
		if now := view.Status(); now.State != Live || now.Epoch != epoch || !joined.Synced() {
			t.Errorf("who was there is %s in epoch %d of %d, who joined %s", now.State, now.Epoch, epoch, joined.State())
		}

		api.put(thing("b", "1"))
		api.remove("a")
		expect(t, "events", events("Added b", "Deleted a"), own.take())
		expect(t, "objects after events", []string{"b"}, kept.names())
		expect(t, "its own source", []string(nil), kept.take())

		s.RevokeInformers(func(k Key) bool { return k.Form.Storage == "" }, errors.New("it is gone"))
		expect(t, "revoked", events("StateChanged Forbidden"), own.take())
		expect(t, "revoked with it", events("StateChanged Forbidden"), told.take())
		expect(t, "dropped", []string{"drop Forbidden"}, kept.take())
		expect(t, "watches after that", 0, api.open())
		time.Sleep(2 * time.Second)
		expect(t, "back", events("Synced"), own.take())
		expect(t, "back with it", events("Synced"), told.take())

		other := newShared(api)
		s.Require(other, []Interest{other.need()})
		expect(t, "another Storage of the same key", []string{"b"}, other.names())
		expect(t, "watches of three", 1, api.open())
		s.Require(own, nil)
		api.put(thing("c", "1"))
		expect(t, "who stays", []string{"b", "c"}, kept.names())
		s.Require(told, nil)
		s.Require(other, nil)
		expect(t, "watches of nobody", 0, api.open())
		expect(t, "streams of nobody", 0, len(s.streams)+len(s.informers)+len(s.unstarted))
	})
}

// Changed implements EventHandler.
func (m *sharedMap) Changed(Event) {}

// TestJoinEmpty: an informer with a store of package objectstore that joins is not synced before it has its objects.
func TestJoinEmpty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		api.put(thing("a", "1"))
		kept := newShared(api)
		s.Require(kept, []Interest{kept.need()})
		expect(t, "alone", []string{"a"}, kept.names())
		expect(t, "its source", []string{"alone"}, kept.take())
		api.mu.Lock()
		api.slow = make(chan struct{})
		api.mu.Unlock()
		own := &recorder{}
		view := s.Require(own, []Interest{needOf("ns")})[0]
		expect(t, "not listed", events(), own.take())
		if view.Synced() || len(kept.names()) != 1 {
			t.Errorf("before the list: synced %t, %v", view.Synced(), kept.names())
		}
		close(api.slow)
		expect(t, "listed", events("Synced"), own.take())
		expect(t, "objects", 1, len(view.List()))
	})
}

// TestFreshList: the list for who joins is not older than what others have seen.
func TestFreshList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		api.old = true
		s := testSet(map[string]*server{"ns": api}, Options{})
		defer begin(t, s)()
		s.Require(&recorder{}, []Interest{needOf("ns")})
		lists := func() (versions []string) {
			synctest.Wait()
			for _, r := range api.take() {
				if r.verb == "list" {
					versions = append(versions, r.resourceVersion)
				}
			}
			return versions
		}
		expect(t, "the first list may lag", []string{"0"}, lists())
		kept := newShared(api)
		s.Require(kept, []Interest{kept.need()})
		expect(t, "the list to join", []string{""}, lists())
	})
}

// TestEventAfterTheLast: an event that comes when all who shared a stream have just left is nobody's.
func TestEventAfterTheLast(t *testing.T) {
	s := testSet(nil, Options{})
	kept := newShared(nil)
	s.Require(kept, []Interest{kept.need(), needOf("ns")})
	e := s.informerOf(needOf("ns").Key).stream.beginEpoch(func() {})
	store := e.reflectorStore()
	s.Require(kept, nil)
	for what, do := range map[string]func(any) error{"add": store.Add, "update": store.Update, "delete": store.Delete} {
		if err := do(thing("a", "1")); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := store.Replace([]any{thing("a", "1")}, "1"); err != nil {
		t.Error(err)
	}
	if object, err := e.decodeShared([]byte(`{"metadata": {"name": "a"}}`)); object != nil || err == nil {
		t.Errorf("an event is %v, %v", object, err)
	}
}

// TestUnreadableObject: who cannot read an object from a shared stream gets one of its own, and harms nobody.
func TestUnreadableObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, fromList := range []bool{false, true} {
			api := newServer()
			s := testSet(map[string]*server{"ns": api}, Options{})
			stop := begin(t, s)
			own, kept := &recorder{}, newShared(api)
			kept.refuse = "bad"
			if fromList {
				api.put(thing("bad", "1"))
			}
			api.put(thing("a", "1"))
			view := s.Require(own, []Interest{needOf("ns")})[0]
			s.Require(kept, []Interest{kept.need()})
			api.put(thing("bad", "1"))
			api.put(thing("b", "1"))
			synctest.Wait()
			expect(t, "who can read it", 3, len(view.List()))
			expect(t, "who has its own source", []string{"a", "b", "bad"}, kept.names())
			expect(t, "watches", 2, api.open())
			s.Require(own, nil)
			s.Require(kept, nil)
			expect(t, "watches of nobody", 0, api.open())
			stop()
		}
	})
}

// TestJoinedSets: users of the same informers start and end by themselves, and each hears of what it needs.
func TestJoinedSets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newServer()
		first := testSet(map[string]*server{"ns": api}, Options{})
		var errs []string
		second := first.ForUser(UserOptions{OnWatchError: func(w WatchError) { errs = append(errs, w.Key.Form.Storage) }})
		endFirst := begin(t, first)
		endSecond := begin(t, second)
		own, kept := &recorder{}, newShared(api)
		first.Require(own, []Interest{needOf("ns")})
		second.Require(kept, []Interest{kept.need()})
		api.put(thing("a", "1"))
		expect(t, "objects", []string{"a"}, kept.names())
		expect(t, "watches of both", 1, api.open())
		if len(first.States()) != 1 || len(second.States()) != 1 || first.States()[0].Key == second.States()[0].Key {
			t.Errorf("%v, %v", first.States(), second.States())
		}
		first.Reauthorize(true)
		time.Sleep(10 * time.Second)
		if reopened := second.CountReopened(); reopened < 2 {
			t.Errorf("%d watches were opened again", reopened)
		}
		endFirst()
		expect(t, "watches of one", 1, api.open())
		expect(t, "who has ended", 0, len(first.States()))
		if late := first.Require(own, []Interest{needOf("ns")}); late[0].State() != Stopped {
			t.Errorf("a need after the end is %s", late[0].State())
		}
		time.Sleep(10 * time.Second)
		reopened := second.CountReopened()
		time.Sleep(time.Minute)
		expect(t, "opened again though nobody wants it", reopened, second.CountReopened())
		api.put(thing("b", "1"))
		expect(t, "objects after that", []string{"a", "b"}, kept.names())
		api.end(statusError(500, "InternalError"))
		synctest.Wait()
		expect(t, "errors told", []string{"shared"}, errs)
		endSecond()
		expect(t, "watches of nobody", 0, api.open())
		if err := second.Start(t.Context()); err == nil {
			t.Error("it starts twice")
		}
	})
}

// TestSharingAtRandom: whoever comes and goes, and whatever happens, at rest each has what the API server has, by one
// stream.
func TestSharingAtRandom(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 12))
			api := newServer()
			api.old = random.IntN(2) == 0
			s := testSet(map[string]*server{"ns": api}, Options{Reauthorize: random.IntN(2) == 0})
			defer begin(t, s)()
			own, views := &recorder{}, []Lister(nil)
			storages := []*sharedMap{newShared(api), newShared(api)}
			isNeeded := map[*sharedMap]bool{}
			for range 30 {
				switch m := storages[random.IntN(2)]; random.IntN(8) {
				case 0:
					isNeeded[m] = true
					s.Require(m, []Interest{m.need()})
				case 1:
					isNeeded[m] = false
					s.Require(m, nil)
				case 2:
					views = s.Require(own, []Interest{needOf("ns")})
				case 3:
					views = s.Require(own, nil)
				case 4:
					api.end(nil)
				case 5:
					s.RevokeInformers(func(Key) bool { return true }, errors.New("gone"))
				case 6:
					if name := fmt.Sprint(random.IntN(5)); api.has(name) {
						api.remove(name)
					}
				default:
					api.put(thing(fmt.Sprint(random.IntN(5)), fmt.Sprint(random.Int())))
				}
				time.Sleep(time.Duration(random.IntN(2)*random.IntN(3000)) * time.Millisecond)
			}
			time.Sleep(2 * time.Minute)
			want, users := api.names(), len(views)
			for _, m := range storages {
				if isNeeded[m] {
					users++
					expect(t, fmt.Sprint("a Storage, seed ", seed), want, m.names())
				}
			}
			for _, view := range views {
				if names := len(view.List()); !view.Synced() || view.State() != Live || names != len(want) {
					t.Errorf("seed %d: %v, %d objects of %d", seed, view.Status(), names, len(want))
				}
			}
			expect(t, fmt.Sprint("watches, seed ", seed), min(users, 1), api.open())
		})
	}
}

func (s *server) has(name string) bool { return slices.Contains(s.names(), name) }

func (s *server) names() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.objects {
		names = append(names, name.Name)
	}
	slices.Sort(names)
	return names
}
