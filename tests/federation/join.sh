#!/usr/bin/env bash
# Real cells that join, are reached through the server, die, and leave.
#
#   CELL_1=KUBECONFIG CELL_2=KUBECONFIG CELL_3=KUBECONFIG HANSE=BINARY tests/federation/join.sh
set -euo pipefail
# shellcheck source=tests/federation/stage.sh
. "$(dirname "$0")/stage.sh"
proxy=/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy
maps=$proxy/api/v1/namespaces/default/configmaps
patience=30

# refused WHAT WORDS COMMAND...: the command fails soon, and its message has these words.
refused() {
    local began=$SECONDS what=$1 words=$2
    shift 2
    if "$@" >"$dir/refused" 2>&1; then
        say "it was taken: $what"
        exit 1
    fi
    grep -q -- "$words" "$dir/refused" || { cat "$dir/refused" >&2; say "that says too little: $what"; exit 1; }
    ((SECONDS - began <= patience)) || { say "it took too long: $what"; exit 1; }
    say "ok: $what"
}
join() { "$hanse" cell join "$@"; }

start
say "--- what cannot join says why"
sed 's/token: .*}}/token: wrong}}/' "$CELL_1" >"$dir/expired"
refused "a token that is not known" Unauthorized join odd --cell-kubeconfig "$dir/expired"
sed 's,server: "[^"]*",server: "https://127.0.0.1:9",' "$CELL_1" >"$dir/nowhere"
refused "an address where nobody is" "cannot be reached" join odd --cell-kubeconfig "$dir/nowhere"
sed 's,certificate-authority-data: [^}]*,certificate-authority-data: bm9uZQ==,' "$CELL_1" >"$dir/unsigned"
refused "an authority that is none" certificate join odd --cell-kubeconfig "$dir/unsigned"
refused "a file that is not there" missing join odd --cell-kubeconfig "$dir/missing"
equal "" hub get cells -o name || { say "something joined all the same"; exit 1; }

say "--- the sample that everybody begins with"
for n in 1 2 3; do
    kubeconfig=CELL_$n
    join "member$n" --cell-kubeconfig "${!kubeconfig}"
done
hub apply -f "$here/karmada.yaml" >/dev/null
for n in 1 2; do
    until_so 30 "nginx is in member$n" cell $n get deployment nginx
    cell $n patch deployment nginx --subresource=status --type=merge \
        -p '{"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"updatedReplicas":1,"availableReplicas":1}}' >/dev/null
done
ready() { hub get deployment nginx --no-headers | awk '{print $2}'; }
until_so 10 "kubectl shows it whole" equal 2/2 ready
hub get deployment nginx
hub create configmap y --from-literal v=1 >/dev/null
hub label configmap y go=everywhere >/dev/null
for n in 1 2 3; do until_so 10 "y is in member$n" cell $n get configmap y; done
named() { hub get placements | grep -q 'member1,member2,member3'; }
until_so 5 "a placement names all its cells" named

say "--- through the server to a cell"
hub get --raw "$proxy/apis/apps/v1/namespaces/default/deployments/nginx" | grep -q '"readyReplicas":1'
refused "who may not even ask here is refused here" forbidden hub --as=alice get --raw "$maps"
hub create clusterrole through --verb=get --resource=clusters.cluster.karmada.io/proxy >/dev/null
hub create clusterrolebinding alice --clusterrole=through --user=alice >/dev/null
refused "who may nothing there is refused there" 'cannot list resource.*configmaps' hub --as=alice get --raw "$maps"
cell 1 create role reader --verb=list --resource=configmaps >/dev/null
cell 1 create rolebinding alice --role=reader --user=alice >/dev/null
sees() { hub --as=alice get --raw "$maps" | grep -q '"name":"y"'; }
until_so 5 "who may see something there sees it" sees
refused "and nothing else" 'cannot list resource.*secrets' hub --as=alice get --raw "$proxy/api/v1/namespaces/default/secrets"
clean

say "--- a cell dies"
stopped=$(cat "$(dirname "$CELL_3")/kube-apiserver.pid")
kill -STOP "$stopped"
hub create configmap z --from-literal v=1 >/dev/null
hub label configmap z go=everywhere >/dev/null
for n in 1 2; do until_so 10 "member$n does not wait for it" cell $n get configmap z; done
refused "leaving waits for what is there, and not for ever" "still to be removed" "$hanse" cell leave member3 --wait 3
until_so 60 "that it is away is told" fails equal True hub get cell member3 -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
began=$SECONDS
"$hanse" cell leave member3 --force | grep 'objects were left in it'
((SECONDS - began <= patience)) || { say "it took too long to forget a dead cell"; exit 1; }
fails hub get cell member3 2>/dev/null || { say "it is not forgotten"; exit 1; }
hub delete configmap z --timeout 20s >/dev/null
say "ok: nothing waits for a cell that was forgotten"
clean
kill -CONT "$stopped"
stopped=
until_so 30 "it is alive again, with what was left in it" cell 3 get configmap y
join member3 --cell-kubeconfig "$CELL_3"
applied() { hub get copies -o 'jsonpath={range .items[?(@.spec.cell.name=="member3")]}{.spec.object.name}={.status.applied} {end}' | grep -q y=True; }
until_so 20 "it is taken up again" applied
hub patch configmap y --type=merge -p '{"data":{"v":"2"}}' >/dev/null
until_so 10 "and kept up to date" equal 2 cell 3 get configmap y -o 'jsonpath={.data.v}'
clean

say "--- everything goes"
for n in 1 2 3; do
    "$hanse" cell leave "member$n"
    equal "" cell $n get configmaps,deployments -A -l federation.hanse.dev/owner -o name || { say "something of ours is left in cell $n"; exit 1; }
done
hub get configmap y >/dev/null
hub delete -f "$here/karmada.yaml" --timeout 60s >/dev/null
hub delete configmap y --timeout 20s >/dev/null
"$hanse" fsck
say "everything holds"
