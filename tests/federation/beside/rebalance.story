# A workload that is decided anew on request.
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 6
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: nginx}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference: {dynamicWeight: AvailableReplicas}
$ look
$ hub apply -f -
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata: {name: rebalance-web}
spec:
  workloads:
  - {apiVersion: apps/v1, kind: Deployment, name: web, namespace: rebalance}
  - {apiVersion: apps/v1, kind: Deployment, name: missing, namespace: rebalance}
$ look
$ finally hub delete workloadrebalancer rebalance-web
