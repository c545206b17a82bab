package main

// decision is a policy, and what it is asked about.
type decision struct{ spec, object, params string }

// mutation is one change; spec is what the policy says besides, with a comma.
type mutation struct {
	expression, object, spec string
	patch                    bool
}

const web = `{"metadata":{"name":"web","namespace":"n","labels":{"a":"1"}},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"1"}},
"template":{"metadata":{"labels":{"a":"1"}},"spec":{"containers":[{"name":"c","image":"i:1","env":[{"name":"E","value":"1"},{"name":"F","value":"2"}]},{"name":"d","image":"j"}]}}}}`

const settings = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","namespace":"n"},"data":{"max":"3"}}`

func validations(list string) decision {
	return decision{spec: `"validations":[` + list + `]`, object: web}
}

// expressions are decided upon one by one, without messages.
func expressions(list ...string) (all []decision) {
	for _, expression := range list {
		all = append(all, validations(`{"expression":"`+expression+`"}`))
	}
	return all
}

var decisions = append(expressions(
	"object.spec.replicas > 1",
	"object.spec.replicas > 2",
	"  object.spec.replicas > 2  ",
	"object.spec.nothing > 2",
	"object.spec.replicas",
	"object.spec.replicas + 1",
	"object.spec.replicas == 'a'",
	"object.",
	"nobody.knows",
	"has(object.metadata.labels) && object.metadata.labels.a == '1'",
	"object.spec.template.spec.containers.all(c, c.image.contains(':'))",
	"oldObject == null",
	"oldObject.spec.replicas == 1",
	"namespaceObject.metadata.name == 'n' && namespaceObject.metadata.labels['env'] == 'prod'",
	"namespaceObject.metadata.uid == '8'",
	"namespaceObject.metadata.UID == '8'",
	"has(namespaceObject.spec.finalizers)",
	"request.operation == 'CREATE' && request.resource.resource == 'deployments' && request.kind.kind == 'Deployment'",
	"request.requestResource.group == 'apps' && request.requestKind.version == 'v1'",
	"request.name == 'web' && request.namespace == 'n' && !request.dryRun",
	"request.userInfo.username == 'ann' && request.userInfo.uid == '7' && 'dev' in request.userInfo.groups",
	"has(request.subResource)",
	"has(request.userInfo.extra)",
	"request.subResource == ''",
	"request.object == 1",
	"request.options.kind == 'CreateOptions'",
	"authorizer.group('apps').resource('deployments').namespace('n').check('create').allowed()",
	"authorizer.requestResource.check('get').allowed()",
	"!authorizer.requestResource.check('get').errored()",
	"authorizer.serviceAccount('n', 'x').path('/healthz').check('get').allowed()",
	"params == null",
	"variables.nothing == 1",
	"type(object) == map",
	"object.metadata.name.matches('[')",
	"Object{} == Object{}",
	"jsonpatch.escapeKey('a') == 'a'",
	"object.metadata.name.size() == 3 ? true : false",
	"cel.bind(x, 1, x == 1)",
	"object.?spec.?nothing.orValue(1) == 1",
	"[1,2,3].map(x, x * 2).sum() == 12",
	"'a' in object.metadata.labels",
	"1",
	"null",
	"[]",
	"{}",
	"duration('1s')",
	"timestamp('2020-01-01T00:00:00Z')",
	"optional.of(1)",
	"request",
	"{'a': [1]}",
	"dyn(1) == dyn('a')",
	"quantity(object.spec.replicas > 1 ? '1Gi' : '2Gi').isGreaterThan(quantity('1Mi'))",
	"[1,2].exists(i, [1,2,3,4,5,6,7,8,9,10].all(j, object.spec.replicas / (i - 1) > j))",
), []decision{
	validations(`{"expression":"false","message":" own "}`),
	validations(`{"expression":"false","messageExpression":"'got ' + string(object.spec.replicas)"}`),
	validations(`{"expression":"false","messageExpression":"'a\\nb'","message":"own"}`),
	validations(`{"expression":"false","messageExpression":"'  '","message":"own"}`),
	validations(`{"expression":"false","messageExpression":"object.spec.nothing","message":"own"}`),
	validations(`{"expression":"false","messageExpression":"string(object.spec.nothing)","message":"own"}`),
	validations(`{"expression":"false","messageExpression":"authorizer.path('/a').check('get').reason()"}`),
	validations(`{"expression":"false","reason":"Forbidden"},{"expression":"true","reason":"Forbidden"},{"expression":"1/0 == 1","reason":"Forbidden"}`),
	validations(`{"expression":"false","reason":"RequestEntityTooLarge"},{"expression":"false"}`),
	{spec: `"variables":[{"name":"n","expression":"object.spec.replicas"},{"name":"odd","expression":"variables.n % 2 == 1"}],"validations":[{"expression":"variables.n > 1"},{"expression":"variables.odd","messageExpression":"'n is ' + string(variables.n)"}]`, object: web},
	{spec: `"variables":[{"name":"n","expression":"object.spec.nothing"},{"name":"m","expression":"variables.n + 1"}],"validations":[{"expression":"variables.m > 1"},{"expression":"true"}]`, object: web},
	{spec: `"variables":[{"name":"n","expression":"object.spec."}],"validations":[{"expression":"variables.n > 1"}]`, object: web},
	{spec: `"variables":[{"name":"t","expression":"'a'"}],"validations":[{"expression":"variables.t > 1"}]`, object: web},
	{spec: `"variables":[{"name":"later","expression":"variables.first"},{"name":"first","expression":"1"}],"validations":[{"expression":"variables.later == 1"}]`, object: web},
	{spec: `"variables":[{"name":"l","expression":"object.spec.template.spec.containers.map(c, c.name)"},{"name":"o","expression":"{'a': [1, 2]}"}],"validations":[{"expression":"variables.l == ['c', 'd'] && variables.o.a[1] == 2 && has(variables.l)"}]`, object: web},
	{spec: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.spec.replicas <= int(params.data.max)"}]`, object: web, params: settings},
	{spec: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"object.spec.replicas <= int(params.data.max)"}]`, object: web},
	{spec: `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"params.kind == 'ConfigMap' && false","messageExpression":"params.data.max + '!'"}]`, object: web, params: settings},
	{spec: `"matchConditions":[{"name":"a","expression":"true"},{"name":"b","expression":"false"}],"validations":[{"expression":"false"}]`, object: web},
	{spec: `"matchConditions":[{"name":"a","expression":"1/0 == 1"},{"name":"b","expression":"false"}],"validations":[{"expression":"false"}]`, object: web},
	{spec: `"matchConditions":[{"name":"a","expression":"1/0 == 1"},{"name":"b","expression":"true"}],"validations":[{"expression":"false"}]`, object: web},
	{spec: `"matchConditions":[{"name":"a","expression":"1/0 == 1"},{"name":"b","expression":"object.x == 1"},{"name":"c","expression":"1/0 == 1"}],"validations":[{"expression":"false"}]`, object: web},
	{spec: `"matchConditions":[{"name":"a","expression":"namespaceObject == null"}],"validations":[{"expression":"false"}]`, object: web},
	{spec: `"variables":[{"name":"n","expression":"1"}],"matchConditions":[{"name":"a","expression":"variables.n == 1"}],"validations":[{"expression":"false"}]`, object: web},
	{spec: `"validations":[{"expression":"true"}],"auditAnnotations":[{"key":"k","valueExpression":"' v '"},{"key":"l","valueExpression":"null"},{"key":"m","valueExpression":"''"},{"key":"o","valueExpression":"string(object.spec.nothing)"},{"key":"q","valueExpression":"1"}]`, object: web},
	{spec: `"validations":[{"expression":"true"}],"auditAnnotations":[{"key":"k","valueExpression":"authorizer.path('/a').check('get').reason()"}]`, object: web},
	ignoring(`"validations":[{"expression":"object.x == 1"},{"expression":"false"}],"auditAnnotations":[{"key":"o","valueExpression":"string(object.spec.nothing)"}]`),
	ignoring(`"matchConditions":[{"name":"a","expression":"1/0 == 1"}],"validations":[{"expression":"false"}]`),
	ignoring(`"validations":[{"expression":"object."}]`),
	{spec: costly(3), object: web},
	{spec: costly(13), object: web},
}...)

func ignoring(spec string) decision {
	return decision{spec: `"failurePolicy":"Ignore","matchConstraints":{"matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},"resourceRules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"scope":"*"}]},` + spec, object: web}
}

// costly makes validations that each cost almost all that a call may.
func costly(count int) string {
	ten := "[1,2,3,4,5,6,7,8,9,10]"
	expression := ten + ".all(a, " + ten + ".all(b, " + ten + ".all(c, " + ten + ".all(d, " + ten + ".all(e, a + b + c + d + e > 0)))))"
	list := ""
	for i := range count {
		if i > 0 {
			list += ","
		}
		list += `{"expression":"` + expression + `"}`
	}
	return `"validations":[` + list + `]`
}

func apply(list ...string) (all []mutation) {
	for _, expression := range list {
		all = append(all, mutation{expression: expression, object: web})
	}
	return all
}

func patches(list ...string) (all []mutation) {
	for _, expression := range list {
		all = append(all, mutation{expression: expression, object: web, patch: true})
	}
	return all
}

const container = "Object.spec.template.spec.containers"

func inPod(fields string) string {
	return "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{" + fields + "}}}}"
}

var mutations = append(append(apply(
	"Object{}",
	"Object{spec: Object.spec{replicas: 1337}}",
	`Object{metadata: Object.metadata{annotations: {"mutated-by": "admission-policy"}}}`,
	`Object{metadata: Object.metadata{labels: {"b": "2"}}}`,
	"Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
	"Object{spec: Object.spec{replicas: '1'}}",
	"Object{spec: Object.spec{replicasx: 1}}",
	"Object{spec: Object.specx{replicas: 1}}",
	"Object{spec: Object.spec{template: Object.template{}}}",
	"Object.spec{}",
	"1",
	"[Object{}]",
	"Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'l': 'v'}}}}",
	inPod("tolerations: [Object.spec.template.spec.tolerations{key: 'a'}]"),
	inPod("containers: ["+container+"{name: 'c', image: 'x'}]"),
	inPod("containers: ["+container+"{name: 'e', image: 'x', args: ['a']}]"),
	inPod("containers: ["+container+"{name: 'e', image: 'x'}]"),
	inPod("containers: ["+container+"{name: 'd', image: 'x'}, "+container+"{name: 'c', image: 'y'}]"),
	inPod("containers: ["+container+"{name: 'c', env: ["+container+".env{name: 'F', value: '3'}, "+container+".env{name: 'G', value: '4'}]}]"),
	inPod("containers: ["+container+"{image: 'x'}]"),
	inPod("containers: ["+container+"{name: 'c'}, "+container+"{name: 'c'}]"),
	inPod("containers: object.spec.template.spec.containers.map(c, "+container+"{name: c.name, image: c.image + '-x'})"),
	inPod("nodeSelector: {'a': 'b'}"),
	inPod("hostNetwork: true, ?dnsPolicy: optional.none()"),
	inPod("hostNetwork: true, ?dnsPolicy: optional.of('Default')"),
	"Object{metadata: Object.metadata{labels: {'a': 1}}}",
	"Object{kind: 'Other', spec: Object.spec{paused: true}}",
	"Object{spec: {'replicas': 3}}",
	"object.spec.replicas == 2 ? Object{spec: Object.spec{replicas: 3}} : Object{}",
	"Object{spec: Object.spec{replicas: object.spec.nothing}}",
	"Object{spec: Object.spec{replicas: variables.n}}",
	"Object{spec: Object.spec{",
	"Unknown{}",
	"Object{spec: Object.spec{strategy: Object.spec.strategy{rollingUpdate: Object.spec.strategy.rollingUpdate{maxSurge: '25%', maxUnavailable: 1}}}}",
), patches(
	"[JSONPatch{op: 'add', path: '/metadata/labels/b', value: '2'}]",
	"[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas * 2}]",
	"[JSONPatch{op: 'remove', path: '/metadata/labels'}]",
	"[JSONPatch{op: 'remove', path: '/metadata/annotations'}]",
	"[JSONPatch{op: 'test', path: '/spec/replicas', value: 3}, JSONPatch{op: 'replace', path: '/spec/replicas', value: 4}]",
	"[JSONPatch{op: 'test', path: '/spec/replicas', value: 2}, JSONPatch{op: 'replace', path: '/spec/replicas', value: 4}]",
	"[JSONPatch{op: 'test', path: '/spec/nothing', value: 2}]",
	"[JSONPatch{op: 'copy', from: '/spec/template/metadata/labels', path: '/metadata/annotations'}]",
	"[JSONPatch{op: 'move', from: '/metadata/labels', path: '/metadata/annotations'}]",
	"[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b~c'), value: 'x'}]",
	"[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: Object.spec.template.spec.containers{name: 'e', image: 'x'}}]",
	"[JSONPatch{op: 'add', path: '/spec/template/spec/containers/0', value: {'name': 'e', 'image': 'x'}}]",
	"[JSONPatch{op: 'add', path: '/spec/template/spec', value: Object.spec{template: Object.wrong{}}}]",
	"[JSONPatch{op: 'odd', path: '/spec'}]",
	"[JSONPatch{op: 'add', path: '/spec/replicas'}]",
	"[JSONPatch{op: 'add', path: '/spec/unknown', value: 1}]",
	"[JSONPatch{op: 'replace', path: '/spec/replicas', value: 'many'}]",
	"[JSONPatch{op: 'replace', path: '/spec/nothing/deeper', value: 1}]",
	"[JSONPatch{op: 'add', path: '/metadata/annotations', value: {'d': string(duration('1h'))}}]",
	"[JSONPatch{op: 1, path: '/a'}]",
	"JSONPatch{op: 'add'}",
	"[]",
	"[1]",
	"object.spec.replicas > 1 ? [JSONPatch{op: 'replace', path: '/spec/replicas', value: 1}] : []",
	"[JSONPatch{op: 'replace', path: '/spec/replicas', value: 1}] + [JSONPatch{op: 'replace', path: '/spec/paused', value: true}]",
	"[JSONPatch{op: 'replace', path: '/spec/replicas', value: variables.nothing}]",
	"[JSONPatch{op: 'replace', path: '/spec/paused', value: authorizer.requestResource.check('get').allowed()}]",
)...), []mutation{
	{expression: "Object{spec: Object.spec{replicas: variables.n}}", spec: `"variables":[{"name":"n","expression":"object.spec.replicas + 5"}],`, object: web},
	{expression: "Object{spec: Object.spec{replicas: variables.n}}", spec: `"variables":[{"name":"n","expression":"object.spec.nothing"}],`, object: web},
	{expression: "[JSONPatch{op: 'replace', path: '/spec/replicas', value: variables.n}]", spec: `"variables":[{"name":"n","expression":"object.spec.replicas + 5"}],`, object: web, patch: true},
}...)

func webhooks(conditions string) string {
	return `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"w"},"webhooks":[{"name":"a.example.com",
"clientConfig":{"url":"https://a"},"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Fail","matchPolicy":"Equivalent","namespaceSelector":{},"objectSelector":{},"timeoutSeconds":10,"matchConditions":` + conditions + `}]}`
}

const vap, mapolicy = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"

func mutating(spec, part, expression string) string {
	kinds := map[string]string{"jsonPatch": "JSONPatch", "applyConfiguration": "ApplyConfiguration"}
	return policy(mapolicy, spec+`"mutations":[{"patchType":"`+kinds[part]+`","`+part+`":{"expression":"`+expression+`"}}]`)
}

var written = []string{
	webhooks(`[{"name":"a","expression":"true"}]`),
	webhooks(`[{"name":"a","expression":" object.spec. "},{"name":"b","expression":"1"},{"name":"c","expression":"params.a == 1"}]`),
	webhooks(`[{"name":"a","expression":"variables.a == 1"},{"name":"b","expression":"authorizer.path('/a').check('get').allowed()"},{"name":"c","expression":"request.nothing == 1"}]`),
	webhooks(`[{"name":"a","expression":"namespaceObject.metadata.uid == ''"},{"name":"b","expression":"'a'.matches('[')"},{"name":"c","expression":"object.x"}]`),
	policy(vap, `"validations":[{"expression":"object.x > 1"}]`),
	policy(vap, `"validations":[{"expression":"object.x >"},{"expression":"1 + 'a'"},{"expression":"'a'"}]`),
	policy(vap, `"validations":[{"expression":"params.x > 1","messageExpression":"params.x"}]`),
	policy(vap, `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConditions":[{"name":"a","expression":"params.x > 1"}],"validations":[{"expression":"params.x > 1","messageExpression":"string(params.x)"}]`),
	policy(vap, `"validations":[{"expression":"variables.x > 1"}]`),
	policy(vap, `"variables":[{"name":"x","expression":"1"},{"name":"y","expression":"variables.z"},{"name":"z","expression":"1 +"}],"validations":[{"expression":"variables.x > 1"},{"expression":"variables.x == 'a'"},{"expression":"variables.z == 1"}]`),
	policy(vap, `"variables":[{"name":"x","expression":"request"}],"matchConditions":[{"name":"a","expression":"variables.x.name == ''"}],"validations":[{"expression":"variables.x.anything"},{"expression":"variables.x.anything == 1"}]`),
	policy(vap, `"validations":[{"expression":"true","messageExpression":"1"},{"expression":"true","messageExpression":"authorizer.path('/a').check('get').reason()"},{"expression":"true","messageExpression":" 'a'"}]`),
	policy(vap, `"auditAnnotations":[{"key":"a","valueExpression":"'a'"},{"key":"b","valueExpression":" 1 "},{"key":"c","valueExpression":"null"},{"key":"d","valueExpression":"object.x"},{"key":"e","valueExpression":"timestamp('2020-01-01T00:00:00Z')"}]`),
	policy(vap, `"validations":[{"expression":"Object{} == 1"},{"expression":"jsonpatch.escapeKey('a') == 'a'"},{"expression":"timestamp('x') == timestamp('y')"},{"expression":"[1, 'a'].size() == 2"},{"expression":"true || false &&"}]`),
	mutating("", "applyConfiguration", "Object{spec: Object.spec{replicas: 1}}"),
	mutating("", "applyConfiguration", " Object{spec: 1 + 'a'} "),
	mutating("", "applyConfiguration", "Object.spec{}"),
	mutating("", "applyConfiguration", "object"),
	mutating("", "applyConfiguration", "variables.a"),
	mutating(`"variables":[{"name":"a","expression":"Object{}"}],`, "applyConfiguration", "variables.a"),
	mutating(`"variables":[{"name":"a","expression":"[1]"}],`, "applyConfiguration", "Object{spec: Object.spec{x: variables.a[0]}}"),
	mutating("", "jsonPatch", "[JSONPatch{op: 'add', path: '/a', value: 1}]"),
	mutating("", "jsonPatch", "[]"),
	mutating("", "jsonPatch", "JSONPatch{}"),
	mutating("", "jsonPatch", "[JSONPatch{op: 1}]"),
	mutating("", "jsonPatch", "[Object{}]"),
	mutating(`"matchConditions":[{"name":"a","expression":"Object{} == 1"},{"name":"b","expression":"params.a"}],`, "jsonPatch", "[JSONPatch{op: params.a}]"),
	mutating(`"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConditions":[{"name":"b","expression":"params.a == 1"}],`, "jsonPatch", "[JSONPatch{op: params.a, path: '/' + jsonpatch.escapeKey(params.b)}]"),
}

func rules(group, resources string) string {
	return `"failurePolicy":"Fail","matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":[` + group + `],"apiVersions":["v1"],"resources":[` + resources + `]}]},`
}

var typed = []string{
	`"validations":[{"expression":"object.spec.replicas > 1"}]`,
	`"validations":[{"expression":"object.spec.replicas > '1'","messageExpression":"'wants replicas > 1, got ' + object.spec.replicas"}]`,
	`"validations":[{"expression":"object.spec.maxRetries < 10"},{"expression":"object.spec.template.spec.containers.all(c, c.image == c.ports)"}]`,
	`"variables":[{"name":"n","expression":"object.spec.replicas"}],"validations":[{"expression":"variables.n == 'a'"},{"expression":"variables.m == 'a'"}]`,
	`"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"validations":[{"expression":"params.data.max == 1"},{"expression":"params.nothing == 1"}]`,
	`"paramKind":{"apiVersion":"example.com/v1","kind":"Unknown"},"validations":[{"expression":"params.nothing == 1"}]`,
	`"validations":[{"expression":"object.metadata.creationTimestamp > '2020'"},{"expression":"object.metadata.labels.a == 1"},{"expression":"object.spec.strategy.rollingUpdate.maxSurge == 1"}]`,
	`"validations":[{"expression":"object.metadata.managedFields[0].fieldsV1 == 1"},{"expression":"object.kind == 1"},{"expression":"authorizer.requestResource.check('get').allowed()"}]`,
	rules(`"", "apps"`, `"pods", "deployments", "services"`) + `"validations":[{"expression":"object.spec.replicas > 1"}]`,
	rules(`""`, `"secrets"`) + `"validations":[{"expression":"object.data.a == 'x'"},{"expression":"object.immutable == 1"}]`,
	rules(`"*"`, `"pods"`) + `"validations":[{"expression":"object.spec.replicas > 1"}]`,
	rules(`""`, `"pods/status", "*"`) + `"validations":[{"expression":"object.spec.replicas > 1"}]`,
	rules(`"example.com"`, `"unknown"`) + `"validations":[{"expression":"object.spec.replicas > 1"}]`,
}
