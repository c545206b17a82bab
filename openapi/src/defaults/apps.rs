//! Workloads that keep running.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("apps.v1", name);
    vec![
        on("DeploymentSpec")
            .set("replicas", 1)
            .set("strategy.type", "RollingUpdate")
            .given("strategy.type", "RollingUpdate", |spec| {
                spec.set("strategy.rollingUpdate.maxUnavailable", "25%").set("strategy.rollingUpdate.maxSurge", "25%")
            })
            .set("revisionHistoryLimit", 10)
            .set("progressDeadlineSeconds", 600),
        on("DaemonSetSpec")
            .set("updateStrategy.type", "RollingUpdate")
            .given("updateStrategy.type", "RollingUpdate", |spec| {
                spec.set("updateStrategy.rollingUpdate.maxUnavailable", 1)
            })
            .set("revisionHistoryLimit", 10),
        stateful_set(on("StatefulSetSpec")),
        on("ReplicaSetSpec").set("replicas", 1),
        // The server's own types have no pointers here, so that even a strategy which is not in use says zero.
        on("RollingUpdateDeployment").set("maxUnavailable", 0).set("maxSurge", 0),
        on("RollingUpdateDaemonSet").set("maxUnavailable", 0).set("maxSurge", 0),
        on("RollingUpdateStatefulSetStrategy").set("partition", 0),
    ]
}

fn stateful_set(spec: Rule) -> Rule {
    // A strategy that is named stays as short as its author wrote it; a missing one is written out.
    spec.set("podManagementPolicy", "OrderedReady")
        .lacking("updateStrategy.type", |spec| {
            spec.set("updateStrategy.type", "RollingUpdate").set("updateStrategy.rollingUpdate.partition", 0)
        })
        .given("updateStrategy.type", "RollingUpdate", |spec| {
            spec.having("updateStrategy.rollingUpdate", |spec| {
                spec.set("updateStrategy.rollingUpdate.maxUnavailable", 1)
            })
        })
        .set("persistentVolumeClaimRetentionPolicy.whenDeleted", "Retain")
        .set("persistentVolumeClaimRetentionPolicy.whenScaled", "Retain")
        .set("replicas", 1)
        .set("revisionHistoryLimit", 10)
        .each("volumeClaimTemplates", |claim| claim.put("apiVersion", "v1").put("kind", "PersistentVolumeClaim"))
}
