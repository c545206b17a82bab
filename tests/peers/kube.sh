#!/usr/bin/env bash
# Runs a real kube-apiserver on a real etcd, until it is stopped.
#
#   tests/peers/kube.sh DIR
#
# DIR takes all that they write. DIR/admin.kubeconfig, whose user is in system:masters, is there before the line
# "ready" goes to stderr. From the environment:
#   TOOLS        where `make tools` has put them
#   CONTROLLERS  what a real kube-controller-manager runs beside them, as its flag --controllers takes it; nothing if empty
#   KUBE_FLAGS   more flags for kube-apiserver
set -euo pipefail

dir=$(mkdir -p "${1:?usage: kube.sh DIR}" && cd "$1" && pwd)
tools=${TOOLS:-$(cd "$(dirname "$0")/../.." && pwd)/target/tools/bin}
# A machine that builds something else at the same time is slow.
ready_seconds=120
pids=()

stop() {
    trap - EXIT
    # In the order opposite to that of starting, so that nobody loses the server it talks to.
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null || true
        wait "${pids[i]}" 2>/dev/null || true
    done
}
trap stop EXIT
trap exit INT TERM

# Sets $port to one that nobody listens on; below the range from which the kernel gives out ports by itself.
free_port() {
    while port=$((20000 + RANDOM % 12000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
}

# start NAME COMMAND...: runs it in the background, its output in DIR/NAME.log, its process in DIR/NAME.pid.
start() {
    "${@:2}" >"$dir/$1.log" 2>&1 &
    pids+=($!)
    echo $! >"$dir/$1.pid"
}

# await NAME COMMAND...: waits until the command succeeds; fails when the program NAME, started last, has ended.
await() {
    local deadline=$((SECONDS + ready_seconds))
    until "${@:2}" >/dev/null 2>&1; do
        if ! kill -0 "${pids[-1]}" 2>/dev/null || ((SECONDS > deadline)); then
            tail -n 20 "$dir/$1.log" >&2
            echo "$1 did not become ready" >&2
            exit 1
        fi
        sleep 0.1
    done
}

start_etcd() {
    free_port && local peers="http://127.0.0.1:$port"
    free_port && etcd="http://127.0.0.1:$port"
    start etcd "$tools/etcd" --data-dir "$dir/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
        --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers"
    await etcd bash -c "exec 3<>/dev/tcp/127.0.0.1/$port"
}

write_kubeconfig() {
    cat >"$dir/admin.kubeconfig" <<EOF
apiVersion: v1
kind: Config
current-context: kube
contexts:
- {name: kube, context: {cluster: kube, user: admin}}
clusters:
- name: kube
  cluster: {server: "https://127.0.0.1:$port", certificate-authority-data: $(base64 -w0 "$dir/certs/apiserver.crt")}
users:
- {name: admin, user: {token: $token}}
EOF
}

start_apiserver() {
    openssl genrsa -out "$dir/service-account.key" 2048 2>/dev/null
    token=$(openssl rand -hex 16)
    (umask 077 && echo "$token,admin,admin,system:masters" >"$dir/tokens.csv")
    free_port
    # The address that is advertised ends in an Endpoints object, where a loopback address is not valid.
    # shellcheck disable=SC2086
    start kube-apiserver "$tools/kube-apiserver" --etcd-servers "$etcd" \
        --bind-address 127.0.0.1 --secure-port "$port" --advertise-address 192.0.2.1 --cert-dir "$dir/certs" \
        --service-cluster-ip-range 10.0.0.0/24 --authorization-mode RBAC --token-auth-file "$dir/tokens.csv" \
        --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$dir/service-account.key" \
        --service-account-signing-key-file "$dir/service-account.key" ${KUBE_FLAGS:-}
    await kube-apiserver test -s "$dir/certs/apiserver.crt" -a -s "$dir/certs/apiserver.key"
    write_kubeconfig
    await kube-apiserver "$tools/kubectl" --kubeconfig "$dir/admin.kubeconfig" get --raw /readyz
}

start_controllers() {
    start kube-controller-manager "$tools/kube-controller-manager" --kubeconfig "$dir/admin.kubeconfig" \
        --controllers "$CONTROLLERS" --use-service-account-credentials --leader-elect=false --secure-port 0 \
        --root-ca-file "$dir/certs/apiserver.crt" --service-account-private-key-file "$dir/service-account.key"
}

start_etcd
start_apiserver
if [ -n "${CONTROLLERS:-}" ]; then start_controllers; fi
echo "ready: $dir/admin.kubeconfig" >&2
wait -n "${pids[@]}" || true
echo "one of them ended by itself; its log is in $dir" >&2
exit 1
