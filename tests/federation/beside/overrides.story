# All overriders in their order, by several policies.
$ hub apply -f -
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterOverridePolicy
metadata: {name: overrides-wide}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, namespace: overrides}
  overrideRules:
  - overriders:
      plaintext:
      - {path: /metadata/annotations/who, operator: add, value: wide}
      - {path: /spec/minReadySeconds, operator: add, value: 3}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: b-all}
spec:
  overrideRules:
  - overriders:
      annotationsOverrider:
      - {operator: add, value: {who: all, kept: "yes"}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: a-named}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
  overrideRules:
  - targetCluster: {clusterNames: [member1]}
    overriders:
      plaintext:
      - {path: /spec/replicas, operator: replace, value: 7}
      imageOverrider:
      - {component: Registry, operator: replace, value: registry.local}
      - {component: Repository, operator: add, value: -copy}
      - {component: Tag, operator: replace, value: "2.0"}
      commandOverrider:
      - {containerName: web, operator: add, value: [fast]}
      argsOverrider:
      - {containerName: web, operator: remove, value: [a]}
      - {containerName: web, operator: add, value: [c]}
      labelsOverrider:
      - {operator: add, value: {tier: first}}
      - {operator: replace, value: {app: web2, missing: x}}
      annotationsOverrider:
      - {operator: replace, value: {who: named}}
  - targetCluster: {clusterNames: [member2]}
    overriders:
      imageOverrider:
      - {predicate: {path: /spec/template/spec/containers/0/image}, component: Tag, operator: remove}
      labelsOverrider:
      - {operator: remove, value: {app: web}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: OverridePolicy
metadata: {name: c-documents}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: settings}
  overrideRules:
  - targetCluster: {clusterNames: [member1]}
    overriders:
      fieldOverrider:
      - fieldPath: /data/conf.json
        json:
        - {subPath: /db/host, operator: replace, value: there}
        - {subPath: /list/0, operator: remove}
      - fieldPath: /data/conf.yaml
        yaml:
        - {subPath: /db/host, operator: replace, value: there}
        - {subPath: /db/name, operator: add, value: x}
  - targetCluster: {clusterNames: [member2]}
    overriders:
      plaintext:
      - {path: /data/missing, operator: remove}
---
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
      - {name: web, image: example.com/team/web:1.0, command: [run], args: [a, b]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {old: label}}
data:
  conf.json: '{"db":{"host":"here","port":1},"list":[1,2]}'
  conf.yaml: |
    db:
      port: 1
      host: here
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: settings}
spec:
  resourceSelectors:
  - {apiVersion: v1, kind: ConfigMap, name: settings}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ hub delete overridepolicy a-named
$ look
$ finally hub delete clusteroverridepolicy overrides-wide
