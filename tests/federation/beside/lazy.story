# Lazy policies, and changes of them, wait for a change of the object.
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: early, labels: {app: early}}
spec:
  replicas: 2
  selector: {matchLabels: {app: early}}
  template:
    metadata: {labels: {app: early}}
    spec:
      containers:
      - {name: early, image: nginx}
$ look
$ hub apply -f -
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: early}
spec:
  activationPreference: Lazy
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: early}
  placement: {clusterAffinity: {clusterNames: [member1]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: late}
spec:
  activationPreference: Lazy
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: late}
  placement: {clusterAffinity: {clusterNames: [member1]}}
$ look
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: late, labels: {app: late}}
spec:
  replicas: 2
  selector: {matchLabels: {app: late}}
  template:
    metadata: {labels: {app: late}}
    spec:
      containers:
      - {name: late, image: nginx}
$ look
$ hub patch propagationpolicy early --type=merge -p '{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member2"]}}}}'
$ hub patch propagationpolicy late --type=merge -p '{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member2"]}}}}'
$ look
$ hub label deployment early late touched=yes
$ look
