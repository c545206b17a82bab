# Changes of a lazy policy wait for a change of the object.
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
  activationPreference: Lazy
  placement: {clusterAffinity: {clusterNames: [member1]}}
$ look
$ hub patch propagationpolicy web --type=merge -p '{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member2"]}}}}'
$ look
$ hub label deployment web touched=yes
$ look
