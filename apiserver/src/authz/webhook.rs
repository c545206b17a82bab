//! Somebody else who is asked what people may do, as a `SubjectAccessReview`.

use crate::auth::{Decision, Question};
use crate::authn::Remembered;
use crate::hooks::Endpoint;
use crate::hooks::call::CallWebhook;
use bytes::Bytes;
use serde_json::{Value, json};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Whoever asks for something waits as long.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How often it is tried, and how long is waited before it is tried again.
const TRIES: usize = 3;
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Longer questions are asked anew each time: Kubernetes' own bound.
const REMEMBERED_BYTES_MAX: usize = 10_000;

/// How long answers count, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lasting {
    pub allowed: i64,
    pub refused: i64,
}

/// One of them.
pub struct AccessWebhook {
    at: Endpoint,
    caller: Arc<dyn CallWebhook>,
    lasting: Lasting,
    remembered: Remembered<Decision>,
}

impl fmt::Debug for AccessWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessWebhook").field("at", &self.at.to_string()).finish_non_exhaustive()
    }
}

impl AccessWebhook {
    pub fn new(at: Endpoint, caller: Arc<dyn CallWebhook>, lasting: Lasting) -> Self {
        Self { at, caller, lasting, remembered: Remembered::default() }
    }

    /// An error says why nobody knows.
    pub(super) async fn decide(&self, question: &Question, now: i64) -> Result<Decision, String> {
        let key = question.spec.to_string();
        let fits = key.len() <= REMEMBERED_BYTES_MAX;
        if let Some(known) = self.remembered.get(&key, now).filter(|_| fits) {
            return Ok(known);
        }
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "metadata": {},
            "spec": question.spec,
        });
        let decision = read(&self.ask(Bytes::from(review.to_string())).await?)?;
        let lasts = if decision.is_allowed() { self.lasting.allowed } else { self.lasting.refused };
        if fits && lasts > 0 {
            self.remembered.keep(&key, now.saturating_add(lasts), decision.clone(), now);
        }
        Ok(decision)
    }

    async fn ask(&self, review: Bytes) -> Result<Value, String> {
        let mut failed = String::new();
        for tried in 0..TRIES {
            if tried > 0 {
                tokio::time::sleep(TRY_AGAIN).await;
            }
            match self.caller.call(&self.at, review.clone(), ANSWER_MAX).await {
                Ok(answer) => return Ok(answer),
                Err(error) => failed = error.to_string(),
            }
        }
        tracing::warn!(at = %self.at, failed, "nobody says what somebody may do");
        Err(failed)
    }
}

/// What an answer says.
fn read(answer: &Value) -> Result<Decision, String> {
    let status = answer.get("status").and_then(Value::as_object).ok_or("the review was not answered")?;
    let says = |field: &str| match status.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(said)) => Ok(*said),
        Some(_) => Err(format!("status.{field} of the review is neither true nor false")),
    };
    let reason = status.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    match (says("allowed")?, says("denied")?) {
        (true, true) => Err("the review was answered with both allowed and denied".to_owned()),
        (true, false) => Ok(Decision::Allow(reason)),
        (false, true) => Ok(Decision::Deny(reason)),
        (false, false) => Ok(Decision::NoOpinion(reason)),
    }
}
