# What is told with a server of our own and real cells. To be read by other scripts.
#
# From the environment: HANSE the binary, TOOLS where kubectl is, CELL_1, CELL_2 ... the kubeconfigs of the cells.

hanse=${HANSE:?the hanse binary}
kubectl=${TOOLS:?where kubectl is}/kubectl
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d)
export KUBECONFIG=$dir/data/admin.kubeconfig
server=
# A process of a cell that is made to hang; it is let go on at the end.
stopped=
port=$((20000 + RANDOM % 12000))
url=https://127.0.0.1:$port

hub() { "$kubectl" --kubeconfig "$KUBECONFIG" "$@"; }
# in_workspace PATH ARGS...: the same in another workspace.
in_workspace() { "$kubectl" --kubeconfig "$KUBECONFIG" --server "$url/clusters/$1" "${@:2}"; }
cell() {
    local kubeconfig=CELL_$1
    "$kubectl" --kubeconfig "${!kubeconfig}" "${@:2}"
}
say() { printf '%s\n' "$*" >&2; }

start() {
    : >"$dir/server.log"
    "$hanse" serve --listen "127.0.0.1:$port" --data-dir "$dir/data" >>"$dir/server.log" 2>&1 &
    server=$!
    local deadline=$((SECONDS + 60))
    until grep -qw ready "$dir/server.log"; do
        if ! kill -0 "$server" 2>/dev/null || ((SECONDS > deadline)); then
            cat "$dir/server.log" >&2
            say "the server did not become ready"
            exit 1
        fi
        sleep 0.05
    done
}

stop() {
    trap - EXIT
    [ -z "$stopped" ] || kill -CONT "$stopped" 2>/dev/null || true
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$dir"
}
trap stop EXIT
trap exit INT TERM

# until_so SECONDS WHAT COMMAND...: waits until the command succeeds.
until_so() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS > deadline)); then
            say "it never came true: $what"
            hub get cells,placements,copies -o wide >&2 || true
            tail -n 20 "$dir/server.log" >&2
            exit 1
        fi
        sleep 0.1
    done
    say "ok: $what"
}

equal() { [ "$("${@:2}")" = "$1" ]; }
fails() { ! "$@"; }
# Nothing is lost, doubled or forgotten, in any workspace.
clean() {
    local deadline=$((SECONDS + 60))
    until "$hanse" fsck >"$dir/fsck.log" 2>&1; do
        if ((SECONDS > deadline)); then
            cat "$dir/fsck.log" >&2
            tail -n 20 "$dir/server.log" >&2
            exit 1
        fi
    done
    say "ok: everything is as recorded"
}
