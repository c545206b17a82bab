# Clusters without a weight get nothing; divided without weights is divided evenly.
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
    clusterAffinity: {clusterNames: [member1, member2, member3]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: even, labels: {app: even}}
spec:
  replicas: 6
  selector: {matchLabels: {app: even}}
  template:
    metadata: {labels: {app: even}}
    spec:
      containers:
      - {name: even, image: nginx}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: even}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: even}
  placement:
    clusterAffinity: {clusterNames: [member1, member2, member3]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
$ look
