# While it is suspended, nothing is sent.
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
  suspension: {dispatchingOnClusters: {clusterNames: [member2]}}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub patch propagationpolicy web --type=merge -p '{"spec":{"suspension":{"dispatchingOnClusters":null,"dispatching":true}}}'
$ hub scale deployment web --replicas=4
$ look
$ hub patch propagationpolicy web --type=merge -p '{"spec":{"suspension":null}}'
$ look
