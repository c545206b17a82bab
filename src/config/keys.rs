//! What the server signs and seals with: the flags.

use super::{AuthenticationError, FileError};
use apiserver::authn::revoked::{Misfit, Revoked};
use apiserver::encryption::EncryptionConfiguration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use storage::Ring;

/// What certificates last that are issued on request, if nobody says: Kubernetes' own.
const LASTS: Duration = Duration::from_hours(8760);

/// The same flags as kube-apiserver's and kube-controller-manager's.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Keys and encryption")]
pub struct KeyFlags {
    /// The longest validity of certificates issued for CertificateSigningRequests
    #[arg(long, value_name = "DURATION", default_value = "8760h0m0s", value_parser = duration)]
    pub cluster_signing_duration: Duration,
    /// The key that signs service account tokens (PEM, ECDSA P-256) [default: the one in DIR/certs]
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,
    /// A further key, private or public, whose service account tokens are accepted (PEM, ECDSA P-256); can be repeated
    #[arg(long = "service-account-key-file", value_name = "FILE")]
    pub service_account_key_files: Vec<PathBuf>,
    /// A list of revoked users, groups and credentials; reloaded when it changes
    ///
    /// Each line is `user NAME`, `group NAME`, `uid UID`, or `credential ID` for one certificate (X509SHA256=...) or
    /// token (JTI=...).
    #[arg(long, value_name = "FILE")]
    pub revoked_identities: Option<PathBuf>,
    /// An EncryptionConfiguration: which resources are encrypted at rest, and with which keys; reloaded when it changes
    #[arg(long, value_name = "FILE")]
    pub encryption_provider_config: Option<PathBuf>,
}

impl Default for KeyFlags {
    fn default() -> Self {
        Self {
            cluster_signing_duration: LASTS,
            service_account_signing_key_file: None,
            service_account_key_files: Vec::new(),
            revoked_identities: None,
            encryption_provider_config: None,
        }
    }
}

impl KeyFlags {
    /// Who is not recognised any more; nobody, if no file says so.
    pub fn revoked(&self) -> Result<Revoked, AuthenticationError> {
        let Some(path) = &self.revoked_identities else { return Ok(Revoked::default()) };
        let unreadable = |source| AuthenticationError::File { path: path.clone(), source };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let wrong = |misfit: Misfit| AuthenticationError::Config { path: path.clone(), why: misfit.to_string() };
        Revoked::parse(&text).map_err(wrong)
    }

    /// What seals and opens what is stored; nothing, if no file says so.
    pub fn ring(&self) -> Result<Ring, FileError> {
        let Some(path) = &self.encryption_provider_config else { return Ok(Ring::default()) };
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| FileError::Unreadable { path: path.clone(), source })?;
        let wrong = |why| FileError::Wrong { path: path.clone(), why };
        Ok(EncryptionConfiguration::parse(&text).map_err(wrong)?.ring())
    }

    /// The file as it is now.
    pub fn ring_text(&self) -> Option<String> {
        std::fs::read_to_string(self.encryption_provider_config.as_ref()?).ok()
    }

    /// The file as it is now.
    pub fn revoked_text(&self) -> Option<String> {
        std::fs::read_to_string(self.revoked_identities.as_ref()?).ok()
    }
}

/// A duration as Go writes it: numbers with h, m or s after them.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration such as 8760h or 90m30s");
    let (mut secs, mut number) = (0u64, String::new());
    for character in text.chars() {
        if character.is_ascii_digit() {
            number.push(character);
            continue;
        }
        let unit = match character {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return Err(wrong()),
        };
        let count: u64 = std::mem::take(&mut number).parse().map_err(|_| wrong())?;
        secs = count.checked_mul(unit).and_then(|more| secs.checked_add(more)).ok_or_else(wrong)?;
    }
    if number.is_empty() && secs > 0 { Ok(Duration::from_secs(secs)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_in_go() {
        let check = |text: &str, secs: u64| assert_eq!(duration(text), Ok(Duration::from_secs(secs)), "{text}");
        check("8760h0m0s", KeyFlags::default().cluster_signing_duration.as_secs());
        check("90m", 5400);
        check("1h30s", 3630);
        for odd in ["", "0s", "h", "5", "5d", "-1h", "99999999999999999999h", "1h5"] {
            assert!(duration(odd).is_err(), "{odd}");
        }
    }
}
