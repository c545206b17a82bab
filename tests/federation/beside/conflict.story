# Something is in a member already, which nobody propagated.
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
$ member1 create configmap left --from-literal=mine=yes
$ member1 create configmap taken --from-literal=mine=yes
$ hub apply -f -
apiVersion: v1
kind: ConfigMap
metadata: {name: left}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: taken}
data: {a: b}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: left}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: left}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: taken}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: taken}
  conflictResolution: Overwrite
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub annotate configmap left work.karmada.io/conflict-resolution=overwrite
$ look
