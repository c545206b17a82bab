#!/usr/bin/env bash
# Three real cells and a server that is killed at any moment.
#
#   CELL_1=KUBECONFIG CELL_2=KUBECONFIG CELL_3=KUBECONFIG HANSE=BINARY tests/federation/three.sh
#
# The cells are kube-apiservers with their namespace controller; the third has those of deployments, too. TOOLS says
# where kubectl is. RACES and KILLS say how often things are made and deleted at once, and how often the server dies.
set -euo pipefail

# shellcheck source=tests/federation/stage.sh
. "$(dirname "$0")/stage.sh"
races=${RACES:-1000}
kills=${KILLS:-5}

start
for n in 1 2 3; do
    kubeconfig=CELL_$n
    cities=(- dfw ord ams)
    "$hanse" cell join "member$n" --cell-kubeconfig "${!kubeconfig}" --label "city=${cities[n]}" --region us
    "$hanse" cell join "pop$n" --cell-kubeconfig "${!kubeconfig}" --workspace root --label "topology.datum.net/city-code=${cities[n]}"
done

say "--- a policy of Karmada divides a deployment"
hub apply -f "$here/karmada.yaml"
until_so 30 "each of two members has its share" equal 1 cell 1 get deployment nginx -o 'jsonpath={.spec.replicas}'
until_so 10 "the other, too, with what is different there" equal "1 two" \
    cell 2 get deployment nginx -o 'jsonpath={.spec.replicas} {.metadata.labels.env}'
until_so 10 "what it mounts has followed" cell 2 get configmap nginx-settings
fails cell 3 get deployment nginx || { say "it is where nobody wants it"; exit 1; }
for n in 1 2; do
    cell $n patch deployment nginx --subresource=status --type=merge \
        -p '{"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"updatedReplicas":1,"availableReplicas":1}}'
done
until_so 10 "the statuses of both are added up" equal 2 hub get deployment nginx -o 'jsonpath={.status.readyReplicas}'
until_so 10 "the binding says so" equal "True True" hub get resourcebinding nginx-deployment \
    -o 'jsonpath={.status.conditions[?(@.type=="Scheduled")].status} {.status.conditions[?(@.type=="FullyApplied")].status}'
hub get clusters
hub get rb,work -A
equal member1,member2 hub get rb nginx-deployment -o 'jsonpath={.spec.clusters[0].name},{.spec.clusters[1].name}'
until_so 10 "a work shows what a member should hold" equal 1 \
    hub -n karmada-es-member1 get work nginx-687f7fb96f -o 'jsonpath={.spec.workload.manifests[0].spec.replicas}'

say "--- controllers of a cell do their work"
hub apply -f "$here/web.yaml"
until_so 60 "the deployment has made its replica set" equal 1 cell 3 get replicasets -l app=web -o 'jsonpath={.items[*].spec.replicas}'

say "--- two projects meet in one cell"
# What is born in a cell is of a kind that the cell brings.
cell 1 apply -f "$here/compute.yaml"
cell 1 delete crd workloaddeployments.compute.datumapis.com
for project in alpha beta; do
    in_workspace root create -f - <<EOF
{"apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "metadata": {"name": "$project"}}
EOF
    in_workspace "root:$project" apply -f "$here/compute.yaml"
    in_workspace "root:$project" apply -f "$here/deployment.yaml"
    in_workspace "root:$project" create configmap x --from-literal "v=$project"
    in_workspace "root:$project" label configmap x topology.datum.net/city-code=dfw
done
in_workspace root apply -f "$here/rule.yaml"
for project in alpha beta; do
    ns=ns-$(in_workspace "root:$project" get namespace default -o 'jsonpath={.metadata.uid}')
    until_so 30 "what is of $project is in the cell under a name of its own" equal "$project" cell 1 -n "$ns" get configmap x -o 'jsonpath={.data.v}'
    until_so 30 "so is its deployment, with the kind of it" cell 1 -n "$ns" get workloaddeployment web
    equal "cluster-root_$project" cell 1 -n "$ns" get configmap x -o 'jsonpath={.metadata.labels.meta\.datumapis\.com/upstream-cluster-name}'
    cell 1 -n "$ns" patch workloaddeployment web --subresource=status --type=merge -p '{"status":{"readyReplicas":1}}'
    uid=$(cell 1 -n "$ns" get workloaddeployment web -o 'jsonpath={.metadata.uid}')
    sed "s/OWNER/$uid/" "$here/instance.yaml" | cell 1 -n "$ns" apply -f -
    until_so 10 "its status is told in $project" equal 1 in_workspace "root:$project" get workloaddeployment web -o 'jsonpath={.status.readyReplicas}'
    until_so 10 "what was born in the cell is shown in $project" in_workspace "root:$project" get instance web-0
    fails in_workspace "root:$project" delete instance web-0 || { say "what is shown could be deleted"; exit 1; }
done
clean

say "--- the server is killed $kills times in the midst of it"
for ((round = 0; round < kills; round++)); do
    for ((n = 0; n < 40; n++)); do
        printf -- '---\n{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "k%d-%d", "labels": {"go": "everywhere"}}, "data": {"round": "%d"}}\n' $round $n $round
    done >"$dir/maps.yaml"
    hub apply -f "$dir/maps.yaml" >/dev/null 2>&1 &
    applying=$!
    sleep "0.$((RANDOM % 10))"
    kill -9 "$server"
    wait "$server" 2>/dev/null || true
    wait "$applying" 2>/dev/null || true
    start
    hub delete configmap "k$round-0" "k$round-1" --ignore-not-found --wait=false >/dev/null
    hub apply -f "$dir/maps.yaml" >/dev/null 2>&1 || hub apply -f "$dir/maps.yaml" >/dev/null 2>&1 || true
done
for ((round = 0; round < kills; round++)); do
    for n in 1 2 3; do
        until_so 90 "member$n has what was written in round $round" equal "$round" cell $n get configmap "k$round-39" -o 'jsonpath={.data.round}'
    done
done
clean
hub delete configmaps -l go=everywhere --timeout 120s >/dev/null
for n in 1 2 3; do
    equal "" cell $n get configmaps -l go=everywhere -o name || { say "member$n still has what is gone"; exit 1; }
done
say "ok: what is deleted is gone everywhere"

say "--- $races objects are made and deleted at once"
for ((round = 0; round < races / 100; round++)); do
    for ((n = 0; n < 100; n++)); do
        printf -- '---\n{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "r%d-%d", "labels": {"go": "everywhere"}}}\n' $round $n
    done >"$dir/maps.yaml"
    hub create -f "$dir/maps.yaml" >/dev/null
    hub delete -f "$dir/maps.yaml" --wait=false >/dev/null
done
until_so 120 "nothing of them is left here" equal "" hub get configmaps -l go=everywhere -o name
for n in 1 2 3; do
    until_so 30 "nor in member$n" equal "" cell $n get configmaps -l go=everywhere -o name
done
clean

say "--- everything goes"
hub delete -f "$here/karmada.yaml" -f "$here/web.yaml" --timeout 60s >/dev/null
for project in alpha beta; do in_workspace root delete workspace "$project" --timeout 120s; done
for n in 1 2 3; do
    "$hanse" cell leave "member$n"
    "$hanse" cell leave "pop$n" --workspace root
    until_so 30 "nothing of ours is left in cell $n" equal "" cell $n get configmaps,deployments,namespaces -A -l federation.hanse.dev/owner -o name
done
"$hanse" fsck
say "everything holds"
