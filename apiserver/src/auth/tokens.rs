//! Tokens of service accounts: what they say, and the key that signs them.

use super::User;
use super::published::PublicKey;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

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

/// Signs tokens, and knows its own again.
#[derive(Clone)]
pub struct TokenIssuer {
    name: String,
    audiences: Vec<Audience>,
    signing: EncodingKey,
    checking: DecodingKey,
    public: PublicKey,
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
        Ok(Self {
            name: name.to_owned(),
            audiences: vec![name.to_owned()],
            signing: EncodingKey::from_ec_pem(private_pem)?,
            checking: DecodingKey::from_ec_pem(public_pem)?,
            public: PublicKey::from_pem(public_pem).ok_or(KeyError::NotPublic)?,
        })
    }

    /// What tokens say about where they come from.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What others need to check tokens with.
    pub fn public(&self) -> &PublicKey {
        &self.public
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
        let header = Header { kid: Some(self.public.id().to_owned()), ..Header::new(Algorithm::ES256) };
        Ok(jsonwebtoken::encode(&header, &written, &self.signing)?)
    }

    /// What a token says, if this issuer signed it and it is good at `now`.
    pub fn verify(&self, token: &str, now: i64) -> Option<Claims> {
        let mut rules = Validation::new(Algorithm::ES256);
        rules.set_issuer(&[&self.name]);
        // The clock is ours; audiences are the caller's business.
        rules.validate_exp = false;
        rules.validate_nbf = false;
        rules.validate_aud = false;
        let Written { aud, exp, iat, nbf, jti, private, .. } =
            jsonwebtoken::decode::<Written>(token, &self.checking, &rules).ok()?.claims;
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
