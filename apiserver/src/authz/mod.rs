//! Others who are asked what somebody may do: webhooks, and the API server that this one stands behind.

mod webhook;

pub use webhook::{AccessWebhook, Lasting};

use crate::auth::{Decision, Elsewhere, Question};
use crate::hooks::Later;

/// Everybody who is asked.
#[derive(Debug, Default)]
pub struct Deciders {
    /// Decides about everybody whom it vouches for.
    pub host: Option<AccessWebhook>,
    /// What those whom the host vouches for may always see: what ends in `*` begins like it.
    pub open_paths: Vec<String>,
    /// Decide about everybody else, one after another, until one of them does.
    pub webhooks: Vec<AccessWebhook>,
}

impl Deciders {
    fn is_open(&self, question: &Question) -> bool {
        let fits = |path: &str, open: &String| match open.strip_suffix('*') {
            Some(beginning) => path.starts_with(beginning),
            None => path == open,
        };
        question.path.as_ref().is_some_and(|path| self.open_paths.iter().any(|open| fits(path, open)))
    }

    async fn ask(&self, question: &Question, now: i64) -> Result<Decision, String> {
        if question.foreign {
            return match &self.host {
                Some(_) if self.is_open(question) => Ok(Decision::Allow(String::new())),
                Some(host) => host.decide(question, now).await,
                None => Ok(Decision::NoOpinion(String::new())),
            };
        }
        let mut reasons = Vec::new();
        for webhook in &self.webhooks {
            match webhook.decide(question, now).await? {
                Decision::NoOpinion(reason) => reasons.push(reason),
                decided => return Ok(decided),
            }
        }
        reasons.retain(|reason| !reason.is_empty());
        Ok(Decision::NoOpinion(reasons.join("; ")))
    }
}

impl Elsewhere for Deciders {
    fn decide<'a>(&'a self, question: &'a Question, now: i64) -> Later<'a, Result<Decision, String>> {
        Box::pin(self.ask(question, now))
    }
}

#[cfg(test)]
mod tests;
