# The sample that everybody begins with.
$ hub apply -f -
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, labels: {app: nginx}}
spec:
  replicas: 2
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      containers:
      - {name: nginx, image: nginx}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: nginx-propagation}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: nginx}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling:
      replicaDivisionPreference: Weighted
      replicaSchedulingType: Divided
      weightPreference:
        staticWeightList:
        - {targetCluster: {clusterNames: [member1]}, weight: 1}
        - {targetCluster: {clusterNames: [member2]}, weight: 1}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: nginx-op}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: nginx}
  overrideRules:
  - targetCluster: {clusterNames: [member2]}
    overriders:
      labelsOverrider:
      - {operator: add, value: {env: skoala-dev}}
      - {operator: add, value: {env-stat: skoala-stage}}
      - {operator: remove, value: {for: for}}
      - {operator: replace, value: {bar: test}}
  - targetCluster: {clusterNames: [member1]}
    overriders:
      annotationsOverrider:
      - {operator: add, value: {foo: bar}}
$ look
$ ran
$ look
$ hub scale deployment nginx --replicas=6
$ look
$ ran
$ look
$ hub delete deployment nginx
$ look
