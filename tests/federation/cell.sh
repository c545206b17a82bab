#!/usr/bin/env bash
# Federates objects from a server into a real cell, and back out of it.
#
#   CELL=KUBECONFIG_OF_THE_CELL KUBECONFIG=KUBECONFIG_OF_THE_SERVER HANSE=BINARY tests/federation/cell.sh
#
# The cell is a kube-apiserver with its namespace controller; TOOLS says where kubectl is.
set -euo pipefail

hanse=${HANSE:?the hanse binary}
kubectl=${TOOLS:?where kubectl is}/kubectl
here=$(cd "$(dirname "$0")" && pwd)

hub() { "$kubectl" --kubeconfig "$KUBECONFIG" "$@"; }
cell() { "$kubectl" --kubeconfig "$CELL" "$@"; }
say() { printf '%s\n' "$*" >&2; }

# until SECONDS WHAT COMMAND...: waits until the command succeeds.
until_so() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS > deadline)); then
            say "it never came true: $what"
            hub get cells,placements,copies >&2 || true
            exit 1
        fi
        sleep 0.05
    done
    say "ok: $what"
}

equal() { [ "$("${@:2}")" = "$1" ]; }
fails() { ! "$@"; }

"$hanse" cell join real --cell-kubeconfig "$CELL" --label city=dfw --region us
"$hanse" cell list
hub apply -f "$here/nginx.yaml"
until_so 20 "the deployment is in the cell" cell -n shop get deployment nginx
until_so 5 "and so is what else the rule selects" cell -n shop get configmap settings
equal 2 cell -n shop get deployment nginx -o 'jsonpath={.spec.replicas}' || { say "replicas differ"; exit 1; }

cell -n shop patch deployment nginx --subresource=status --type=merge \
    -p '{"status":{"observedGeneration":1,"replicas":2,"readyReplicas":2,"updatedReplicas":2,"availableReplicas":2}}'
until_so 2 "its status is told at home" equal 2 hub -n shop get deployment nginx -o 'jsonpath={.status.readyReplicas}'

cell -n shop patch configmap settings --type=merge -p '{"data":{"color":"red"}}'
until_so 5 "what was changed in the cell is put right" equal blue cell -n shop get configmap settings -o 'jsonpath={.data.color}'
cell -n shop label configmap settings mine=yes
hub -n shop patch configmap settings --type=merge -p '{"data":{"color":"green"}}'
until_so 5 "a change at home gets there" equal green cell -n shop get configmap settings -o 'jsonpath={.data.color}'
equal yes cell -n shop get configmap settings -o 'jsonpath={.metadata.labels.mine}' || { say "a label of the cell is lost"; exit 1; }
cell -n shop delete configmap settings
until_so 5 "what was deleted in the cell is back" cell -n shop get configmap settings

"$hanse" fsck
hub -n shop delete deployment nginx --timeout 30s
fails cell -n shop get deployment nginx || { say "it is gone at home before it is gone in the cell"; exit 1; }
say "ok: what is deleted is gone from the cell first"
"$hanse" fsck
"$hanse" cell leave real
until_so 5 "a cell that left holds nothing" fails cell -n shop get configmap settings
say "everything holds"
