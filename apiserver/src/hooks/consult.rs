//! Asking one hook.

use super::Ask;
use super::call::CallError;
use super::review::Review;
use super::verdict::{Role, Unusable, Verdict};
use super::view::View;
use super::webhook::Webhook;
use crate::error::ApiError;

/// Why a request does not get past a hook.
#[derive(Debug)]
pub(super) enum Failure {
    /// The hook could not be asked; what that means is for its failure policy to say.
    Calling(String),
    Refused(ApiError),
}

impl Webhook {
    /// What the hook answers, yes or no.
    pub(super) async fn consult(&self, ask: &Ask<'_>, view: &View<'_>, role: Role) -> Result<Verdict, Failure> {
        self.check_dry_run(ask)?;
        let review = Review::new(self, ask, view)
            .map_err(|why| Failure::Calling(format!("could not create admission objects: {why}")))?;
        let unprepared = |why: &str| Failure::Calling(format!("could not get REST client: {why}"));
        let failed = |why: &str| Failure::Calling(format!("failed to call webhook: {why}"));
        let endpoint = self.endpoint.as_ref().map_err(|why| unprepared(why))?;
        let answer = ask.caller.call(endpoint, review.bytes.clone(), ask.within(self.limit)).await;
        let answer = answer.map_err(|error| match error {
            CallError::Unprepared(why) => unprepared(&why),
            CallError::Failed(why) => failed(&why),
        })?;
        review.verdict(&answer, role).map_err(|unusable| match unusable {
            Unusable::Undecodable(why) => failed(&why),
            Unusable::Invalid(why) => Failure::Calling(format!("received invalid webhook response: {why}")),
        })
    }

    /// A hook that does more than answer must not be asked about what does not happen.
    fn check_dry_run(&self, ask: &Ask<'_>) -> Result<(), Failure> {
        match self.side_effects.as_deref() {
            _ if !ask.dry_run => Ok(()),
            Some("None" | "NoneOnDryRun") => Ok(()),
            None => Err(Failure::Calling("Webhook SideEffects is nil".to_owned())),
            Some(_) => {
                let text = format!("admission webhook {:?} does not support dry run", self.name);
                Err(Failure::Refused(ApiError::bad_request(text)))
            }
        }
    }

    /// The refusal that a failure comes to; nothing if the request goes on all the same.
    pub(super) fn judge(&self, failure: Failure) -> Option<ApiError> {
        match failure {
            Failure::Refused(error) => Some(error),
            Failure::Calling(why) if self.ignores_failure => {
                tracing::warn!(webhook = self.name, why, "a webhook could not be asked, and is ignored");
                None
            }
            Failure::Calling(why) => {
                tracing::warn!(webhook = self.name, why, "a webhook could not be asked");
                Some(ApiError::internal(format!("failed calling webhook {:?}: {why}", self.name)))
            }
        }
    }
}

/// A hook that says no.
pub(super) fn check_allowed(webhook: &Webhook, verdict: &mut Verdict) -> Result<(), Failure> {
    if verdict.allowed {
        return Ok(());
    }
    Err(Failure::Refused(ApiError::denied_by_webhook(&webhook.name, verdict.status.take().unwrap_or_default())))
}
