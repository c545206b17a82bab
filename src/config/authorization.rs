//! Who decides what people may do, besides the roles of each workspace: the flags, and the files that they name.

use super::aggregated::Standing;
use super::{FileError, kubeconfig};
use apiserver::authz::{AccessWebhook, Deciders, Lasting};
use apiserver::hooks::call::{HttpCaller, NoServices};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::sync::Arc;

/// What Kubernetes remembers of a webhook's answers, and of a host's, in seconds.
const WEBHOOK: Lasting = Lasting { allowed: 300, refused: 30 };
const HOST: Lasting = Lasting { allowed: 10, refused: 10 };

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// The roles and bindings of the workspace
    #[value(name = "RBAC")]
    Rbac,
    /// The webhook in --authorization-webhook-config-file
    #[value(name = "Webhook")]
    Webhook,
}

/// The same flags as kube-apiserver's.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Authorization")]
pub struct AuthorizationFlags {
    /// The authorizers, in order: RBAC, or RBAC,Webhook
    #[arg(long, value_name = "MODE", value_delimiter = ',', default_value = "RBAC")]
    pub authorization_mode: Vec<Mode>,
    /// The kubeconfig of a SubjectAccessReview webhook
    #[arg(long, value_name = "FILE")]
    pub authorization_webhook_config_file: Option<PathBuf>,
    /// How long an approval is cached, such as 90s [default: 5m for a webhook, 10s for a host]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub authorization_webhook_cache_authorized_ttl: Option<i64>,
    /// How long a denial is cached [default: 30s for a webhook, 10s for a host]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub authorization_webhook_cache_unauthorized_ttl: Option<i64>,
}

/// Flags that leave it open who decides.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("--authorization-mode must be RBAC or RBAC,Webhook")]
    Modes,
    #[error("--authorization-mode RBAC,Webhook and --authorization-webhook-config-file need each other")]
    Webhook,
}

impl AuthorizationFlags {
    /// Nobody, if nobody is asked.
    pub fn read(&self, standing: Option<&Standing>) -> Result<Option<Deciders>, AuthorizationError> {
        let wanted = match &*self.authorization_mode {
            [] | [Mode::Rbac] => false,
            [Mode::Rbac, Mode::Webhook] => true,
            _ => return Err(AuthorizationError::Modes),
        };
        let file = self.authorization_webhook_config_file.as_deref();
        if wanted != file.is_some() {
            return Err(AuthorizationError::Webhook);
        }
        let caller = HttpCaller::new(Arc::new(NoServices), None);
        let ask = |at, lasting| AccessWebhook::new(at, Arc::new(caller.clone()), self.lasting(lasting));
        let webhooks: Vec<AccessWebhook> =
            file.map(kubeconfig::endpoint).transpose()?.into_iter().map(|at| ask(at, WEBHOOK)).collect();
        let host =
            standing.map(|host| ask(host.decides.below("/apis/authorization.k8s.io/v1/subjectaccessreviews"), HOST));
        if host.is_none() && webhooks.is_empty() {
            return Ok(None);
        }
        let open_paths = standing.map(|host| host.open_paths.clone()).unwrap_or_default();
        Ok(Some(Deciders { host, open_paths, webhooks }))
    }

    fn lasting(&self, usual: Lasting) -> Lasting {
        Lasting {
            allowed: self.authorization_webhook_cache_authorized_ttl.unwrap_or(usual.allowed),
            refused: self.authorization_webhook_cache_unauthorized_ttl.unwrap_or(usual.refused),
        }
    }
}

/// `90s`, `5m`, `1h`: whole seconds.
pub(super) fn seconds(text: &str) -> Result<i64, String> {
    let (number, unit) = text.split_at(text.len() - text.chars().next_back().map_or(0, char::len_utf8));
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err("must end with s, m or h".to_owned()),
    };
    let number: u32 = number.parse().map_err(|_| format!("{number:?} is not a whole number"))?;
    Ok(i64::from(number) * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read() {
        assert_eq!((seconds("10s"), seconds("5m"), seconds("0s")), (Ok(10), Ok(300), Ok(0)));
        for odd in ["", "10", "s", "-1s", "1.5m", "5ä"] {
            assert!(seconds(odd).is_err(), "{odd:?}");
        }
    }

    #[test]
    fn flags_that_do_not_go_together_are_refused() {
        let flags = |modes: &[Mode], file: Option<&str>| AuthorizationFlags {
            authorization_mode: modes.to_vec(),
            authorization_webhook_config_file: file.map(Into::into),
            ..AuthorizationFlags::default()
        };
        assert!(flags(&[Mode::Rbac], None).read(None).unwrap().is_none());
        let read = |modes: &[Mode], file| flags(modes, file).read(None).unwrap_err();
        assert!(matches!(read(&[Mode::Webhook], None), AuthorizationError::Modes));
        assert!(matches!(read(&[Mode::Rbac, Mode::Webhook], None), AuthorizationError::Webhook));
        assert!(matches!(read(&[Mode::Rbac], Some("/nowhere")), AuthorizationError::Webhook));
        assert!(matches!(read(&[Mode::Rbac, Mode::Webhook], Some("/nowhere")), AuthorizationError::File(_)));
    }
}
