//! Somebody else who is asked about tokens, as a `TokenReview`.

use super::Remembered;
use crate::auth::User;
use crate::hooks::Endpoint;
use crate::hooks::call::{CallWebhook, HttpCaller};
use bytes::Bytes;
use serde_json::{Value, json};
use std::time::Duration;

/// Whoever asks for something waits as long.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// How long an answer counts, in seconds: Kubernetes' own bound.
const COUNTS: i64 = 120;

#[derive(Debug)]
pub struct TokenWebhook {
    at: Endpoint,
    caller: HttpCaller,
    remembered: Remembered<Option<User>>,
    /// How long an answer counts, in seconds.
    counts: i64,
}

impl TokenWebhook {
    pub fn new(at: Endpoint, caller: HttpCaller) -> Self {
        Self::lasting(at, caller, COUNTS)
    }

    /// The same with answers that count for so many seconds.
    pub fn lasting(at: Endpoint, caller: HttpCaller, counts: i64) -> Self {
        Self { at, caller, remembered: Remembered::default(), counts }
    }

    pub(super) async fn user(&self, token: &str, now: i64) -> Option<User> {
        if let Some(known) = self.remembered.get(token, now) {
            return known;
        }
        let question = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token },
        });
        match self.caller.call(&self.at, Bytes::from(question.to_string()), ANSWER_MAX).await {
            Ok(answer) => {
                let user = read(&answer);
                self.remembered.keep(token, now + self.counts, user.clone(), now);
                user
            }
            // The error may quote what was sent.
            Err(_) => {
                tracing::warn!(at = %self.at, "a token could not be reviewed");
                None
            }
        }
    }
}

/// Who an answer says the token belongs to.
fn read(answer: &Value) -> Option<User> {
    let status = answer.get("status")?;
    if status.get("authenticated") != Some(&Value::Bool(true)) {
        return None;
    }
    let user = status.get("user")?;
    let text = |field: &str| user.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let texts = |value: &Value| {
        let all = value.as_array().into_iter().flatten().filter_map(Value::as_str);
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let name = text("username");
    let extra = user.get("extra").and_then(Value::as_object).into_iter().flatten();
    let extra = extra.map(|(key, value)| (key.to_lowercase(), texts(value))).collect();
    let groups = user.get("groups").map(texts).unwrap_or_default();
    (!name.is_empty()).then(|| User { uid: text("uid"), extra, ..User::authenticated(&name, groups) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_a_user_or_nobody() {
        let user = json!({ "username": "ada", "uid": "1", "groups": ["dev"], "extra": { "Scope": ["a"] } });
        let ada = read(&json!({ "status": { "authenticated": true, "user": user } })).unwrap();
        assert_eq!((&*ada.name, &*ada.uid, &ada.extra["scope"]), ("ada", "1", &vec!["a".to_owned()]));
        assert_eq!(ada.groups, ["dev", "system:authenticated"]);
        for odd in [
            json!({ "status": { "authenticated": false, "user": user } }),
            json!({ "status": { "authenticated": "true", "user": user } }),
            json!({ "status": { "authenticated": true, "user": {} } }),
            json!({ "status": { "authenticated": true } }),
            json!([]),
            json!(null),
        ] {
            assert_eq!(read(&odd), None, "{odd}");
        }
    }
}
