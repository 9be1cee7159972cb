package permissions_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// ambitUser is the user name of own.
const ambitUser = "system:serviceaccount:ambit-system:ambit"

// granted are rights of a user in a namespace.
func granted(user, namespace string, rights ...string) []string {
	var list []string
	for _, right := range rights {
		list = append(list, user+" "+namespace+": "+right)
	}
	return list
}

// matrix is one line for each entry.
func matrix(entries []permissions.Entry) []string {
	var lines []string
	for _, e := range entries {
		resource := strings.TrimSuffix(e.Resource+"/"+e.Subresource, "/")
		lines = append(lines, e.User+" "+e.Namespace+": "+resource+" "+strings.Join(e.NeededBy, ",")+": "+strings.Join(e.Verbs, ",")+"; missing "+strings.Join(e.Missing, ","))
	}
	return lines
}

func TestCompare(t *testing.T) {
	const cannotFind = `owners of policy "cache" cannot be found: ` + ambitUser + ` cannot list, watch apps.example.com in all namespaces, ` +
		`and cannot list, watch namespaces to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces`
	found := granted(ambitUser, "", "list apps", "watch apps")
	cases := map[string]struct {
		reason   string
		spec     string
		server   *apiServer
		change   func(*permissions.Options)
		want     []string
		warnings []string
	}{
		"Named": {
			reason: "namespaces that are named are asked about, and no owner is looked for",
			spec:   appOwner,
			server: &apiServer{granted: granted(ambitUser, "a", "list apps", "watch apps"), failing: []string{appsPath}},
			change: func(o *permissions.Options) { o.Namespaces = []string{"a"} },
			want: []string{
				ambitUser + " a: apps owner: list,watch; missing ",
				ambitUser + " a: apps/status owner: patch; missing patch",
			},
		},
		"Owners": {
			reason: "else the namespaces of owners that are served, each once",
			spec:   appOwner,
			server: &apiServer{granted: found, objects: map[string]string{appsPath: apps("b/one", "a/two", "b/three", "c/idle")}},
			want: []string{
				ambitUser + " a: apps owner: list,watch; missing ", ambitUser + " a: apps/status owner: patch; missing patch",
				ambitUser + " b: apps owner: list,watch; missing ", ambitUser + " b: apps/status owner: patch; missing patch",
			},
		},
		"Selected": {
			reason: "and that the labels of the scope select, or its names",
			spec:   appOwner + "scope: {namespaces: [b], namespaceSelector: {matchLabels: {x: y}}}\n",
			server: &apiServer{objects: map[string]string{
				appsPath:             apps("a/one", "b/two", "c/three"),
				"/api/v1/namespaces": `{"apiVersion":"v1","kind":"NamespaceList","items":[{"metadata":{"name":"a"}}]}`,
			}},
			want: []string{
				ambitUser + " : namespaces namespaceSelector: list,watch; missing list,watch",
				ambitUser + " a: apps owner: list,watch; missing list,watch", ambitUser + " a: apps/status owner: patch; missing patch",
				ambitUser + " b: apps owner: list,watch; missing list,watch", ambitUser + " b: apps/status owner: patch; missing patch",
			},
		},
		"Blind": {
			reason: "who finds owners in no way is told both ways",
			spec:   appOwner,
			server: &apiServer{objects: map[string]string{appsPath: apps("a/one")}},
			want: []string{
				ambitUser + " : apps owner: list,watch; missing list,watch",
				ambitUser + " a: apps owner: list,watch; missing list,watch", ambitUser + " a: apps/status owner: patch; missing patch",
			},
			warnings: []string{cannotFind},
		},
		"OtherWay": {
			reason:   "to see namespaces is enough to look in each",
			spec:     appOwner,
			server:   &apiServer{granted: granted(ambitUser, "", "list namespaces", "watch namespaces"), objects: map[string]string{appsPath: apps()}},
			warnings: []string{`policy "cache" has no owners: --namespaces says where to look`},
		},
		"NotServed": {
			reason:   "a kind that is not served has no owners",
			spec:     appOwner,
			server:   &apiServer{granted: found}, // the path of its objects does not exist
			warnings: []string{`policy "cache" has no owners: --namespaces says where to look`},
		},
		"ClusterOwner": {
			reason: "owners without a namespace are looked for nowhere",
			spec:   "owner: {apiVersion: v1, kind: Namespace}\n",
			server: &apiServer{granted: granted(ambitUser, "", "list namespaces")},
			want:   []string{ambitUser + " : namespaces owner: list,watch; missing watch"},
		},
		"Account": {
			reason: "a policy's account has the rights, and Ambit that to act as it",
			spec:   appOwner + "serviceAccountName: robot\nscope: {namespaces: [a]}\n",
			server: &apiServer{granted: append(granted(robotUser, "", "patch apps/status"), granted(ambitUser, "team-x", "impersonate serviceaccounts")...)},
			want: []string{
				robotUser + " a: apps owner: list,watch; missing list,watch", robotUser + " a: apps/status owner: patch; missing ",
				ambitUser + " team-x: serviceaccounts serviceAccountName: list,watch,impersonate; missing list,watch",
			},
		},
		"Caller": {
			reason: "who asks about itself has the name that it is given",
			spec:   appOwner,
			server: &apiServer{granted: granted("caller", "a", "list apps", "patch apps/status")},
			change: func(o *permissions.Options) { o.Namespaces, o.Own = []string{"a"}, rbac.Subject{} },
			want:   []string{"me a: apps owner: list,watch; missing watch", "me a: apps/status owner: patch; missing "},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reporter := &told{}
			o := options(t, reporter, c.spec)
			if c.change != nil {
				c.change(&o)
			}
			compared, err := permissions.CompareNeeds(t.Context(), c.server.start(t), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, matrix(compared.ListEntries("me"))); diff != "" {
				t.Errorf("%s; -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, reporter.warnings); diff != "" {
				t.Errorf("%s; warnings: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestCompareFails: an error of the cluster ends the comparison, and reads the same
// whatever was asked about.
func TestCompareFails(t *testing.T) {
	const own, others = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	named := func(o *permissions.Options) { o.Namespaces = []string{"a", "b"} }
	cases := map[string]struct {
		reason string
		spec   string
		server *apiServer
		change func(*permissions.Options)
		want   string
	}{
		"Owners": {
			reason: "who may not list owners is told how to do without",
			server: &apiServer{refused: []string{appsPath}},
			want:   `looking for owners of policy "cache" in all namespaces (--namespaces names some): apps is forbidden`,
		},
		"Namespaces": {
			reason: "so is who may not list namespaces",
			spec:   "scope: {namespaceSelector: {matchLabels: {x: y}}}\n",
			server: &apiServer{refused: []string{"/api/v1/namespaces"}, objects: map[string]string{appsPath: apps()}},
			want:   `looking for the namespaces of policy "cache" (--namespaces names some): namespaces is forbidden`,
		},
		"Reviews": {
			reason: "a review that fails names who it was about, once",
			server: &apiServer{failing: []string{others}}, change: named,
			want: "asking what " + ambitUser + " may do: Internal error occurred: out of order",
		},
		"Self": {
			reason: "also if that is the caller",
			server: &apiServer{failing: []string{own}}, change: func(o *permissions.Options) { named(o); o.Own = rbac.Subject{} },
			want: "asking what the caller may do: Internal error occurred: out of order",
		},
		"Neither": {
			reason: "who may neither review others nor impersonate them is told both",
			server: &apiServer{refused: []string{own, others}}, change: named,
			want: "cannot find out what " + ambitUser + " may do: that takes the right to create subjectaccessreviews.authorization.k8s.io, or to impersonate: selfsubjectaccessreviews is forbidden",
		},
		"Finding": {
			reason: "whether owners can be found is reviewed as well",
			server: &apiServer{failing: []string{others}, objects: map[string]string{appsPath: apps()}},
			want:   "asking what " + ambitUser + " may do: Internal error occurred: out of order",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := options(t, &told{}, appOwner+c.spec)
			if c.change != nil {
				c.change(&o)
			}
			_, err := permissions.CompareNeeds(t.Context(), c.server.start(t), o)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Count(err.Error(), "\n") > 0 {
				t.Errorf("%s; got %v, want %q", c.reason, err, c.want)
			}
		})
	}
}

// TestImpersonate: who may not review others impersonates them. The first refusals are the
// last, and nobody who is impersonated impersonates.
func TestImpersonate(t *testing.T) {
	const others = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	server := &apiServer{refused: []string{others}, granted: granted(ambitUser, "a", "list apps", "patch apps/status")}
	cluster := server.start(t)
	o := options(t, &told{}, appOwner)
	o.Namespaces = []string{"a"}
	compared, err := permissions.CompareNeeds(t.Context(), cluster, o)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{ambitUser + " a: apps owner: list,watch; missing watch", ambitUser + " a: apps/status owner: patch; missing "}
	if diff := cmp.Diff(want, matrix(compared.ListEntries(""))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := server.count("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews " + ambitUser); n != 3 {
		t.Errorf("%d reviews as the subject, want 3", n)
	}
	cluster.Config.Impersonate.UserName = "alice"
	_, err = permissions.CompareNeeds(t.Context(), cluster, o)
	if want := "cannot find out what " + ambitUser + " may do: alice may not create subjectaccessreviews.authorization.k8s.io"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestReviewedOnce: what two policies need in one place is one review.
func TestReviewedOnce(t *testing.T) {
	server := &apiServer{}
	o := options(t, &told{}, appOwner)
	o.Namespaces, o.Programs = []string{"a"}, append(o.Programs, o.Programs...)
	compared, err := permissions.CompareNeeds(t.Context(), server.start(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if n := server.count("POST"); n != 3 || len(compared.ListEntries("")) != 4 {
		t.Errorf("%d reviews and %d entries, want 3 and 4", n, len(compared.ListEntries("")))
	}
}

func TestCallerName(t *testing.T) {
	for refused, want := range map[string]string{"": "caller", "/apis/authentication.k8s.io/v1/selfsubjectreviews": ""} {
		server := &apiServer{refused: []string{refused}}
		o := options(t, &told{}, appOwner)
		o.Namespaces = []string{"a"}
		compared, err := permissions.CompareNeeds(t.Context(), server.start(t), o)
		if err != nil {
			t.Fatal(err)
		}
		if got := compared.CallerName(t.Context()); got != want {
			t.Errorf("refused %q: got %q, want %q", refused, got, want)
		}
	}
}

func TestMissing(t *testing.T) {
	const (
		account = "/api/v1/namespaces/ambit-system/serviceaccounts/ambit"
		role    = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/roles/ambit-cache"
		binding = "/apis/rbac.authorization.k8s.io/v1/namespaces/a/rolebindings/ambit-cache"
		scoped  = "scope: {namespaces: [a]}\n"
	)
	there := map[string]string{account: `{"apiVersion":"v1","kind":"ServiceAccount"}`}
	reading := granted(ambitUser, "a", "list apps", "watch apps")
	cases := map[string]struct {
		reason   string
		spec     string
		server   *apiServer
		want     []string
		warnings []string
		fails    string
	}{
		"Nothing": {
			reason: "what is granted is not granted again", spec: scoped,
			server: &apiServer{objects: there, granted: append(granted(ambitUser, "a", "patch apps/status"), reading...)},
		},
		"Account": {
			reason: "a ServiceAccount that does not exist is missing", spec: scoped,
			server: &apiServer{granted: append(granted(ambitUser, "a", "patch apps/status"), reading...)},
			want:   []string{"ServiceAccount ambit-system/ambit"},
		},
		"HiddenAccount": {
			reason: "that it cannot be seen is told", spec: scoped,
			server:   &apiServer{refused: []string{account}, granted: append(granted(ambitUser, "a", "patch apps/status"), reading...)},
			warnings: []string{"cannot see whether ServiceAccount ambit-system/ambit is there"},
		},
		"Role": {
			reason: "only what is missing is granted", spec: scoped,
			server: &apiServer{objects: there, granted: reading},
			want:   []string{"Role a/ambit-cache; patch apps/status", "RoleBinding a/ambit-cache"},
		},
		"Present": {
			reason: "what a Role has already stays in it, with a word about what is more than needed", spec: scoped,
			server: &apiServer{granted: reading, objects: map[string]string{
				account: there[account],
				role:    `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","rules":[{"apiGroups":[""],"resources":["secrets"],"verbs":["get"]}]}`,
				binding: `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","subjects":[]}`,
			}},
			want:     []string{"Role a/ambit-cache; get secrets; patch apps/status", "RoleBinding a/ambit-cache"},
			warnings: []string{`Role or binding "ambit-cache" in namespace "a" holds more than policy "cache" needs: that stays in it`},
		},
		"Hidden": {
			reason: "if that cannot be seen, all is granted that is needed", spec: scoped,
			server:   &apiServer{objects: there, granted: reading, refused: []string{role}},
			want:     []string{"Role a/ambit-cache; list,watch apps; patch apps/status", "RoleBinding a/ambit-cache"},
			warnings: []string{`cannot see what Role and binding "ambit-cache" hold now: they are printed with all that policy "cache" needs`},
		},
		"Everywhere": {
			reason: "what is about to be granted cluster-wide is not granted in each namespace",
			server: &apiServer{objects: map[string]string{account: there[account], appsPath: apps("a/one")}},
			want: []string{
				"ClusterRole ambit-cache; list,watch apps", "ClusterRoleBinding ambit-cache",
				"Role a/ambit-cache; patch apps/status", "RoleBinding a/ambit-cache",
			},
			warnings: []string{`owners of policy "cache" cannot be found: ` + ambitUser + ` cannot list, watch apps.example.com in all namespaces, and cannot list, watch namespaces to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces`},
		},
		"AccountFails": {
			reason: "another error ends it", spec: scoped, server: &apiServer{failing: []string{account}},
			fails: "reading ServiceAccount ambit-system/ambit: ",
		},
		"BindingFails": {
			reason: "also of a binding", spec: scoped, server: &apiServer{objects: there, failing: []string{binding}},
			fails: `reading the Role and the binding "ambit-cache": `,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reporter := &told{}
			compared, err := permissions.CompareNeeds(t.Context(), c.server.start(t), options(t, reporter, appOwner+c.spec))
			if err != nil {
				t.Fatal(err)
			}
			objects, err := compared.MissingObjects(t.Context())
			if (err != nil) != (c.fails != "") || err != nil && !strings.HasPrefix(err.Error(), c.fails) {
				t.Fatalf("%s; error %v, want %q", c.reason, err, c.fails)
			}
			if diff := cmp.Diff(c.want, shown(t, objects)); diff != "" {
				t.Errorf("%s; -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, reporter.warnings); diff != "" {
				t.Errorf("%s; warnings: -want +got:\n%s", c.reason, diff)
			}
			if n := c.server.count(""); n != c.server.count("GET ")+c.server.count("POST /apis/authorization") {
				t.Errorf("%s; something was written in %d requests", c.reason, n)
			}
		})
	}
}
