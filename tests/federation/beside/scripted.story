# A kind of one's own, with scripts that say what it means.
# kinds: scripted.example.io/v1/workloads
$ hub apply -f -
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: workloads.scripted.example.io}
spec:
  group: scripted.example.io
  names: {kind: Workload, listKind: WorkloadList, plural: workloads, singular: workload}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: scripted-crd}
spec:
  resourceSelectors:
  - {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, name: workloads.scripted.example.io}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
---
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: scripted}
spec:
  target: {apiVersion: scripted.example.io/v1, kind: Workload}
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          return obj.spec.count, nil
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, n)
          obj.spec.count = n
          return obj
        end
    statusAggregation:
      luaScript: |
        function AggregateStatus(obj, items)
          if obj.status == nil then obj.status = {} end
          obj.status.ready = 0
          for i = 1, #items do
            if items[i].status ~= nil and items[i].status.ready ~= nil then
              obj.status.ready = obj.status.ready + items[i].status.ready
            end
          end
          return obj
        end
    statusReflection:
      luaScript: |
        function ReflectStatus(obj)
          if obj.status == nil then return nil end
          return {ready = obj.status.ready}
        end
    healthInterpretation:
      luaScript: |
        function InterpretHealth(obj)
          return obj.status ~= nil and obj.status.ready == obj.spec.count
        end
$ hub wait --for=condition=Established crd/workloads.scripted.example.io --timeout=20s
$ hub apply -f -
apiVersion: scripted.example.io/v1
kind: Workload
metadata: {name: mine}
spec: {count: 3}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: mine}
spec:
  resourceSelectors:
  - {apiVersion: scripted.example.io/v1, kind: Workload, name: mine}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 2}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
$ look
$ member1 patch workloads.scripted.example.io mine --subresource=status --type=merge -p '{"status":{"ready":2,"other":"x"}}'
$ look
$ finally hub delete workloads.scripted.example.io mine --wait=false
$ finally hub delete clusterpropagationpolicy scripted-crd
$ finally hub delete resourceinterpretercustomization scripted
$ finally hub delete crd workloads.scripted.example.io --wait=false
