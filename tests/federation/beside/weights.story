# 13 replicas by weights, then 14, then fewer, then other weights.
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 13
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
    clusterAffinity: {clusterNames: [member1, member2, member3]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 3}
        - {targetCluster: {clusterNames: [member2]}, weight: 2}
        - {targetCluster: {clusterNames: [member3]}, weight: 1}
$ look
$ hub scale deployment web --replicas=14
$ look
$ hub scale deployment web --replicas=12
$ look
$ hub scale deployment web --replicas=0
$ look
$ hub scale deployment web --replicas=6
$ look
$ hub scale deployment web --replicas=8
$ look
$ hub patch propagationpolicy web --type=json -p '[{"op":"replace","path":"/spec/placement/replicaScheduling/weightPreference/staticWeightList/0/weight","value":1}]'
$ look
