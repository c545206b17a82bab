# A taint keeps away what is not there, unless it is tolerated.
$ hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"taints":[{"key":"busy","value":"yes","effect":"NoSchedule"}]}}'
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
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: bold, labels: {app: bold}}
spec:
  replicas: 2
  selector: {matchLabels: {app: bold}}
  template:
    metadata: {labels: {app: bold}}
    spec:
      containers:
      - {name: bold, image: nginx}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: bold}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: bold}
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    clusterTolerations:
    - {key: busy, operator: Equal, value: "yes", effect: NoSchedule}
$ look
$ hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"taints":[]}}'
$ look
$ hub patch clusters.cluster.karmada.io member1 --type=merge -p '{"spec":{"taints":[{"key":"late","effect":"NoSchedule"}]}}'
$ look
$ finally hub patch clusters.cluster.karmada.io member1 --type=merge -p '{"spec":{"taints":null}}'
$ finally hub patch clusters.cluster.karmada.io member2 --type=merge -p '{"spec":{"taints":null}}'
