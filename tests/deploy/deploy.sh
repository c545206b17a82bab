#!/usr/bin/env bash
# Holds what is in deploy/ for Kubernetes against a real kube-apiserver, and against the server that it is to run.
#
#   KUBECONFIG=... HANSE=BINARY TOOLS=... tests/deploy/deploy.sh
#
# HELM names another helm than the one of tests/clients/helm.
set -euo pipefail

here=$(cd "$(dirname "$0")/../.." && pwd)
hanse=$(realpath "${HANSE:?the hanse binary}")
tools=${TOOLS:?where kubectl and etcd are}
namespace=hanse-system
dir=$(mktemp -d)
pids=()
stop() {
    trap - EXIT
    for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
        kill "${pids[i]}" 2>/dev/null || true
        wait "${pids[i]}" 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap stop EXIT
trap exit INT TERM

say() { printf '%s\n' "$*" >&2; }
fail() { say "it does not hold: $*"; tail -n 20 "$dir"/*.log >&2 2>/dev/null || true; exit 1; }
kubectl() { "$tools/kubectl" --cache-dir "$dir/cache" "$@"; }
# Helm keeps to itself, and is told nothing by whoever runs this.
helm() {
    env HELM_CACHE_HOME="$dir/helm" HELM_CONFIG_HOME="$dir/helm" HELM_DATA_HOME="$dir/helm" \
        ${HELM:-go -C "$here/tests/clients/helm" tool helm} "$@"
}

# is_accepted WHAT FILE: a real API server would take it, has nothing to warn of, and it holds these kinds.
is_accepted() {
    kubectl apply --dry-run=server --validate=strict -f "$2" >"$dir/applied" 2>&1 || { cat "$dir/applied" >&2; fail "$1"; }
    ! grep -i warning "$dir/applied" >&2 || fail "$1: a warning"
    for kind in deployment.apps service serviceaccount poddisruptionbudget.policy; do
        grep -q "^$kind/" "$dir/applied" || fail "$1 has no $kind"
    done
    say "ok: $1: $(grep -c 'server dry run' "$dir/applied") objects are accepted"
}

# The flags of the container are flags of the server.
understood() {
    kubectl create --dry-run=client -o json -f "$2" | python3 -c '
import json, sys
text, decoder, at = sys.stdin.read().strip(), json.JSONDecoder(), 0
while at < len(text):
    found, at = decoder.raw_decode(text, at)
    at += len(text[at:]) - len(text[at:].lstrip())
    for one in found.get("items", [found]):
        if one["kind"] == "Deployment":
            print("\n".join(one["spec"]["template"]["spec"]["containers"][0]["args"]))
' >"$dir/args"
    mapfile -t args <"$dir/args"
    ((${#args[@]} > 5)) || fail "$1: no arguments"
    "$hanse" "${args[@]}" --help >/dev/null 2>"$dir/refused" || { cat "$dir/refused" >&2; fail "$1: flags"; }
    say "ok: $1: the server understands its ${#args[@]} arguments"
}

kubectl apply -f "$here/deploy/kustomize/namespace.yaml" >/dev/null
kubectl kustomize "$here/deploy/kustomize" >"$dir/kustomized.yaml"
is_accepted "the kustomization" "$dir/kustomized.yaml"
understood "the kustomization" "$dir/kustomized.yaml"

chart=$here/deploy/chart
helm lint --strict "$chart" >"$dir/lint" || { cat "$dir/lint" >&2; fail "the chart is not well formed"; }
helm template hanse "$chart" --namespace $namespace >"$dir/chart.yaml"
is_accepted "the chart" "$dir/chart.yaml"
understood "the chart" "$dir/chart.yaml"
helm template eu "$chart" --namespace $namespace --set etcd.tlsSecret= --set 'etcd.endpoints={http://a:2379,http://b:2379}' \
    --set 'names={hanse.example,192.0.2.7}' --set 'extraArgs={--audit-log-maxsize=10}' --set log=warn --set replicas=5 \
    --set 'tolerations[0].operator=Exists' --set nodeSelector.disk=ssd --set service.type=LoadBalancer >"$dir/other.yaml"
is_accepted "another chart" "$dir/other.yaml"
understood "another chart" "$dir/other.yaml"
grep -q 'name: eu-hanse$' "$dir/other.yaml" || fail "the release names what is made"
! helm template hanse "$chart" --set 'etcd.endpoints=null' >"$dir/none" 2>&1 || fail "a chart without an etcd"

# A server that finds what it would find in the pod: its user is nobody, and what the replicas share it can only read.
free_port() { while port=$((20000 + RANDOM % 12000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done; }
# ready LOG: until it says so.
ready() {
    local deadline=$((SECONDS + 60))
    until grep -q "$2" "$1"; do ((SECONDS < deadline)) || fail "$1 never said $2"; sleep 0.1; done
}
cp --reflink=auto "$hanse" "$dir/hanse" && chmod 0755 "$dir" "$dir/hanse"
"$dir/hanse" serve --storage memory --data-dir "$dir/seed" --listen 127.0.0.1:0 >"$dir/seed.log" 2>&1 &
pids+=($!)
ready "$dir/seed.log" ready:
free_port && peer=http://127.0.0.1:$port
free_port && etcd=http://127.0.0.1:$port
"$tools/etcd" --data-dir "$dir/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" --listen-peer-urls "$peer" \
    --initial-advertise-peer-urls "$peer" --initial-cluster "default=$peer" >"$dir/etcd.log" 2>&1 &
pids+=($!)
ready "$dir/etcd.log" "ready to serve client requests"
as_nobody=()
mkdir -p "$dir/pod/certs/front-proxy"
cp "$dir"/seed/certs/{ca.crt,ca.key,service-account.key} "$dir/pod/certs"
cp "$dir"/seed/certs/front-proxy/ca.* "$dir/pod/certs/front-proxy"
if [ "$(id -u)" = 0 ]; then
    as_nobody=(setpriv --reuid 65532 --regid 65532 --clear-groups)
    chown root:65532 "$dir"/pod/certs/*.* "$dir"/pod/certs/front-proxy/*
    chown 65532:65532 "$dir/pod" "$dir/pod/certs"
fi
chmod 0440 "$dir"/pod/certs/*.* "$dir"/pod/certs/front-proxy/*
${as_nobody[@]+"${as_nobody[@]}"} "$dir/hanse" serve --data-dir "$dir/pod" --listen 127.0.0.1:0 --storage=etcd \
    --etcd-endpoints="$etcd" --etcd-prefix=/hanse/ --tls-san=hanse.$namespace.svc >"$dir/pod.log" 2>&1 &
pids+=($!)
ready "$dir/pod.log" ready:
url=$(sed -n 's,^ready: \(https://[^ ]*\)\, .*,\1,p' "$dir/pod.log")
for probe in /readyz /livez; do
    [ "$(curl --silent --insecure --max-time 10 "$url$probe")" = ok ] || fail "nobody may ask for $probe"
done
# Whoever has the directory that the shared files come from lets people in.
"$dir/hanse" kubeconfig create --data-dir "$dir/seed" --user ada --group system:masters --server "$url" --to "$dir/ada.kubeconfig"
KUBECONFIG=$dir/ada.kubeconfig kubectl get cells >/dev/null || fail "ada is not let in"
say "ok: a server runs on what a pod of it has"
say "everything holds"
