#!/usr/bin/env bash
# Tells stories to a Karmada that runs and to a server of our own, and compares what can be seen of them.
#
#   KARMADA=HUB,MEMBER1,MEMBER2,MEMBER3 CELL_1=KUBECONFIG CELL_2=KUBECONFIG CELL_3=KUBECONFIG HANSE=BINARY \
#       tests/federation/beside.sh [STORY...]
#
# KARMADA are kubeconfigs of the hub and of its members, which are named member1, member2 and member3.
set -euo pipefail
# shellcheck source=tests/federation/stage.sh
. "$(dirname "$0")/stage.sh"

start
for n in 1 2 3; do
    kubeconfig=CELL_$n
    "$hanse" cell join "member$n" --cell-kubeconfig "${!kubeconfig}"
done
KUBECTL=$kubectl KARMADA=${KARMADA:?kubeconfigs of a Karmada and its members} \
    BESIDE=$KUBECONFIG,$CELL_1,$CELL_2,$CELL_3 python3 "$here/beside.py" "$@"
