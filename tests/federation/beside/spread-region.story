# By region: member1 and member3 share one.
$ hub patch clusters.cluster.karmada.io member1 --type=merge -p '{"spec":{"region":"north"}}'
$ hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"region":"south"}}'
$ hub patch clusters.cluster.karmada.io member3 --type=merge -p '{"spec":{"region":"north"}}'
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
    - {spreadByField: region, maxGroups: 2, minGroups: 2}
    - {spreadByField: cluster, maxGroups: 2, minGroups: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: one, labels: {app: one}}
spec:
  replicas: 2
  selector: {matchLabels: {app: one}}
  template:
    metadata: {labels: {app: one}}
    spec:
      containers:
      - {name: one, image: nginx}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: one}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: one}
  placement:
    spreadConstraints:
    - {spreadByField: region, maxGroups: 1, minGroups: 1}
    - {spreadByField: cluster, maxGroups: 3, minGroups: 1}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: more, labels: {app: more}}
spec:
  replicas: 2
  selector: {matchLabels: {app: more}}
  template:
    metadata: {labels: {app: more}}
    spec:
      containers:
      - {name: more, image: nginx}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: more}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: more}
  placement:
    spreadConstraints:
    - {spreadByField: region, maxGroups: 3, minGroups: 3}
    - {spreadByField: cluster, maxGroups: 3, minGroups: 3}
$ look
$ finally hub patch clusters.cluster.karmada.io member1 --type=merge -p '{"spec":{"region":null}}'
$ finally hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"region":null}}'
$ finally hub patch clusters.cluster.karmada.io member3 --type=merge -p '{"spec":{"region":null}}'
