//! Workloads that end.

use super::rule::Rule;

pub(super) fn rules() -> Vec<Rule> {
    let on = |name| Rule::on("batch.v1", name);
    vec![
        // Not the job inside of a cron job: that one gets its defaults when it is created.
        on("Job")
            .lacking("spec.parallelism", |job| job.set("spec.completions", 1))
            .set("spec.parallelism", 1)
            .having("spec.backoffLimitPerIndex", |job| job.set("spec.backoffLimit", i32::MAX))
            .set("spec.backoffLimit", 6)
            .copy("spec.template.metadata.labels", "metadata.labels")
            .set("spec.completionMode", "NonIndexed")
            .set("spec.suspend", false)
            .having("spec.podFailurePolicy", |job| job.set("spec.podReplacementPolicy", "Failed"))
            .set("spec.podReplacementPolicy", "TerminatingOrFailed")
            .set("spec.manualSelector", false),
        on("CronJobSpec")
            .set("concurrencyPolicy", "Allow")
            .set("suspend", false)
            .set("successfulJobsHistoryLimit", 3)
            .set("failedJobsHistoryLimit", 1),
        on("PodFailurePolicyOnPodConditionsPattern").set("status", "True"),
    ]
}
