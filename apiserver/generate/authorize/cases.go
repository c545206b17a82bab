package main

// Everybody who asks: a name, and groups.
var users = []string{
	"root system:authenticated",
	"chief admins system:authenticated",
	"master system:masters system:authenticated",
	"ann system:authenticated",
	"bob system:authenticated",
	"carl system:authenticated",
	"lost dev system:authenticated",
	"dana dev readers",
	"system:serviceaccount:n:robot system:serviceaccounts system:serviceaccounts:n system:authenticated",
	"system:serviceaccount:m:robot system:serviceaccounts system:serviceaccounts:m system:authenticated",
	"system:serviceaccount::nowhere",
	"system:anonymous system:unauthenticated",
}

// What they ask for: verb, group (- for the one without a name), resource with subresource, namespace (-), name (-);
// or a verb and a path.
var requests = []string{
	"get - pods n p",
	"get - pods - p",
	"list - pods n -",
	"list - pods - -",
	"watch apps deployments m -",
	"delete - pods n p",
	"deletecollection - pods n -",
	"get - pods/log n p",
	"get - pods/exec n p",
	"get - services/status n s",
	"get - services/* n s",
	"get apps deployments/scale n web",
	"update apps statefulsets/scale m db",
	"update apps deployments n web",
	"update - replicationcontrollers/scale n web",
	"patch apps deployments/status n web",
	"patch batch jobs/status n other",
	"get - configmaps n one",
	"get - configmaps n three",
	"list - configmaps n one",
	"list - configmaps n -",
	"create - configmaps n -",
	"delete - secrets n two",
	"delete - secrets m two",
	"get - namespaces n n",
	"get - nodes - x",
	"* - pods n -",
	"get * * n x",
	"get - * n -",
	"get apps pods n p",
	"bind rbac.authorization.k8s.io clusterroles n reader",
	"escalate rbac.authorization.k8s.io roles n -",
	"impersonate - users - ann",
	"get /metrics",
	"post /metrics",
	"get /metrics/more",
	"get /api",
	"get /api/v1",
	"get /logs/a",
	"get /logs/abc",
	"get /logs/b",
	"get /x*",
	"get /xyz",
	"delete /debug",
	"get /",
}

// grant is somebody's write of a role or binding. Without an old object it is made.
type grant struct{ user, object, old string }

const group = `"apiGroup":"rbac.authorization.k8s.io"`

func clusterRole(body string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"x"},` + body + `}`
}

func role(namespace, body string) string {
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"x","namespace":"` + namespace + `"},` + body + `}`
}

func binding(namespace, kind, name string) string {
	ref := `"roleRef":{` + group + `,"kind":"` + kind + `","name":"` + name + `"},"subjects":[{"kind":"User","name":"eve",` + group + `}]}`
	if namespace == "" {
		return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"x"},` + ref
	}
	return `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"x","namespace":"` + namespace + `"},` + ref
}

const pods = `"rules":[{"verbs":["get","list"],"apiGroups":[""],"resources":["pods"]}]`
const secrets = `"rules":[{"verbs":["get","create","delete"],"apiGroups":["","apps"],"resources":["secrets","pods/log"],"resourceNames":["one","two"]},{"verbs":["get"],"nonResourceURLs":["/metrics","/api/v1","/zzz*"]}]`
const all = `"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]},{"verbs":["*"],"nonResourceURLs":["*"]}]`
const gathers = `"aggregationRule":{"clusterRoleSelectors":[{"matchLabels":{"a":"b"}}]},"rules":[]`

func grants() (list []grant) {
	for _, user := range users {
		for _, object := range []string{
			clusterRole(pods), clusterRole(secrets), clusterRole(all), clusterRole(gathers), clusterRole(`"rules":[]`),
			role("n", pods), role("n", secrets), role("n", all), role("m", all),
			binding("", "ClusterRole", "reader"), binding("", "ClusterRole", "everything"),
			binding("", "ClusterRole", "missing"), binding("", "ClusterRole", "unknown"), binding("", "Rolle", "odd"),
			binding("n", "ClusterRole", "reader"), binding("n", "ClusterRole", "named"), binding("n", "Role", "editor"),
			binding("n", "Role", "empty"), binding("n", "Role", "gone"), binding("m", "Role", "editor"),
			binding("m", "ClusterRole", "everything"),
		} {
			list = append(list, grant{user: user, object: object})
		}
	}
	for _, user := range []string{users[0], users[3], users[5]} {
		list = append(list,
			grant{user, clusterRole(pods), clusterRole(gathers)},
			grant{user, clusterRole(`"rules":[]`), clusterRole(all)},
			grant{user, clusterRole(all), clusterRole(all)},
			grant{user, role("n", all), role("n", pods)},
			grant{user, binding("n", "ClusterRole", "reader"), binding("n", "ClusterRole", "reader")},
		)
	}
	return list
}

// disguise is somebody who wants to be somebody else for a request; headers are "Name: value".
type disguise struct {
	user    string
	request string
	headers []string
}

var maskers = []string{
	"mallory system:authenticated",
	"trudy system:authenticated",
	"bob system:authenticated",
	"root system:authenticated",
	"master system:masters",
}

var masks = [][]string{
	{"Impersonate-User: ann"},
	{"Impersonate-User: zoe"},
	{"Impersonate-User: ann", "Impersonate-Group: dev"},
	{"Impersonate-User: ann", "Impersonate-Group: dev", "Impersonate-Group: ops"},
	{"Impersonate-User: ann", "Impersonate-Group: a", "Impersonate-Group: b", "Impersonate-Group: c", "Impersonate-Group: d"},
	{"Impersonate-User: ann", "Impersonate-Group: system:masters"},
	{"Impersonate-User: ann", "Impersonate-Group: system:authenticated", "Impersonate-Group: dev"},
	{"Impersonate-User: ann", "Impersonate-Group: system:unauthenticated"},
	{"Impersonate-User: ann", "Impersonate-Group: "},
	{"Impersonate-User: ann", "Impersonate-Uid: 7"},
	{"Impersonate-User: ann", "Impersonate-Uid: 8"},
	{"Impersonate-User: ann", "Impersonate-Extra-Scopes: view"},
	{"Impersonate-User: ann", "Impersonate-Extra-Scopes: view", "Impersonate-Extra-Scopes: edit"},
	{"Impersonate-User: ann", "Impersonate-Extra-Example.com%2fkey: view"},
	{"Impersonate-User: system:anonymous"},
	{"Impersonate-User: system:serviceaccount:n:robot"},
	{"Impersonate-User: system:serviceaccount:n:robot", "Impersonate-Group: dev"},
	{"Impersonate-User: system:serviceaccount:n:"},
	{"Impersonate-User: system:node:n1"},
	{"Impersonate-User: system:node:n2"},
	{"Impersonate-Group: dev"},
	{"Impersonate-Uid: 7", "Impersonate-Extra-Scopes: view"},
}

func disguises() (list []disguise) {
	for _, user := range maskers {
		for _, mask := range masks {
			list = append(list, disguise{user, "list - pods n -", mask})
		}
		list = append(list, disguise{user, "get /metrics", masks[0]}, disguise{user, "delete apps deployments/scale n d", masks[1]})
	}
	return list
}
