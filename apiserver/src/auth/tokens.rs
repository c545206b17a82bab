//! Tokens of service accounts: what they say, the key that signs them, and those that did before.

use super::User;
use super::published::PublicKey;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Whom a token is meant for.
pub type Audience = String;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    pub id: String,
    pub workspace: String,
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub audiences: Vec<Audience>,
    /// Seconds since 1970.
    pub issued: i64,
    pub expires: i64,
    pub bound: Option<Bound>,
}

/// What a token should not outlive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub kind: String,
    pub name: String,
    pub uid: String,
}

impl Claims {
    pub fn user(&self) -> User {
        let Self { namespace, name, uid, .. } = self;
        let user = User::authenticated(&User::account_name(namespace, name), User::account_groups(namespace));
        User { uid: uid.clone(), extra: self.extra(), ..user }
    }

    /// Which token it was, and what that is bound to.
    fn extra(&self) -> BTreeMap<String, Vec<String>> {
        let mut extra = BTreeMap::new();
        let mut add =
            |key: &str, value: String| extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value]);
        add("credential-id", format!("JTI={}", self.id));
        if let Some(Bound { kind, name, uid }) = self.bound.as_ref().filter(|bound| bound.kind != "Secret") {
            let kind = kind.to_lowercase();
            add(&format!("{kind}-name"), name.clone());
            add(&format!("{kind}-uid"), uid.clone());
        }
        extra
    }
}

/// The claims as a token carries them.
#[derive(Serialize, Deserialize)]
struct Written {
    iss: String,
    sub: String,
    aud: Vec<String>,
    exp: i64,
    iat: i64,
    nbf: i64,
    jti: String,
    #[serde(rename = "kubernetes.io")]
    private: Private,
}

#[derive(Serialize, Deserialize)]
struct Private {
    #[serde(rename = "clusterName")]
    workspace: String,
    namespace: String,
    serviceaccount: Named,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<Named>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<Named>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Named {
    name: String,
    uid: String,
}

/// Signs tokens with one key, and knows those of several again. Clones share the keys.
#[derive(Clone)]
pub struct TokenIssuer {
    name: String,
    audiences: Vec<Audience>,
    /// Read for each token, replaced as a whole when keys change.
    keys: Arc<RwLock<Arc<Keys>>>,
}

/// ECDSA keys on P-256.
pub struct Keys {
    signing: EncodingKey,
    /// Those whose tokens are accepted. The first is the other half of the one that signs.
    accepted: Vec<(PublicKey, DecodingKey)>,
}

impl Keys {
    /// A key that signs, both halves as PEM.
    pub fn new(private_pem: &[u8], public_pem: &[u8]) -> Result<Self, KeyError> {
        let keys = Self { signing: EncodingKey::from_ec_pem(private_pem)?, accepted: Vec::new() };
        keys.accept(public_pem)
    }

    /// Tokens that were signed with this key are good as well.
    pub fn accept(mut self, public_pem: &[u8]) -> Result<Self, KeyError> {
        let public = PublicKey::from_pem(public_pem).ok_or(KeyError::NotPublic)?;
        if !self.accepted.iter().any(|(known, _)| *known == public) {
            self.accepted.push((public, DecodingKey::from_ec_pem(public_pem)?));
        }
        Ok(self)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.accepted.iter().map(|(public, _)| public.id())).finish()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key that signs tokens cannot be used")]
    Unusable(#[from] jsonwebtoken::errors::Error),
    #[error("the public half of the key that signs tokens is not one of an ECDSA key on P-256")]
    NotPublic,
}

impl TokenIssuer {
    /// An issuer whose key is an ECDSA key on P-256, both halves as PEM.
    pub fn new(name: &str, private_pem: &[u8], public_pem: &[u8]) -> Result<Self, KeyError> {
        Ok(Self::with(name, Keys::new(private_pem, public_pem)?))
    }

    pub fn with(name: &str, keys: Keys) -> Self {
        let keys = Arc::new(RwLock::new(Arc::new(keys)));
        Self { name: name.to_owned(), audiences: vec![name.to_owned()], keys }
    }

    /// From now on, these keys count.
    pub fn use_keys(&self, keys: Keys) {
        *self.keys.write() = Arc::new(keys);
    }

    /// What tokens say about where they come from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The keys that others need to check tokens with, as a set.
    pub fn public(&self) -> Value {
        let keys = self.keys.read().clone();
        json!({ "keys": keys.accepted.iter().map(|(public, _)| public.told()).collect::<Vec<_>>() })
    }

    /// Whom a token is meant for when nobody says.
    pub fn audiences(&self) -> &[Audience] {
        &self.audiences
    }

    pub fn sign(&self, claims: &Claims) -> Result<String, KeyError> {
        let bound = |kind: &str| {
            let found = claims.bound.as_ref().filter(|bound| bound.kind == kind)?;
            Some(Named { name: found.name.clone(), uid: found.uid.clone() })
        };
        let written = Written {
            iss: self.name.clone(),
            sub: claims.user().name,
            aud: claims.audiences.clone(),
            exp: claims.expires,
            iat: claims.issued,
            nbf: claims.issued,
            jti: claims.id.clone(),
            private: Private {
                workspace: claims.workspace.clone(),
                namespace: claims.namespace.clone(),
                serviceaccount: Named { name: claims.name.clone(), uid: claims.uid.clone() },
                pod: bound("Pod"),
                node: bound("Node"),
                secret: bound("Secret"),
            },
        };
        let keys = self.keys.read().clone();
        let id = keys.accepted.first().map(|(public, _)| public.id().to_owned());
        let header = Header { kid: id, ..Header::new(Algorithm::ES256) };
        Ok(jsonwebtoken::encode(&header, &written, &keys.signing)?)
    }

    /// What a token says, if this issuer signed it and it is good at `now`.
    pub fn verify(&self, token: &str, now: i64) -> Option<Claims> {
        let mut rules = Validation::new(Algorithm::ES256);
        rules.set_issuer(&[&self.name]);
        // The clock is ours; audiences are the caller's business.
        rules.validate_exp = false;
        rules.validate_nbf = false;
        rules.validate_aud = false;
        let keys = self.keys.read().clone();
        // A token that names its key is held against no other.
        let named = jsonwebtoken::decode_header(token).ok()?.kid;
        let fits = |public: &PublicKey| named.as_deref().is_none_or(|name| name == public.id());
        let mut candidates = keys.accepted.iter().filter(|(public, _)| fits(public));
        let decoded = candidates.find_map(|(_, key)| jsonwebtoken::decode::<Written>(token, key, &rules).ok());
        let Written { aud, exp, iat, nbf, jti, private, .. } = decoded?.claims;
        if now >= exp || now < nbf {
            return None;
        }
        let all = [("Pod", private.pod), ("Node", private.node), ("Secret", private.secret)];
        let bound = all
            .into_iter()
            .find_map(|(kind, named)| named.map(|Named { name, uid }| Bound { kind: kind.to_owned(), name, uid }));
        let Named { name, uid } = private.serviceaccount;
        let (workspace, namespace) = (private.workspace, private.namespace);
        Some(Claims { id: jti, workspace, namespace, name, uid, audiences: aud, issued: iat, expires: exp, bound })
    }
}

impl fmt::Debug for TokenIssuer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenIssuer({:?})", self.name)
    }
}
