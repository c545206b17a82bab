# What a workload refers to goes where it goes.
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
      - {name: web, image: nginx, envFrom: [{configMapRef: {name: env}}, {secretRef: {name: hidden}}]}
      serviceAccountName: runner
      volumes:
      - {name: v, configMap: {name: files}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: env}
data: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: files}
data: {a: b}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {a: b}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: runner}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
  propagateDeps: true
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub patch propagationpolicy web --type=merge -p '{"spec":{"placement":{"clusterAffinity":{"clusterNames":["member2","member3"]}}}}'
$ look
$ hub patch propagationpolicy web --type=merge -p '{"spec":{"propagateDeps":false}}'
$ look
