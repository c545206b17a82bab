//! What is written down of requests: the flags, and the policy that they name.

use super::FileError;
use apiserver::audit::{Audit, Journal, Policy, Writer};
use clap::Args;
use std::path::PathBuf;

/// The same flags as kube-apiserver's.
#[derive(Args, Clone, Debug, Default)]
pub struct AuditFlags {
    /// An audit.k8s.io/v1 Policy: what is written down of which requests
    #[arg(long, value_name = "FILE", requires = "audit_log_path")]
    pub audit_policy_file: Option<PathBuf>,
    /// Where it is written down, an event a line
    #[arg(long, value_name = "FILE", requires = "audit_policy_file")]
    pub audit_log_path: Option<PathBuf>,
    /// How large the file may be before it is put aside
    #[arg(long, value_name = "MEGABYTES", default_value_t = 100)]
    pub audit_log_maxsize: u64,
    /// How many older files are kept
    #[arg(long, value_name = "FILES", default_value_t = 10)]
    pub audit_log_maxbackup: usize,
}

impl AuditFlags {
    /// Nothing, if nobody wants to know anything.
    pub fn read(&self) -> Result<Option<Audit>, FileError> {
        let (Some(policy), Some(path)) = (&self.audit_policy_file, &self.audit_log_path) else { return Ok(None) };
        let read = |source| FileError::Unreadable { path: policy.clone(), source };
        let text = std::fs::read_to_string(policy).map_err(read)?;
        let wrong = |why| FileError::Wrong { path: policy.clone(), why };
        let policy = Policy::parse(&text).map_err(wrong)?;
        let bytes_max = self.audit_log_maxsize.saturating_mul(1_000_000);
        let journal = Journal { path: path.clone(), bytes_max, backups: self.audit_log_maxbackup };
        let writer = Writer::open(journal).map_err(|source| FileError::Unwritable { path: path.clone(), source })?;
        Ok(Some(Audit::new(policy, writer)))
    }
}
