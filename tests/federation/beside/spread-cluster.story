# A number of clusters, of a map and of a workload.
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
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
    spreadConstraints:
    - {spreadByField: cluster, maxGroups: 2, minGroups: 2}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: few}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: few}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: few}
  placement:
    spreadConstraints:
    - {spreadByField: cluster, maxGroups: 1, minGroups: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: many}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: many}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: many}
  placement:
    spreadConstraints:
    - {spreadByField: cluster, maxGroups: 9, minGroups: 4}
$ look
