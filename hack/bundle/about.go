package main

// description is what a catalogue shows of Ambit.
const description = `Ambit runs Kubernetes operators from policy files, inside exactly the permissions it has been given.

A ReconcilePolicy says which kind is the owner, which children belong to it, what else to watch, and how the status is
derived. An administrator grants and revokes rights by namespace at any moment, and Ambit follows.

What this bundle cannot hold is the check that the author of a policy may act as the ServiceAccount that the policy
names: apply manifests/cluster/authors.yaml with it, and write the namespace of this operator into its variable home.`

// about is what does not depend on the manifests.
func about() object {
	return object{
		"displayName": "Ambit",
		"description": description,
		"keywords":    []string{"operator", "policy", "rbac", "cel"},
		"maturity":    "alpha",
		"provider":    object{"name": "Ambit"},
		"links":       []object{{"name": "Source", "url": "https://github.com/ambit-dev/ambit"}},
		"icon":        []object{{"base64data": icon, "mediatype": "image/svg+xml"}},
		"installModes": []object{
			{"type": "OwnNamespace", "supported": false},
			{"type": "SingleNamespace", "supported": false},
			{"type": "MultiNamespace", "supported": false},
			{"type": "AllNamespaces", "supported": true},
		},
		"minKubeVersion": "1.30.0",
	}
}

// icon is a circle around a dot.
const icon = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCA2NCA2NCI+PGNpcmNsZSBjeD0iMzIiIGN5PSIzMiIgcj0iMjYiIGZpbGw9Im5vbmUiIHN0cm9rZT0iIzFmNmZlYiIgc3Ryb2tlLXdpZHRoPSI2Ii8+PGNpcmNsZSBjeD0iMzIiIGN5PSIzMiIgcj0iOSIgZmlsbD0iIzFmNmZlYiIvPjwvc3ZnPg=="
