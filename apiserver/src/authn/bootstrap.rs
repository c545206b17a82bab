//! Tokens of those who join: short ones, kept in secrets, good for a while.

use crate::auth::User;
use crate::object::Object;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openapi::scalar::time::{Instant, Precision};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Where the secrets are.
pub const NAMESPACE: &str = "kube-system";

const TYPE: &str = "bootstrap.kubernetes.io/token";
const GROUP: &str = "system:bootstrappers";
const ID_LENGTH: usize = 6;
const SECRET_LENGTH: usize = 16;
const GROUP_MAX: usize = 256;

/// A token as it is shown: `abcdef.0123456789abcdef`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootstrapToken<'a> {
    pub id: &'a str,
    secret: &'a str,
}

impl<'a> BootstrapToken<'a> {
    pub fn parse(token: &'a str) -> Option<Self> {
        let (id, secret) = token.split_once('.')?;
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let fits = id.len() == ID_LENGTH && secret.len() == SECRET_LENGTH && plain(id) && plain(secret);
        fits.then_some(Self { id, secret })
    }

    /// What the secret is called that would know it.
    pub fn kept_in(&self) -> String {
        format!("bootstrap-token-{}", self.id)
    }

    /// Who the token belongs to, if the secret says so.
    pub fn user(&self, kept: &Object, now: Instant) -> Option<User> {
        let text = |key: &str| {
            let value = kept.pointer(&["data", key]).and_then(Value::as_str).unwrap_or_default();
            STANDARD.decode(value).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
        };
        let is_same = |one: &str, two: &str| Sha256::digest(one) == Sha256::digest(two);
        let vouched = kept.text(&["type"]) == TYPE
            && !kept.is_deleting()
            && text("token-id") == self.id
            && is_same(&text("token-secret"), self.secret)
            && text("usage-bootstrap-authentication") == "true"
            && is_good(&text("expiration"), now);
        if !vouched {
            return None;
        }
        let others = text("auth-extra-groups");
        let others: Vec<&str> = others.split(',').map(str::trim).filter(|group| !group.is_empty()).collect();
        // One group that it may not name, and the whole secret is not to be trusted.
        if !others.iter().all(|group| may_be_named(group)) {
            return None;
        }
        let groups = [GROUP].into_iter().chain(others).map(str::to_owned).collect();
        Some(User::authenticated(&format!("system:bootstrap:{}", self.id), groups))
    }
}

fn is_good(expiration: &str, now: Instant) -> bool {
    if expiration.is_empty() {
        return true;
    }
    Instant::parse(expiration, Precision::Seconds).is_ok_and(|end| now.seconds < end.seconds)
}

/// `system:bootstrappers:...`: others are not a secret's to give.
fn may_be_named(group: &str) -> bool {
    let Some(rest) = group.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix(':')) else { return false };
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b':' || byte == b'-';
    let ends = rest.bytes().next_back().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    ends && rest.len() <= GROUP_MAX && rest.bytes().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Instant = Instant { seconds: 1_800_000_000, nanos: 0 };

    fn secret(change: impl FnOnce(&mut Value)) -> Object {
        let mut data = json!({
            "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
            "auth-extra-groups": "system:bootstrappers:a", "expiration": "2030-01-01T00:00:00Z",
        });
        change(&mut data);
        for value in data.as_object_mut().unwrap().values_mut() {
            *value = STANDARD.encode(value.as_str().unwrap()).into();
        }
        json!({ "metadata": { "name": "bootstrap-token-abcdef" }, "type": TYPE, "data": data }).try_into().unwrap()
    }

    #[test]
    fn a_token_belongs_to_whom_its_secret_says() {
        let token = BootstrapToken::parse("abcdef.0123456789abcdef").unwrap();
        assert_eq!(token.kept_in(), "bootstrap-token-abcdef");
        let user = token.user(&secret(|_| {}), NOW).unwrap();
        assert_eq!(user.name, "system:bootstrap:abcdef");
        assert_eq!(user.groups, ["system:bootstrappers", "system:bootstrappers:a", "system:authenticated"]);
    }

    #[test]
    fn a_secret_that_does_not_vouch_is_no_use() {
        let token = BootstrapToken::parse("abcdef.0123456789abcdef").unwrap();
        for (field, value) in [
            ("token-id", "abcdeg"),
            ("token-secret", "0123456789abcdeg"),
            ("usage-bootstrap-authentication", "yes"),
            ("expiration", "2020-01-01T00:00:00Z"),
            ("expiration", "soon"),
            ("auth-extra-groups", "system:masters"),
            ("auth-extra-groups", "system:bootstrappers:a,system:bootstrappers:"),
        ] {
            assert_eq!(token.user(&secret(|data| data[field] = json!(value)), NOW), None, "{field}: {value}");
        }
        for odd in ["abcdef.0123456789abcde", "abcdeF.0123456789abcdef", "abcdef0123456789abcdef", ".", ""] {
            assert_eq!(BootstrapToken::parse(odd), None, "{odd}");
        }
    }
}
