# Which policy speaks for an object, and what becomes of it when the policy goes or changes.
$ hub apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: settled, labels: {go: all}}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: first}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: settled}
  placement: {clusterAffinity: {clusterNames: [member1]}}
$ look
$ hub apply -f -
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: better}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: settled}
  priority: 5
  placement: {clusterAffinity: {clusterNames: [member2]}}
$ look
$ hub delete propagationpolicy first
$ look
$ hub delete propagationpolicy better
$ look
$ hub label configmap settled touched=yes
$ look
