#!/usr/bin/env bash
# Puts Kubernetes' sample-apiserver behind a server, and uses it through that server.
#
#   KUBECONFIG=KUBECONFIG_OF_THE_SERVER TOOLS=DIR tests/aggregation-front/sample.sh
#
# TOOLS says where kubectl, etcd and sample-apiserver are.
set -euo pipefail

tools=${TOOLS:?where kubectl, etcd and sample-apiserver are}
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

k() { "$tools/kubectl" --cache-dir "$dir/cache" --kubeconfig "$KUBECONFIG" "$@"; }
say() { printf '%s\n' "$*" >&2; }
fail() {
    say "not ok: $*"
    tail -n 20 "$dir"/*.log >&2 || true
    k get apiservices v1alpha1.wardle.example.com -o yaml >&2 || true
    exit 1
}

# until_so SECONDS WHAT COMMAND...: waits until the command succeeds.
until_so() {
    local deadline=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        ((SECONDS <= deadline)) || fail "$what"
        sleep 0.1
    done
    say "ok: $what"
}
so() { "${@:2}" >"$dir/out" 2>&1 || { cat "$dir/out" >&2; fail "$1"; }; say "ok: $1"; }
says() { "${@:2}" >"$dir/said" 2>&1 || true; grep -qF -- "$1" "$dir/said" || { cat "$dir/said"; return 1; }; }
free_port() { while port=$((20000 + RANDOM % 12000)) && (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done; }

free_port && peers=http://127.0.0.1:$port
free_port && etcd=http://127.0.0.1:$port
"$tools/etcd" --data-dir "$dir/etcd" --listen-client-urls "$etcd" --advertise-client-urls "$etcd" \
    --listen-peer-urls "$peers" --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" >"$dir/etcd.log" 2>&1 &
pids+=($!)

k create namespace wardle
k -n wardle create serviceaccount apiserver
k create clusterrolebinding wardle:auth-delegator --clusterrole=system:auth-delegator --serviceaccount=wardle:apiserver
k -n kube-system create rolebinding wardle-auth-reader --role=extension-apiserver-authentication-reader \
    --serviceaccount=wardle:apiserver
k create clusterrole wardle:informers --verb=get,list,watch \
    --resource=namespaces,mutatingwebhookconfigurations.admissionregistration.k8s.io,validatingwebhookconfigurations.admissionregistration.k8s.io,validatingadmissionpolicies.admissionregistration.k8s.io,validatingadmissionpolicybindings.admissionregistration.k8s.io,mutatingadmissionpolicies.admissionregistration.k8s.io,mutatingadmissionpolicybindings.admissionregistration.k8s.io,flowschemas.flowcontrol.apiserver.k8s.io,prioritylevelconfigurations.flowcontrol.apiserver.k8s.io
k create clusterrolebinding wardle:informers --clusterrole=wardle:informers --serviceaccount=wardle:apiserver

# What the sample-apiserver asks this server with, and what it proves itself with.
token=$(k -n wardle create token apiserver)
server=$(k config view --minify --raw -o 'jsonpath={.clusters[0].cluster.server}')
ca=$(k config view --minify --raw -o 'jsonpath={.clusters[0].cluster.certificate-authority-data}')
cat >"$dir/account.kubeconfig" <<YAML
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "$server", certificate-authority-data: $ca}}]
users: [{name: u, user: {token: $token}}]
YAML
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api.wardle.svc \
    -addext subjectAltName=DNS:api.wardle.svc -keyout "$dir/tls.key" -out "$dir/tls.crt" 2>/dev/null
free_port

serve() {
    "$tools/sample-apiserver" --etcd-servers "$etcd" --bind-address 127.0.0.1 --secure-port "$port" \
        --tls-cert-file "$dir/tls.crt" --tls-private-key-file "$dir/tls.key" --kubeconfig "$dir/account.kubeconfig" \
        --authentication-kubeconfig "$dir/account.kubeconfig" --authorization-kubeconfig "$dir/account.kubeconfig" \
        --enable-priority-and-fairness=false >"$dir/sample.log" 2>&1 &
    sample=$!
    pids+=($!)
}
serve

k apply -f - <<YAML
apiVersion: v1
kind: Service
metadata: {name: api, namespace: wardle}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.wardle.example.com}
spec:
  group: wardle.example.com
  version: v1alpha1
  groupPriorityMinimum: 1000
  versionPriority: 15
  caBundle: $(base64 -w0 "$dir/tls.crt")
  service: {name: api, namespace: wardle, port: $port}
YAML
k wait --for=condition=Available --timeout=90s apiservice/v1alpha1.wardle.example.com >"$dir/out" 2>&1 || fail "it becomes available"
say "ok: it becomes available"
so "kubectl tells so" says True k get apiservice v1alpha1.wardle.example.com
until_so 20 "discovery knows its kinds" says flunders k api-resources --api-group=wardle.example.com

flunder() { printf 'apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: {name: %s, labels: {sample-label: "true"}}\n' "$1"; }
flunder one | k create -f - >"$dir/out" 2>&1 || { cat "$dir/out"; fail "a flunder is made"; }
say "ok: a flunder is made"
so "and found in the list" says one k get flunders
k get flunders --watch-only -o name >"$dir/watch.out" 2>"$dir/watch.log" &
pids+=($!)
flunder two | k apply -f - >/dev/null
k label flunder one seen=yes --overwrite >/dev/null
until_so 20 "a watch tells of changes" grep -q flunder "$dir/watch.out"
so "one is patched" k patch flunder one --type=merge -p '{"metadata":{"labels":{"x":"y"}}}'
so "and deleted" k delete flunder two
so "kubectl explains it" says KIND: k explain flunder

# Who may do what is decided here, by whom the sample-apiserver asks, too.
so "somebody without rights is refused" says 'cannot list resource "flunders"' k get flunders --as eve
k create role flunders --verb=get,list --resource=flunders.wardle.example.com
k create rolebinding eve --role=flunders --user=eve
until_so 30 "somebody with rights is not" k get flunders --as eve
so "but only to do that" says 'cannot delete resource "flunders"' k delete flunder one --as eve

k create namespace going
flunder three | k -n going create -f - >/dev/null
so "a namespace goes with what is in it elsewhere" k delete namespace going --timeout=60s
k create namespace going
so "and comes back empty" says 'No resources found' k -n going get flunders

kill "$sample" && wait "$sample" 2>/dev/null || true
until_so 90 "its end is noticed" says False k get apiservice v1alpha1.wardle.example.com
so "and told" says '(ServiceUnavailable)' k get --raw /apis/wardle.example.com/v1alpha1/flunders
stale() {
    k get --raw /apis -v=0 >/dev/null
    curl -sS --cacert <(printf %s "$ca" | base64 -d) -H "Authorization: Bearer $token" \
        -H 'Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' "$server/apis" | grep -q '"freshness":"Stale"'
}
until_so 10 "discovery says that it is stale" stale
so "everything else works" k get namespaces
serve
until_so 90 "it comes back" says one k get flunders
say "all is well"
