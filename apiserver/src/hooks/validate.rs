//! Asking those who may refuse an object, all at once.

use super::ask::Kind;
use super::consult::check_allowed;
use super::verdict::Role;
use super::view::View;
use super::webhook::Webhook;
use super::{Ask, Hooks, Told};
use crate::error::ApiError;
use crate::object::Object;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::borrow::Cow;
use std::sync::Arc;

/// A hook that is to be asked, and what it is shown.
struct Question<'a> {
    hook: &'a Webhook,
    view: Arc<View<'a>>,
    /// Its place among those that are asked.
    index: usize,
}

impl Hooks {
    /// Refuses what any hook refuses. All are waited for; the one that was fastest to refuse is heard.
    pub async fn validate(&self, ask: &Ask<'_>, object: Option<&Object>) -> Result<Told, ApiError> {
        if self.validating.is_empty() || ask.is_exempt() {
            return Ok(Told::default());
        }
        let questions = self.questions(ask, object).await?;
        if !questions.is_empty() {
            ask.check_time()?;
        }
        let mut asked: FuturesUnordered<_> = questions.iter().map(|question| question.ask(ask)).collect();
        let (mut heard, mut refused) = (Vec::new(), None);
        while let Some((index, told, answer)) = asked.next().await {
            heard.push((index, told));
            refused = refused.or(answer.err());
        }
        heard.sort_by_key(|(index, _)| *index);
        let mut told = Told::default();
        heard.into_iter().for_each(|(_, one)| told.add(one));
        match refused {
            None => Ok(told),
            Some(error) => Err(error.with_warnings(told.warnings)),
        }
    }

    async fn questions<'a>(&'a self, ask: &Ask<'a>, object: Option<&'a Object>) -> Result<Vec<Question<'a>>, ApiError> {
        let mut questions: Vec<Question<'a>> = Vec::new();
        let mut views: Vec<(Kind, String, Arc<View<'a>>)> = Vec::new();
        for hook in &self.validating {
            let Some(version) = hook.wants(ask, object)? else { continue };
            let resource = version.as_deref().unwrap_or(ask.resource);
            let (kind, plural) = (ask.kind_in(resource), format!("{}/{}", resource.api_version(), resource.plural));
            let known = views.iter().find(|(of, at, _)| *of == kind && *at == plural);
            let view = match known {
                Some((_, _, view)) => view.clone(),
                None => {
                    let mut view = View::new(ask, object.map(Cow::Borrowed));
                    view.turn(ask, version).await?;
                    let view = Arc::new(view);
                    views.push((kind, plural, view.clone()));
                    view
                }
            };
            if hook.conditions_hold(ask, &view)? {
                questions.push(Question { hook, view, index: questions.len() });
            }
        }
        Ok(questions)
    }
}

impl Question<'_> {
    async fn ask(&self, ask: &Ask<'_>) -> (usize, Told, Result<(), ApiError>) {
        let mut told = Told::default();
        let answer = match self.answer(ask, &mut told).await {
            Ok(()) => Ok(()),
            Err(failure) => match self.hook.judge(failure) {
                Some(error) => Err(error),
                None => {
                    let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{}", self.index);
                    told.annotate(key, self.hook.name.clone());
                    Ok(())
                }
            },
        };
        (self.index, told, answer)
    }

    async fn answer(&self, ask: &Ask<'_>, told: &mut Told) -> Result<(), super::consult::Failure> {
        let mut verdict = self.hook.consult(ask, &self.view, Role::Validating).await?;
        told.hear(&self.hook.name, &mut verdict);
        check_allowed(self.hook, &mut verdict)
    }
}
