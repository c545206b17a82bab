# Other kinds of workloads, and what becomes of their statuses.
$ hub apply -f -
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec:
  replicas: 4
  serviceName: set
  selector: {matchLabels: {app: set}}
  template:
    metadata: {labels: {app: set}}
    spec: {containers: [{name: set, image: nginx}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec:
  parallelism: 4
  completions: 8
  template:
    spec: {restartPolicy: Never, containers: [{name: work, image: nginx}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template:
    metadata: {labels: {app: everywhere}}
    spec: {containers: [{name: set, image: nginx}]}
---
apiVersion: v1
kind: Service
metadata: {name: front}
spec:
  type: LoadBalancer
  ports: [{port: 80, nodePort: 30481}]
  selector: {app: set}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: door}
spec:
  defaultBackend: {service: {name: front, port: {number: 80}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: care}
spec: {minAvailable: 1, selector: {matchLabels: {app: set}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: work, image: nginx}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scale}
spec:
  maxReplicas: 5
  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: set}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: divided}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: StatefulSet}
  - {apiVersion: batch/v1, kind: Job}
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
kind: PropagationPolicy
metadata: {name: whole}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: DaemonSet}
  - {apiVersion: v1, kind: Service}
  - {apiVersion: networking.k8s.io/v1, kind: Ingress}
  - {apiVersion: policy/v1, kind: PodDisruptionBudget}
  - {apiVersion: v1, kind: PersistentVolumeClaim}
  - {apiVersion: batch/v1, kind: CronJob}
  - {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler}
  placement: {clusterAffinity: {clusterNames: [member1, member2]}}
$ look
$ member1 patch statefulset/set --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"replicas":2,"readyReplicas":1,"updatedReplicas":2,"currentReplicas":2,"availableReplicas":1}}'
$ member1 patch daemonset/everywhere --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"currentNumberScheduled":2,"desiredNumberScheduled":2,"numberAvailable":1,"numberMisscheduled":0,"numberReady":1,"updatedNumberScheduled":2,"numberUnavailable":1}}'
$ member1 patch service/front --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}'
$ member1 patch ingress/door --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"hostname":"m1.example.com"}]}}}'
$ member1 patch poddisruptionbudget/care --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"currentHealthy":1,"desiredHealthy":1,"disruptionsAllowed":1,"expectedPods":2}}'
$ member1 patch persistentvolumeclaim/disk --subresource=status --type=merge -p '{"status":{"phase":"Bound"}}'
$ member1 patch cronjob/nightly --subresource=status --type=merge -p '{"status":{"lastScheduleTime":"2026-01-01T00:00:00Z","lastSuccessfulTime":"2026-01-01T00:01:00Z"}}'
$ member1 patch horizontalpodautoscaler/scale --subresource=status --type=merge -p '{"status":{"currentReplicas":1,"desiredReplicas":2,"observedGeneration":1}}'
$ member1 patch job/work --subresource=status --type=merge -p '{"status":{"active":2,"succeeded":1,"startTime":"2026-01-01T00:00:00Z"}}'
$ member2 patch statefulset/set --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"replicas":2,"readyReplicas":2,"updatedReplicas":2,"currentReplicas":2,"availableReplicas":2}}'
$ member2 patch daemonset/everywhere --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"currentNumberScheduled":2,"desiredNumberScheduled":2,"numberAvailable":2,"numberMisscheduled":0,"numberReady":2,"updatedNumberScheduled":2,"numberUnavailable":0}}'
$ member2 patch service/front --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.2"}]}}}'
$ member2 patch ingress/door --subresource=status --type=merge -p '{"status":{"loadBalancer":{"ingress":[{"hostname":"m2.example.com"}]}}}'
$ member2 patch poddisruptionbudget/care --subresource=status --type=merge -p '{"status":{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":1,"disruptionsAllowed":1,"expectedPods":2}}'
$ member2 patch persistentvolumeclaim/disk --subresource=status --type=merge -p '{"status":{"phase":"Pending"}}'
$ member2 patch cronjob/nightly --subresource=status --type=merge -p '{"status":{"lastScheduleTime":"2026-01-02T00:00:00Z","lastSuccessfulTime":"2026-01-02T00:01:00Z"}}'
$ member2 patch horizontalpodautoscaler/scale --subresource=status --type=merge -p '{"status":{"currentReplicas":2,"desiredReplicas":2,"observedGeneration":1}}'
$ member2 patch job/work --subresource=status --type=merge -p '{"status":{"active":1,"succeeded":2,"startTime":"2026-01-02T00:00:00Z"}}'
$ look
$ finally member1 patch persistentvolumeclaim disk --type=merge -p '{"metadata":{"finalizers":null}}'
$ finally member2 patch persistentvolumeclaim disk --type=merge -p '{"metadata":{"finalizers":null}}'
