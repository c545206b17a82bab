# Groups of clusters in order; by labels, by fields, without some.
$ hub label clusters.cluster.karmada.io member1 place=here
$ hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"provider":"us","zones":["z1","z2"]}}'
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
    clusterAffinities:
    - {affinityName: nowhere, clusterNames: [member9]}
    - {affinityName: here, labelSelector: {matchLabels: {place: here}}}
    - {affinityName: all}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: labels}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: labels}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: labels}
  placement: {clusterAffinity: {labelSelector: {matchLabels: {place: here}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: provider}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: provider}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: provider}
  placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: provider, operator: In, values: [us]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: zone}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: zone}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: zone}
  placement: {clusterAffinity: {fieldSelector: {matchExpressions: [{key: zone, operator: NotIn, values: [z2]}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: without}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: without}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: without}
  placement: {clusterAffinity: {exclude: [member2]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: nobody}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: nobody}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: nobody}
  placement: {clusterAffinity: {clusterNames: [member9]}}
$ look
$ hub label clusters.cluster.karmada.io member1 place-
$ look
$ hub label clusters.cluster.karmada.io member3 place=here
$ look
$ finally hub label clusters.cluster.karmada.io member1 member3 place-
$ finally hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"provider":null,"zones":null}}'
