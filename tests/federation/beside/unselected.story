# A policy that stops to speak for an object.
$ hub apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: held, labels: {go: all}}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: labelled}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, labelSelector: {matchLabels: {go: all}}}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub label configmap held go-
$ look
$ hub patch configmap held --type=merge -p '{"data":{"a":"c"}}'
$ look
