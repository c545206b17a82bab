# What was propagated stays in the members when the template is deleted.
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
  preserveResourcesOnDeletion: true
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub delete deployment web
$ look
