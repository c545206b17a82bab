#!/usr/bin/env bash
# Walks through kcp's quickstart of tenancy and APIs with the plugins that kcp's users have, and compares what they say.
#
#   KUBECONFIG=KUBECONFIG_OF_THE_SERVER TOOLS=DIR [KCP_PLUGINS=DIR] tests/clients/kcp/quickstart.sh
#
# TOOLS says where kubectl is, KCP_PLUGINS where kubectl-ws, kubectl-create-workspace and kubectl-kcp are if they are not
# on the path.
set -euo pipefail

kubectl=${TOOLS:?where kubectl is}/kubectl
PATH=${KCP_PLUGINS:+$KCP_PLUGINS:}$PATH
for plugin in kubectl-ws kubectl-create-workspace kubectl-kcp; do
    command -v "$plugin" >/dev/null || {
        echo "$plugin is missing: KCP_PLUGINS=DIR says where kcp's plugins are" >&2
        exit 1
    }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# As it is installed for `kubectl create-workspace`; by its own name it is `kubectl create workspace`.
mkdir "$dir/bin"
ln -s "$(command -v kubectl-create-workspace)" "$dir/bin/kubectl-create_workspace"
PATH=$dir/bin:$PATH
# The plugins write down in it where they are.
cp "${KUBECONFIG:?names no server}" "$dir/kubeconfig"
export KUBECONFIG=$dir/kubeconfig
cd "$dir"

k() { "$kubectl" --cache-dir "$dir/cache" "$@"; }
# Plugins are found by the first word, and take no flag before it.
p() { "$kubectl" "$@"; }
fail() {
    printf 'not ok: %s\n' "$1" >&2
    sed 's/^/    /' said >&2
    exit 1
}
# says WHAT TEXT... -- COMMAND...: the command succeeds and says each of the texts.
says() {
    local what=$1 texts=()
    shift
    while [ "$1" != -- ]; do texts+=("$1") && shift; done
    shift
    "$@" >said 2>&1 || fail "$what"
    for text in "${texts[@]}"; do grep -qF -- "$text" said || fail "$what: \"$text\" is not said"; done
    printf 'ok: %s\n' "$what" >&2
}
# refused WHAT TEXT COMMAND...: the command fails and says the text.
refused() {
    ! "${@:3}" >said 2>&1 || fail "$1"
    grep -qF -- "$2" said || fail "$1: \"$2\" is not said"
    printf 'ok: %s\n' "$1" >&2
}

says "the contexts of kcp are there" base root system:admin -- k config get-contexts -o name
k config use-context root >said
says "the version" "Server Version: v" -- k version
says "kinds of kcp" "apis.kcp.io/v1alpha2" "workspaces" "tenancy.kcp.io/v1alpha1" -- k api-resources

# Workspaces, and the ways between them.
says "ws ." "Current workspace is 'root'." -- p ws .
says "a workspace, entered" 'Workspace "a" (type root:organization) is ready to use.' \
    "Current workspace is 'root:a' (type root:organization)." -- p create-workspace a --enter
says "a workspace in it" 'Workspace "b" (type root:universal) is ready to use.' -- p create-workspace b
says "it is listed" "universal" "Ready" "/clusters/root:a:b" -- k get workspaces
says "ws b" "Current workspace is 'root:a:b' (type root:universal)." -- p ws b
says "ws .." "Current workspace is 'root:a'" -- p ws ..
says "ws -" "Current workspace is 'root:a:b'" -- p ws -
says "ws :root" "Current workspace is 'root'" -- p ws :root
says "the plugin keeps two contexts" workspace.kcp.io/current workspace.kcp.io/previous -- k config get-contexts -o name
refused "a workspace that is not there" 'workspace "root:nowhere" not found' "$kubectl" ws nowhere
says "the types" home organization root team universal -- k get workspacetypes
says "a type, described" "Default Child Workspace Type" "Limit Allowed Parents" "Type:                  Ready" \
    -- k describe workspacetype/team
says "a type is asked for" "(type root:universal) is ready to use." -- p create-workspace typed --type root:universal
says "one that is there already" "is ready to use." -- p create-workspace typed --type root:universal --ignore-existing
refused "a type in the wrong place" "cannot be created in a workspace of type" "$kubectl" create-workspace wrong --type root:team
says "its other name" "is ready to use." -- p create workspace typed2
says "the tree" "a" "b" "typed" -- p ws tree
says "the tree, with what clusters say of themselves" "ws=Ready" "lc=Ready" -- p ws tree --wide
! grep -qF "lc=Unknown" said || fail "the tree: a logical cluster cannot be read"
says "home" "Current workspace is 'user:" -- p ws '~'
says "and back" "Current workspace is 'root'" -- p ws :root

# An API is offered.
says "a provider" "Current workspace is 'root:wildwest'" -- p create-workspace wildwest --enter
says "its service" "Current workspace is 'root:wildwest:cowboys-service'" -- p create-workspace cowboys-service --enter
cat >definition.yaml <<END
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: cowboys.wildwest.dev }
spec:
  group: wildwest.dev
  scope: Namespaced
  names: { plural: cowboys, singular: cowboy, kind: Cowboy, listKind: CowboyList }
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: { status: {} }
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: { type: object, properties: { intent: { type: string } } }
          status: { type: object, properties: { result: { type: string } } }
END
says "a definition becomes a schema" "kind: APIResourceSchema" "today.cowboys.wildwest.dev" \
    -- p kcp crd snapshot -f definition.yaml --prefix today
mkdir schemas
mv said schemas/schema.yaml
cat >schemas/export.yaml <<END
apiVersion: apis.kcp.io/v1alpha2
kind: APIExport
metadata: { name: wildwest.dev }
spec:
  resources: [{ group: wildwest.dev, name: cowboys, schema: today.cowboys.wildwest.dev, storage: { crd: {} } }]
  permissionClaims: [{ group: "", resource: configmaps, verbs: [get, list, watch] }]
END
says "schema and export" "apiresourceschema.apis.kcp.io/today.cowboys.wildwest.dev created" \
    "apiexport.apis.kcp.io/wildwest.dev created" -- k apply -f schemas

# And taken.
says "a consumer" "Current workspace is 'root'" -- p ws :root
says "its workspace" "Current workspace is 'root:test-consumer'" -- p create-workspace test-consumer --enter
cat >binding.yaml <<END
apiVersion: apis.kcp.io/v1alpha2
kind: APIBinding
metadata: { name: cowboys }
spec: { reference: { export: { name: wildwest.dev, path: "root:wildwest:cowboys-service" } } }
END
says "a binding" "apibinding.apis.kcp.io/cowboys created" -- k apply -f binding.yaml
says "the kind is served" "wildwest.dev/v1alpha1" "Cowboy" -- k api-resources --api-group wildwest.dev
cat >cowboy.yaml <<END
apiVersion: wildwest.dev/v1alpha1
kind: Cowboy
metadata: { name: one }
spec: { intent: one }
END
says "an object" "cowboy.wildwest.dev/one created" -- k apply -f cowboy.yaml
says "a claim that nobody has decided about" "claim for configmaps exported but not specified" -- p ws :root:test-consumer
says "root" "Current workspace is 'root'" -- p ws :root
says "its workspace" "Current workspace is 'root:binder'" -- p create-workspace binder --enter
says "bound by the plugin" "created and bound" \
    -- p kcp bind apiexport root:wildwest:cowboys-service:wildwest.dev --name wild --accept-permission-claim configmaps.core
says "claims" "configmaps" "Accepted" -- p kcp claims get apibinding wild
says "a claim, rejected" "is rejected" -- p kcp claims reject wild --resource=configmaps
says "claims" "configmaps" "Rejected" -- p kcp claims get apibinding

# The provider sees what others made.
says "back at the service" "Current workspace is 'root:wildwest:cowboys-service'" -- p ws :root:wildwest:cowboys-service
hash=$(k get apiexport/wildwest.dev -o jsonpath='{.status.identityHash}')
[ "${#hash}" = 64 ] || fail "the identity of an export is 64 digits, and not \"$hash\""
url=$(k get apiexportendpointslice/wildwest.dev -o jsonpath='{.status.endpoints[0].url}')
says "what is seen of all" "apibindings" "cowboys" -- k --server="$url/clusters/*/" api-resources
says "who made what" "LOGICAL CLUSTER" " one" -- k --server="$url/clusters/*/" get -A cowboys \
    -o custom-columns='LOGICAL CLUSTER:.metadata.annotations.kcp\.io/cluster,NAME:.metadata.name'

# The same at once.
says "root" "Current workspace is 'root'" -- p ws :root
says "kcp quickstart" "Quickstart complete!" 'APIBinding "cowboys" created and bound' 'Cowboy "' \
    "Current workspace is 'root:quickstart-org:quickstart-consumer'" -- p kcp quickstart --with-samples --enter
says "its sample" "NAME" -- k get cowboys
says "kcp quickstart --cleanup" "Cleanup complete." -- p kcp quickstart --cleanup
says "a random tree" "30/30 workspaces created" -- p kcp quickstart --scenario workspaces --tree-count 30 --tree-seed 1
says "and no more" "Cleanup complete." -- p kcp quickstart --scenario workspaces --cleanup
