package objectmeta

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// few is up to how many objects are looked through one by one; more are indexed.
const few = 8

// Indexes finds observed objects by namespace and name. Lists that share their objects share the index. The zero
// value is empty; it belongs to one goroutine, and the lists are not changed as long as it is used.
type Indexes map[**unstructured.Unstructured]nameIndex

type nameIndex struct {
	size        int
	byName      map[[2]string]*unstructured.Unstructured
	byNamespace map[string][]*unstructured.Unstructured
}

func (x *Indexes) indexOf(objects []*unstructured.Unstructured) nameIndex {
	key := &objects[0]
	if found, ok := (*x)[key]; ok && found.size == len(objects) {
		return found
	}
	if *x == nil {
		*x = Indexes{}
	}
	made := nameIndex{
		size:        len(objects),
		byName:      make(map[[2]string]*unstructured.Unstructured, len(objects)),
		byNamespace: map[string][]*unstructured.Unstructured{},
	}
	for _, obj := range objects {
		name := [2]string{obj.GetNamespace(), obj.GetName()}
		if _, again := made.byName[name]; !again {
			made.byName[name] = obj
		}
		made.byNamespace[name[0]] = append(made.byNamespace[name[0]], obj)
	}
	(*x)[key] = made
	return made
}

// FindObject returns the first object of a name; nil if there is none.
func (x *Indexes) FindObject(objects []*unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
	if len(objects) > few {
		return x.indexOf(objects).byName[[2]string{namespace, name}]
	}
	for _, obj := range objects {
		if obj.GetName() == name && obj.GetNamespace() == namespace {
			return obj
		}
	}
	return nil
}

// ObjectsIn returns the objects of a namespace, and perhaps others.
func (x *Indexes) ObjectsIn(objects []*unstructured.Unstructured, namespace string) []*unstructured.Unstructured {
	if len(objects) > few {
		return x.indexOf(objects).byNamespace[namespace]
	}
	return objects
}
