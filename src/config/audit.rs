//! What is written down of requests: the flags, and the policy that they name.

use super::{FileError, kubeconfig};
use apiserver::audit::webhook::{self, Pace, Told};
use apiserver::audit::{Audit, Journal, Policy, Writer};
use apiserver::hooks::call::{HttpCaller, NoServices};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The same flags as kube-apiserver's.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Audit")]
pub struct AuditFlags {
    /// The audit.k8s.io/v1 Policy that says what is recorded of which requests
    #[arg(long, value_name = "FILE", requires = "audit_kept")]
    pub audit_policy_file: Option<PathBuf>,
    /// The audit log, one event per line
    #[arg(long, value_name = "FILE", requires = "audit_policy_file", group = "audit_kept")]
    pub audit_log_path: Option<PathBuf>,
    /// The size at which the audit log is rotated
    #[arg(long, value_name = "MEGABYTES", default_value_t = 100)]
    pub audit_log_maxsize: u64,
    /// How many rotated audit logs are kept
    #[arg(long, value_name = "FILES", default_value_t = 10)]
    pub audit_log_maxbackup: usize,
    /// The kubeconfig of a webhook that audit events are sent to
    #[arg(long, value_name = "FILE", requires = "audit_policy_file", group = "audit_kept")]
    pub audit_webhook_config_file: Option<PathBuf>,
    /// The most events sent to the webhook at once
    #[arg(long, value_name = "EVENTS", default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..))]
    pub audit_webhook_batch_max_size: u32,
    /// How long events are collected before they are sent
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub audit_webhook_batch_max_wait: u64,
}

impl AuditFlags {
    /// Nothing, if nobody wants to know anything.
    pub fn read(&self) -> Result<Option<Audit>, FileError> {
        let Some(policy) = &self.audit_policy_file else { return Ok(None) };
        let read = |source| FileError::Unreadable { path: policy.clone(), source };
        let text = std::fs::read_to_string(policy).map_err(read)?;
        let wrong = |why| FileError::Wrong { path: policy.clone(), why };
        let policy = Policy::parse(&text).map_err(wrong)?;
        let kept = self.audit_log_path.as_deref().map(|path| self.kept(path)).transpose()?;
        let sent = self.audit_webhook_config_file.as_deref().map(|path| self.sent(path)).transpose()?;
        Ok(Some(Audit::new(policy, kept.into_iter().chain(sent).collect())))
    }

    fn kept(&self, path: &Path) -> Result<Writer, FileError> {
        let bytes_max = self.audit_log_maxsize.saturating_mul(1_000_000);
        let journal = Journal { path: path.to_owned(), bytes_max, backups: self.audit_log_maxbackup };
        journal.open().map_err(|source| FileError::Unwritable { path: path.to_owned(), source })
    }

    fn sent(&self, path: &Path) -> Result<Writer, FileError> {
        let told = Told { at: kubeconfig::endpoint(path)?, caller: HttpCaller::new(Arc::new(NoServices), None) };
        let pace = Pace {
            together_max: self.audit_webhook_batch_max_size as usize,
            gather: Duration::from_secs(self.audit_webhook_batch_max_wait),
            ..Pace::default()
        };
        Ok(webhook::send(told, pace))
    }
}
