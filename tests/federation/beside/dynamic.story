# By how much room there is; clusters have nodes of different sizes.
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 12
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: nginx, resources: {requests: {cpu: 500m, memory: 64Mi}}}
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
      weightPreference: {dynamicWeight: AvailableReplicas}
$ look
$ hub scale deployment web --replicas=20
$ look
$ hub scale deployment web --replicas=5
$ look
$ hub scale deployment web --replicas=500
$ look
$ hub scale deployment web --replicas=7
$ look
