# Namespaces go to every member by themselves, unless they say otherwise; with the first policy, in Hanse.
$ hub apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: first}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: first}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: first}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub create namespace namespaces-other
$ hub label namespace namespaces-other team=a
$ hub apply -f -
apiVersion: v1
kind: Namespace
metadata: {name: namespaces-skipped, labels: {namespace.karmada.io/skip-auto-propagation: "true"}}
$ look
$ finally hub delete namespace namespaces-other namespaces-skipped --wait=false
