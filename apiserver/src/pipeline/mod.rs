//! What happens to every request, in order. Read [`steps`] top to bottom; so does the request.

mod audit;
mod authenticate;
mod authorize;
mod behind;
mod deadline;
mod impersonate;
mod limit;
mod measure;
mod panics;
mod relay;
mod target;
mod trace;
mod workspace;

pub use authenticate::Peer;
pub use limit::Limits;
pub use relay::ClientAddress;

use crate::api::{Api, Said};
use crate::audit::Record;
use crate::auth::Authorized;
use crate::call::{self, Call, refuse};
use crate::error::ApiError;
use crate::fairness::Payer;
use crate::options::{Deadline, Query};
use crate::target::Target;
use crate::verbs;
use crate::window::Window;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use limit::Limiter;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;
use trace::{Noted, Trace};

/// Answers requests. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Pipeline {
    api: Api,
    limiter: Arc<Limiter>,
}

pub fn pipeline(api: Api, limits: Limits) -> Pipeline {
    Pipeline { api, limiter: Arc::new(Limiter::new(limits)) }
}

impl Service<Request> for Pipeline {
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let pipeline = self.clone();
        Box::pin(async move { Ok(pipeline.answer(request).await) })
    }
}

impl Pipeline {
    /// Whatever becomes of a request, there is an answer, and it is noted.
    async fn answer(&self, request: Request) -> Response {
        let (trace, mut noted) = (trace::begin(&self.api, &request), Noted::default());
        let accept = request.headers().get(http::header::ACCEPT).cloned();
        let accept = accept.as_ref().and_then(|value| value.to_str().ok());
        let answered = panics::caught(self.steps(request, &trace, &mut noted)).await; // a bug is a 500, not a dead connection
        noted.panicked = answered.is_err();
        let response = answered.flatten().unwrap_or_else(|error| refuse(&error, accept));
        if let Some(workspace) = &noted.workspace {
            self.limiter.note(workspace, trace.took());
        }
        self.api.metrics.waiting(self.limiter.waiting());
        trace::end(&self.api, trace, noted, response) // request id, metrics, access log
    }

    /// Every step finds out one fact about the request, or refuses it.
    async fn steps(&self, mut request: Request, trace: &Trace, noted: &mut Noted) -> Result<Response, ApiError> {
        let api = &self.api;
        measure::measure(&request)?; // no more than anybody needs to say
        let uri = audit::uri(api, &request);
        let passed_on = behind::is_passed_on(api, &request); // by the API server that this one stands behind
        let (workspace, mut window) = if passed_on {
            (behind::workspace(api, &request)?, None)
        } else {
            workspace::workspace(api, &mut request)? // /clusters/{path}/... -> Workspace, /services/... -> Window
        };
        let target = match &window {
            Some(window) => target::seen(window, &request, noted),
            None => target::target(api, &request, (&workspace, passed_on), noted), // path and method -> Target
        };
        let within = deadline::within(&request, &target)?; // watches are exempt
        let deadline = within.map(|within| Deadline::now() + within);
        let last = async {
            let asking = authenticate::authenticate(api, &workspace, &mut request).await?; // -> User
            let user = impersonate::impersonate(api, asking.clone(), &workspace, &target, &mut request).await?; // -> the User that is meant
            let user = workspace::known(user, &request); // by the way they came
            noted.record = audit::received(api, trace, uri.as_deref(), (&asking, &user), &target, &request);
            let (asked, query) = (authorize::asked(&request), request.uri().query().map(str::to_owned));
            let about = (&asked, query.as_deref());
            let turn = self.limiter.turn(api, &user, (&workspace, &target), about, noted).await?; // not before it is theirs
            let permitted = match &mut window {
                Some(window) => authorize::through(api, &user, window, target, &asked)?,
                None => authorize::authorize(api, &user, workspace.clone(), target, &asked).await?, // -> Authorized<Target>
            };
            if let Some(payer) = request.extensions().get::<Payer>() {
                // Whoever has to put an end to a crowd does not wait behind it.
                if user.is_master() { payer.becomes(&user.name) } else { payer.becomes(&workspace) }
            }
            self.limiter.pace(api, &user, &workspace, permitted.get())?; // not more often than it may
            noted.workspace = Some(window.as_ref().map_or_else(|| workspace.clone(), |window| window.onto.clone()));
            if let Target::Costs = permitted.get() {
                return Ok(call::plain(http::StatusCode::OK, self.limiter.costs(api)));
            }
            if let Target::Turns(what) = permitted.get() {
                return Ok(call::plain(http::StatusCode::OK, self.limiter.dump(api, &workspace, *what)?));
            }
            if passed_on {
                behind::make_room(api, permitted.get()).await?; // where the host has a namespace, so have we
            }
            let answered = match permitted.get() {
                Target::Remote(_) => relay::relay(api, permitted, request, deadline, trace).await,
                _ => answer(api, permitted, request, (deadline, passed_on, window), noted.record.as_mut()).await,
            };
            Ok(turn.until_sent(answered))
        };
        deadline::keep(within, last).await
    }
}

/// The end of the pipeline: a permitted request and its answer.
async fn answer(
    api: &Api,
    target: Authorized<Target>,
    request: Request,
    (deadline, passed_on, window): (Option<Deadline>, bool, Option<Window>),
    mut record: Option<&mut Record>,
) -> Response {
    let (parts, body) = request.into_parts();
    let accept = parts.headers.get(http::header::ACCEPT).cloned();
    let method = parts.method.clone();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let warning = target.get().deprecation();
    // A watch says all it wants in its query. Nothing bounds the time it takes, so nothing is waited for.
    let read = if target.get().is_watch() { Ok(Bytes::new()) } else { call::read(body).await };
    let answered = match read {
        Ok(body) => {
            if let Some(record) = record.as_deref_mut().filter(|record| record.wants_request()) {
                record.request(&body);
            }
            let host = parts.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
            let authority = parts.uri.authority().map(|authority| authority.as_str()).or(host).map(str::to_owned);
            let (method, uri, headers) = (parts.method, parts.uri, parts.headers);
            let context = parts.extensions.get::<Said>().and_then(|said| said.context);
            let call = Call { authority, method, uri, query, headers, body, deadline, passed_on, window, context };
            verbs::dispatch(api, target, &call).await
        }
        Err(error) => Err(error),
    };
    let accept = accept.as_ref().and_then(|value| value.to_str().ok());
    let mut response = answered.unwrap_or_else(|error| refuse(&error, accept));
    if method == http::Method::HEAD {
        *response.body_mut() = axum::body::Body::empty();
    }
    // Whoever uses what is going to go is told before anything else, whatever they do with it.
    call::warn_first(&mut response, warning.as_slice());
    match record {
        Some(record) => audit::kept(record, response).await,
        None => response,
    }
}
