#!/usr/bin/env bash
# The first ten minutes of somebody who runs a platform of projects and cities, on three real cells.
#
#   CELL_1=KUBECONFIG CELL_2=KUBECONFIG CELL_3=KUBECONFIG HANSE=BINARY tests/federation/datum.sh
#
# RACES says how often something is made and deleted at once.
set -euo pipefail
# shellcheck source=tests/federation/stage.sh
. "$(dirname "$0")/stage.sh"
races=${RACES:-1000}
city=topology.datum.net/city-code
cities=(- dfw ord ams)

milo=resourcemanager.miloapis.com/v1alpha1
# project NAME ARGS...: kubectl in a project, which clients of the platform find by this path.
project() { "$kubectl" --kubeconfig "$KUBECONFIG" --server "$url/apis/$milo/projects/$1/control-plane" "${@:2}"; }
# namespace_of PROJECT: what its namespace `default` is called in cells.
namespace_of() { echo "ns-$(project "$1" get namespace default -o 'jsonpath={.metadata.uid}')"; }
# The process of a cell's API server, which can be stopped and let go on.
apiserver_of() {
    local kubeconfig=CELL_$1
    cat "$(dirname "${!kubeconfig}")/kube-apiserver.pid"
}

say "--- start and look"
start
hub get --raw /readyz >/dev/null
hub version | grep -q 'Server Version: v1'
hub api-resources --api-group federation.hanse.dev -o name | grep -q cells
hub get crd >/dev/null

say "--- two projects"
for p in alpha beta; do
    hub create -f - <<EOF
{"apiVersion": "$milo", "kind": "Project", "metadata": {"name": "$p"}, "spec": {"ownerRef": {"kind": "Organization", "name": "us"}}}
EOF
    hub wait --for=condition=Ready "project/$p" --timeout=5s >/dev/null
    project $p apply -f "$here/compute.yaml" >/dev/null
    project $p create configmap x --from-literal "v=$p" >/dev/null
done
project alpha get configmap x --watch -o 'jsonpath={.data.v}{"\n"}' >"$dir/watched" 2>/dev/null &
watcher=$!
until_so 5 "a watch tells what is there" grep -q alpha "$dir/watched"
project alpha patch configmap x --type=merge -p '{"data":{"v":"changed"}}' >/dev/null
until_so 5 "and what changes" grep -q changed "$dir/watched"
kill "$watcher"
project alpha delete configmap x >/dev/null
equal beta project beta get configmap x -o 'jsonpath={.data.v}' || { say "one project moves another"; exit 1; }
project alpha create configmap x --from-literal v=alpha >/dev/null
project alpha create clusterrolebinding alice --clusterrole=cluster-admin --user=alice >/dev/null
equal yes project alpha auth can-i delete configmaps --as=alice || { say "alice may nothing where she may"; exit 1; }
fails project beta auth can-i delete configmaps --as=alice 2>/dev/null || { say "alice may elsewhere"; exit 1; }
fails project beta get configmaps --as=alice 2>/dev/null || { say "alice sees what is elsewhere"; exit 1; }
say "ok: whoever may in one project may nothing in another"

say "--- three cities, one rule"
for n in 1 2 3; do
    kubeconfig=CELL_$n
    # What is born in a cell is of a kind that the cell brings.
    sed -n '/instances.compute/,/^---/p' "$here/compute.yaml" | sed '/^---/d; 1i apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition' |
        cell $n apply -f - >/dev/null
    "$hanse" cell join "pop-${cities[n]}" --cell-kubeconfig "${!kubeconfig}" --workspace root --label "$city=${cities[n]}"
done
sed 's/^  workspaces: .*/  workspaces: ["root:default:*"]/' "$here/rule.yaml" | in_workspace root apply -f - >/dev/null
for p in alpha beta; do
    project $p label configmap x $city=dfw >/dev/null
done
for p in alpha beta; do
    ns=$(namespace_of $p)
    until_so 10 "x of $p is in its city" equal $p cell 1 -n "$ns" get configmap x -o 'jsonpath={.data.v}'
    equal "cluster-root_default_$p default x ConfigMap" cell 1 -n "$ns" get configmap x -o \
        'jsonpath={.metadata.labels.meta\.datumapis\.com/upstream-cluster-name} {.metadata.labels.meta\.datumapis\.com/upstream-namespace} {.metadata.labels.meta\.datumapis\.com/upstream-name} {.metadata.labels.meta\.datumapis\.com/upstream-kind}' ||
        { say "its labels do not say where it comes from"; exit 1; }
done
alpha=$(namespace_of alpha)
beta=$(namespace_of beta)
cell 1 -n "$alpha" patch configmap x --type=merge -p '{"data":{"v":"edited"}}' >/dev/null
until_so 5 "what was edited in the cell is repaired" equal alpha cell 1 -n "$alpha" get configmap x -o 'jsonpath={.data.v}'
project alpha delete configmap x --timeout=20s >/dev/null
until_so 5 "deleted in one project, it is gone from the cell" fails cell 1 -n "$alpha" get configmap x
gone=$SECONDS
equal beta cell 1 -n "$beta" get configmap x -o 'jsonpath={.data.v}' || { say "the other's copy is gone, too"; exit 1; }

say "--- statuses and instances"
n=0
for p in alpha beta; do
    n=$((n + 1))
    sed "s/: dfw/: ${cities[n]}/g" "$here/deployment.yaml" | project $p apply -f - >/dev/null
    ns=$(namespace_of $p)
    until_so 20 "the deployment of $p is in ${cities[n]}, with its kind" cell $n -n "$ns" get workloaddeployment web
    cell $n -n "$ns" patch workloaddeployment web --subresource=status --type=merge -p '{"status":{"readyReplicas":1}}' >/dev/null
    began=$(date +%s%N)
    until_so 5 "its status is told in $p" equal 1 project $p get workloaddeployment web -o 'jsonpath={.status.readyReplicas}'
    say "    after $((($(date +%s%N) - began) / 1000000)) ms, with the time that kubectl takes"
    uid=$(cell $n -n "$ns" get workloaddeployment web -o 'jsonpath={.metadata.uid}')
    sed "s/OWNER/$uid/" "$here/instance.yaml" | cell $n -n "$ns" apply -f - >/dev/null
    until_so 5 "its instance is shown in $p" project $p get instance web-0
done
equal "" project alpha get instances -o 'jsonpath={.items[?(@.metadata.name!="web-0")].metadata.name}' || { say "more is shown than there is"; exit 1; }
clean

say "--- two cells of one city"
in_workspace root label cell pop-ams --overwrite $city=ord >/dev/null
until_so 20 "the deployment of beta is in both" cell 3 -n "$beta" get workloaddeployment web
cell 3 -n "$beta" patch workloaddeployment web --subresource=status --type=merge -p '{"status":{"readyReplicas":4}}' >/dev/null
until_so 5 "what both say is added up" equal 5 project beta get workloaddeployment web -o 'jsonpath={.status.readyReplicas}'
said() { project beta get copies -o 'jsonpath={range .items[?(@.spec.object.kind=="WorkloadDeployment")]}{.spec.cell.name}={.status.observed.readyReplicas}{"\n"}{end}' | sort | xargs; }
until_so 5 "and what each says can be read" equal "pop-ams=4 pop-ord=1" said
in_workspace root label cell pop-ams --overwrite $city=ams >/dev/null
until_so 20 "it leaves a cell that is elsewhere" fails cell 3 -n "$beta" get workloaddeployment web
until_so 5 "with what that said" equal 1 project beta get workloaddeployment web -o 'jsonpath={.status.readyReplicas}'

say "--- nowhere to go"
sed 's/: dfw/: zzz/g; s/name: web/name: lost/' "$here/deployment.yaml" | project alpha apply -f - >/dev/null
until_so 3 "it says that it fits nowhere" equal False project alpha get workloaddeployment lost -o 'jsonpath={.status.conditions[?(@.type=="Placed")].status}'
until_so 5 "the rule counts it" equal 1 in_workspace root get federationrule by-city -o 'jsonpath={.status.unplaced}'
in_workspace root label cell pop-ams --overwrite $city=zzz >/dev/null
until_so 20 "it heals when there is a cell for it" cell 3 -n "$alpha" get workloaddeployment lost
in_workspace root label cell pop-ams --overwrite $city=ams >/dev/null
project alpha delete workloaddeployment lost --timeout=20s >/dev/null

say "--- break it"
stopped=$(apiserver_of 2)
kill -STOP "$stopped"
project alpha create configmap y --from-literal v=1 >/dev/null
project alpha label configmap y $city=dfw >/dev/null
until_so 10 "a cell that hangs delays no other" cell 1 -n "$alpha" get configmap y
project beta delete workloaddeployment web --wait=false >/dev/null
until_so 60 "that a cell hangs is told" fails equal True in_workspace root get cell pop-ord -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
project beta get workloaddeployment web >/dev/null || { say "what may still be in a cell is gone at home"; exit 1; }
kill -CONT "$stopped"
until_so 60 "what was deleted meanwhile is gone when the cell is back" fails project beta get workloaddeployment web
equal "" cell 2 get workloaddeployments -A -o name 2>/dev/null || { say "it is still in the cell"; exit 1; }
for ((round = 0; round < races / 100; round++)); do
    for ((n = 0; n < 100; n++)); do
        printf -- '---\n{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r%d-%d", "labels": {"%s": "dfw", "race": "yes"}}}\n' $round $n "$city"
    done >"$dir/maps.yaml"
    project alpha create -f "$dir/maps.yaml" >/dev/null
    project alpha delete -f "$dir/maps.yaml" --wait=false >/dev/null
done
kill -9 "$server"
wait "$server" 2>/dev/null || true
start
until_so 120 "nothing is left of $races that were made and deleted, in a project" equal "" project alpha get configmaps -l race=yes -o name
until_so 30 "nor in the cell" equal "" cell 1 get configmaps -A -l race=yes -o name
((SECONDS - gone >= 30)) || sleep $((30 - SECONDS + gone))
fails cell 1 -n "$alpha" get configmap x 2>/dev/null || { say "what was deleted came back"; exit 1; }
say "ok: what was deleted $((SECONDS - gone)) s ago has not come back"
in_workspace root get federationrule by-city
# alpha's y and web, beta's x.
until_so 10 "the rule counts what it speaks for" equal "3 0 True" in_workspace root get federationrule by-city -o \
    'jsonpath={.status.objects} {.status.unplaced} {.status.conditions[?(@.type=="Ready")].status}'
clean

say "--- everything goes"
for p in alpha beta; do hub delete project "$p" --timeout=120s >/dev/null; done
for n in 1 2 3; do
    "$hanse" cell leave "pop-${cities[n]}" --workspace root
    until_so 30 "nothing of ours is left in ${cities[n]}" equal "" cell $n get configmaps,namespaces,crds -A -l federation.hanse.dev/owner -o name
done
"$hanse" fsck
say "everything holds"
