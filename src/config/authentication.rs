//! Who vouches for clients: the flags, and the files that they name.

use super::{FileError, kubeconfig};
use apiserver::authn::file::{Misfit, TokenFile};
use apiserver::authn::header::FrontProxy;
use apiserver::authn::issuers::{AuthenticationConfiguration, Issuers};
use apiserver::authn::webhook::TokenWebhook;
use apiserver::authn::{Anonymous, Authentication, Trusted};
use apiserver::hooks::call::{HttpCaller, NoServices};
use clap::Args;
use http::HeaderName;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The same flags as kube-apiserver's.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Authentication")]
pub struct AuthenticationFlags {
    /// A CSV file of static tokens: token,user,uid,"group,group"
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,
    /// An AuthenticationConfiguration: OIDC issuers and anonymous access; reloaded when it changes
    #[arg(long, value_name = "FILE")]
    pub authentication_config: Option<PathBuf>,
    /// CAs, besides the server's own, whose client certificates are accepted (PEM)
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// The kubeconfig of a TokenReview webhook
    #[arg(long, value_name = "FILE")]
    pub authentication_token_webhook_config_file: Option<PathBuf>,
    /// Whether requests without credentials are served as system:anonymous
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub anonymous_auth: Option<bool>,
    /// CAs of front proxy certificates (PEM)
    #[arg(long, value_name = "FILE")]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// Common names of the front proxies that are trusted [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,
    /// Request headers with the user name
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_value = "X-Remote-User")]
    pub requestheader_username_headers: Vec<String>,
    /// Request headers with the user's UID
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_value = "X-Remote-Uid")]
    pub requestheader_uid_headers: Vec<String>,
    /// Request headers with the user's groups
    #[arg(long, value_name = "HEADER", value_delimiter = ',', default_value = "X-Remote-Group")]
    pub requestheader_group_headers: Vec<String>,
    /// Prefixes of request headers with further facts about the user
    #[arg(long, value_name = "PREFIX", value_delimiter = ',', default_value = "X-Remote-Extra-")]
    pub requestheader_extra_headers_prefix: Vec<String>,
}

/// Why nobody can be recognised.
#[derive(Debug, thiserror::Error)]
pub enum AuthenticationError {
    #[error("cannot read {}", .path.display())]
    File { path: PathBuf, source: std::io::Error },
    #[error("{}: {source}", .path.display())]
    Tokens { path: PathBuf, source: Misfit },
    #[error("{}: {why}", .path.display())]
    Config { path: PathBuf, why: String },
    #[error(transparent)]
    Webhook(#[from] FileError),
    #[error("{0:?} is not a valid header name")]
    Header(String),
    #[error("--anonymous-auth cannot be used with `anonymous` in --authentication-config")]
    AnonymousTwice,
}

/// What the flags and their files say.
#[derive(Debug)]
pub struct Vouching {
    pub authentication: Authentication,
    /// Authorities of clients besides our own, in PEM.
    pub client_authorities: Option<String>,
    /// Authorities of front proxies, in PEM.
    pub proxy_authorities: Option<String>,
    pub reload: Reload,
}

/// What has to be read again when it changes.
#[derive(Clone, Debug)]
pub struct Reload {
    file: Option<PathBuf>,
    anonymous: Anonymous,
    caller: HttpCaller,
}

impl AuthenticationFlags {
    pub fn read(&self) -> Result<Vouching, AuthenticationError> {
        let caller = HttpCaller::new(Arc::new(NoServices), None);
        let anonymous = if self.anonymous_auth == Some(false) { Anonymous::Nowhere } else { Anonymous::Everywhere };
        let reload = Reload { file: self.authentication_config.clone(), anonymous, caller: caller.clone() };
        let (trusted, said) = reload.read()?;
        if said && self.anonymous_auth.is_some() {
            return Err(AuthenticationError::AnonymousTwice);
        }
        let tokens = match &self.token_auth_file {
            Some(path) => TokenFile::parse(&text(path)?)
                .map_err(|source| AuthenticationError::Tokens { path: path.clone(), source })?,
            None => TokenFile::default(),
        };
        let webhook = match &self.authentication_token_webhook_config_file {
            Some(path) => Some(TokenWebhook::new(kubeconfig::endpoint(path)?, caller)),
            None => None,
        };
        let proxy_authorities = self.requestheader_client_ca_file.as_deref().map(text).transpose()?;
        let proxy = proxy_authorities.as_ref().map(|_| self.front_proxy()).transpose()?;
        Ok(Vouching {
            authentication: Authentication::new(proxy, tokens, webhook, trusted),
            client_authorities: self.client_ca_file.as_deref().map(text).transpose()?,
            proxy_authorities,
            reload,
        })
    }

    fn front_proxy(&self) -> Result<FrontProxy, AuthenticationError> {
        let names = |all: &[String]| {
            let name = |text: &String| {
                HeaderName::from_bytes(text.as_bytes()).map_err(|_| AuthenticationError::Header(text.clone()))
            };
            all.iter().map(name).collect::<Result<Vec<_>, _>>()
        };
        Ok(FrontProxy {
            user: names(&self.requestheader_username_headers)?,
            uid: names(&self.requestheader_uid_headers)?,
            groups: names(&self.requestheader_group_headers)?,
            extra_prefixes: self.requestheader_extra_headers_prefix.iter().map(|text| text.to_lowercase()).collect(),
            allowed: self.requestheader_allowed_names.clone(),
        })
    }
}

impl Reload {
    /// Whether there is anything that can change.
    pub fn is_needed(&self) -> bool {
        self.file.is_some()
    }

    /// The file as it is now.
    pub fn text(&self) -> Option<String> {
        std::fs::read_to_string(self.file.as_ref()?).ok()
    }

    /// Who is trusted now, and whether the file says who may be anonymous.
    pub fn read(&self) -> Result<(Trusted, bool), AuthenticationError> {
        let Some(path) = &self.file else {
            return Ok((Trusted { anonymous: self.anonymous.clone(), ..Trusted::default() }, false));
        };
        let wrong = |why| AuthenticationError::Config { path: path.clone(), why };
        let config = AuthenticationConfiguration::parse(&text(path)?).map_err(wrong)?;
        let issuers = Arc::new(Issuers::new(&config, &self.caller).map_err(wrong)?);
        let said = config.anonymous();
        let is_said = said.is_some();
        Ok((Trusted { issuers, anonymous: said.unwrap_or_else(|| self.anonymous.clone()) }, is_said))
    }
}

fn text(path: &Path) -> Result<String, AuthenticationError> {
    let failed = |source| AuthenticationError::File { path: path.to_owned(), source };
    std::fs::read_to_string(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    const ISSUER: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n\
        anonymous: { enabled: false }\njwt:\n- issuer: { url: https://i, audiences: [a] }\n  \
        claimMappings: { username: { expression: claims.sub } }\n";

    #[test]
    fn what_the_files_say_is_read_and_read_again() {
        let (_dir, path) = written(ISSUER);
        let flags = AuthenticationFlags { authentication_config: Some(path.clone()), ..Default::default() };
        let vouching = flags.read().unwrap();
        assert_eq!(vouching.authentication.trusted().anonymous, Anonymous::Nowhere);
        std::fs::write(&path, ISSUER.replace("enabled: false", "enabled: true")).unwrap();
        assert_eq!(vouching.reload.read().unwrap().0.anonymous, Anonymous::Everywhere);
        std::fs::write(&path, ISSUER.replace("claims.sub", "claims.")).unwrap();
        assert!(vouching.reload.read().unwrap_err().to_string().contains("jwt[0]"));
    }

    #[test]
    fn flags_that_contradict_or_name_nothing_are_refused() {
        let (_dir, path) = written(ISSUER);
        let both = AuthenticationFlags {
            authentication_config: Some(path.clone()),
            anonymous_auth: Some(true),
            ..Default::default()
        };
        assert!(matches!(both.read().unwrap_err(), AuthenticationError::AnonymousTwice));
        let missing = AuthenticationFlags { token_auth_file: Some("/nowhere".into()), ..Default::default() };
        assert!(missing.read().unwrap_err().to_string().contains("/nowhere"));
        let odd = AuthenticationFlags { token_auth_file: Some(path), ..Default::default() };
        assert!(odd.read().unwrap_err().to_string().contains("line 1"));
    }
}
