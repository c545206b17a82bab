#!/usr/bin/env bash
# Runs a command against a server that is started for it, and ends as the command ends.
#
#   tests/peers/with.sh "SERVER" COMMAND...
#
# SERVER is a command line that takes a directory as its last argument, puts admin.kubeconfig there, then prints a
# line with the word "ready" to stderr, and runs until it is stopped: tests/peers/kube.sh, or hanse serve.
# COMMAND finds the kubeconfig in $KUBECONFIG.
set -euo pipefail

server=${1:?usage: with.sh SERVER COMMAND...}
shift
dir=$(mktemp -d)
ready_seconds=150
pids=()

stop() {
    trap - EXIT
    # The command first, so that it does not lose its server.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null || true
        wait "${pids[i]}" 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap stop EXIT
trap exit INT TERM

# shellcheck disable=SC2086
$server "$dir/data" >"$dir/server.log" 2>&1 &
pids+=($!)
deadline=$((SECONDS + ready_seconds))
until grep -qw ready "$dir/server.log" && [ -s "$dir/data/admin.kubeconfig" ]; do
    if ! kill -0 "${pids[0]}" 2>/dev/null || ((SECONDS > deadline)); then
        cat "$dir/server.log" >&2
        echo "the server did not become ready: $server" >&2
        exit 1
    fi
    sleep 0.1
done

status=0
KUBECONFIG="$dir/data/admin.kubeconfig" "$@" &
pids+=($!)
# In the background, because a signal is heard here only between commands, or while waiting.
wait "${pids[1]}" || status=$?
if [ "$status" != 0 ]; then
    echo "--- the end of what the server said:" >&2
    tail -n 40 "$dir/server.log" >&2
fi
exit "$status"
