#!/usr/bin/env bash
# Runs a command beside three real cells, and ends as the command ends.
#
#   TOOLS=... tests/federation/cells.sh COMMAND...
#
# COMMAND finds their kubeconfigs in $CELL_1, $CELL_2 and $CELL_3. In the third, deployments become replica sets, unless PLAIN
# is set.
set -euo pipefail

peers=$(cd "$(dirname "$0")/../peers" && pwd)
common=namespace-controller,garbage-collector-controller
dir=$(mktemp -d)
ready_seconds=240
pids=()

stop() {
    trap - EXIT
    # The command first, so that it does not lose its cells.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null || true
        wait "${pids[i]}" 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap stop EXIT
trap exit INT TERM

for n in 1 2 3; do
    controllers=$common
    [ "$n" != 3 ] || [ -n "${PLAIN:-}" ] || controllers=$common,deployment-controller,replicaset-controller
    CONTROLLERS=$controllers "$peers/kube.sh" "$dir/cell$n" >"$dir/cell$n.log" 2>&1 &
    pids+=($!)
done
deadline=$((SECONDS + ready_seconds))
for n in 1 2 3; do
    until grep -qw ready "$dir/cell$n.log"; do
        if ! kill -0 "${pids[n - 1]}" 2>/dev/null || ((SECONDS > deadline)); then
            cat "$dir/cell$n.log" >&2
            echo "cell $n did not become ready" >&2
            exit 1
        fi
        sleep 0.2
    done
    export "CELL_$n=$dir/cell$n/admin.kubeconfig"
done

status=0
"$@" &
pids+=($!)
wait "${pids[3]}" || status=$?
exit "$status"
