#!/usr/bin/env bash
# Puts a server behind a real kube-apiserver, and uses its kinds through that one.
#
#   KUBECONFIG=KUBECONFIG_OF_THE_HOST HANSE=BINARY TOOLS=... tests/aggregation/behind.sh
#
# The host is what tests/aggregation/host.sh runs, with its namespace controller.
set -euo pipefail

hanse=${HANSE:?the hanse binary}
kubectl=${TOOLS:?where kubectl is}/kubectl
dir=$(mktemp -d)
server=
stop() {
    trap - EXIT
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    rm -rf "$dir"
}
trap stop EXIT
trap exit INT TERM

host() { "$kubectl" --kubeconfig "$KUBECONFIG" "$@"; }
say() { printf '%s\n' "$*" >&2; }
fail() {
    say "it does not hold: $*"
    tail -n 30 "$dir/hanse.log" >&2 || true
    exit 1
}

# until_so SECONDS WHAT COMMAND...: waits until the command succeeds.
until_so() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >"$dir/last" 2>&1; do
        ((SECONDS > deadline)) && { cat "$dir/last" >&2; fail "$what"; }
        sleep 0.2
    done
    say "ok: $what"
}
holds() {
    local what=$1
    shift
    "$@" >"$dir/last" 2>&1 || { cat "$dir/last" >&2; fail "$what"; }
    say "ok: $what"
}
# says TEXT COMMAND...: what the command answers holds the text, whether it succeeds or not.
says() { "${@:2}" >"$dir/said" 2>&1 || true; grep -qF -- "$1" "$dir/said" || { cat "$dir/said"; return 1; }; }
equal() { [ "$("${@:2}")" = "$1" ]; }
fails() { ! "$@"; }

# Endpoints may not name a loopback address.
address=$(hostname -I | awk '{ print $1 }')
while port=$((20000 + RANDOM % 12000)) && (exec 3<>"/dev/tcp/$address/$port") 2>/dev/null; do :; done

# Who the server is in the host, before it is started: roles first, then a token of its account.
"$hanse" install apiservice --data-dir "$dir/data" --external-address "$address:$port" >"$dir/manifests.yaml"
host apply -f "$dir/manifests.yaml" >/dev/null
token=$(host -n hanse-system create token hanse)
sed "s/token: .*}}/token: $token}}/" "$KUBECONFIG" >"$dir/host.kubeconfig"

"$hanse" serve --data-dir "$dir/data" --listen "$address:$port" --aggregated \
    --authentication-kubeconfig "$dir/host.kubeconfig" --authorization-kubeconfig "$dir/host.kubeconfig" >"$dir/hanse.log" 2>&1 &
server=$!
until_so 60 "the server is ready" grep -qw ready "$dir/hanse.log"
for service in v1alpha1.federation.hanse.dev v1alpha1.policy.karmada.io; do
    until_so 60 "$service is available" host wait --for=condition=Available --timeout=1s apiservice/"$service"
done
until_so 60 "the host discovers our kinds" says federationrules host api-resources --api-group=federation.hanse.dev
until_so 90 "the host explains our kinds" says resourceSelectors host explain propagationpolicy.spec
until_so 90 "the host has one OpenAPI of its own and ours" \
    says PropagationPolicy host get --raw /openapi/v3/apis/policy.karmada.io/v1alpha1
holds "what the host serves itself is still described by it" says '"io.k8s.api.apps.v1.Deployment"' host get --raw /openapi/v3/apis/apps/v1

policy() {
    cat <<EOF
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: { name: web, namespace: $1, labels: { color: $2 } }
spec:
  resourceSelectors: [{ apiVersion: apps/v1, kind: Deployment, name: web }]
  placement: { clusterAffinity: { clusterNames: [dfw] } }
EOF
}
host create namespace shop >/dev/null
holds "a policy is made in a namespace of the host" host create -f <(policy shop blue)
holds "it is listed" says web host -n shop get propagationpolicies
holds "it is applied" host apply --server-side --force-conflicts -f <(policy shop green)
holds "and has changed" equal green host -n shop get propagationpolicy web -o 'jsonpath={.metadata.labels.color}'
holds "it is patched" host -n shop patch propagationpolicy web --type=merge -p '{"spec":{"priority":3}}'
holds "a namespace that the host does not have is not there" says 'namespaces "nowhere" not found' host create -f <(policy nowhere blue)
cell() { printf 'apiVersion: federation.hanse.dev/v1alpha1\nkind: Cell\nmetadata: { name: dfw }\nspec: { mode: Pull, region: us }\n'; }
holds "a cell is made" host create -f <(cell)
holds "it is told in a table with columns of its own" says REGION host get cells

host -n shop get propagationpolicies --watch-only -o name >"$dir/watched" 2>&1 &
watcher=$!
until_so 20 "a change is watched" bash -c "'$kubectl' --kubeconfig '$KUBECONFIG' -n shop label propagationpolicy web seen=\$RANDOM --overwrite && grep -q web '$dir/watched'"
kill "$watcher" 2>/dev/null || true

holds "who may nothing is refused" says 'cannot list resource "cells"' host --as eve get cells
host create clusterrole reader --verb=get,list --resource=cells.federation.hanse.dev >/dev/null
host create clusterrolebinding reader --clusterrole=reader --user=eve >/dev/null
until_so 30 "who was given a role may" says dfw host --as eve get cells
holds "but no more than that" says 'cannot delete resource "cells"' host --as eve delete cell dfw

here="https://$address:$port"
direct() { curl -sk "$@"; }
holds "names in headers are nothing without the proxy's certificate" \
    says 'system:anonymous' direct -H 'X-Remote-User: admin' -H 'X-Remote-Group: system:masters' "$here/apis/federation.hanse.dev/v1alpha1/cells"
host -n shop create serviceaccount robot >/dev/null
robot=$(host -n shop create token robot)
holds "a token of the host is somebody here" says 'system:serviceaccount:shop:robot' \
    direct -H "Authorization: Bearer $robot" "$here/apis/federation.hanse.dev/v1alpha1/cells"
host create clusterrolebinding robot --clusterrole=reader --serviceaccount=shop:robot >/dev/null
until_so 30 "the host decides about it" says '"dfw"' direct -H "Authorization: Bearer $robot" "$here/apis/federation.hanse.dev/v1alpha1/cells"
admin=$(sed -n 's/.*token: \(.*\)}}/\1/p' "$KUBECONFIG")
holds "masters of the host are masters in one workspace alone" \
    says '"Forbidden"' direct -H "Authorization: Bearer $admin" "$here/clusters/root/api/v1/namespaces"

holds "a namespace goes with what of ours is in it" host delete namespace shop --timeout 60s
holds "nothing is left" fails says web host get propagationpolicies -A
holds "a cell is deleted" host delete cell dfw --timeout 30s
say "everything holds"
