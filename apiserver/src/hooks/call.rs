//! How hooks are called: HTTP over TLS, with a limit to everything that the other side could make too much of.

use super::Later;
use super::answer::{self, Answer};
use super::connect::{Connector, Line, Unreachable};
use super::endpoint::{At, Endpoint};
use crate::backends::Service;
use crate::trust::{Trusted, client_config};
use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::Full;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout_at};

/// Posts to a hook, and gives back what it answers.
pub trait CallWebhook: Send + Sync {
    /// Takes no longer than `within`.
    fn call<'a>(&'a self, to: &'a Endpoint, body: Bytes, within: Duration) -> Later<'a, Result<Value, CallError>>;
}

/// Why there is no answer. The texts are those of Kubernetes' client where it has any.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// It could not even be tried.
    #[error("{0}")]
    Unprepared(String),
    #[error("{0}")]
    Failed(String),
}

/// Finds where a service is.
pub trait Resolve: Send + Sync {
    /// Host and port; the error is told to the client.
    fn resolve(&self, service: &Service) -> Result<(String, u16), String>;
}

/// Where no service is anywhere.
#[derive(Clone, Copy, Debug)]
pub struct NoServices;

impl Resolve for NoServices {
    fn resolve(&self, service: &Service) -> Result<(String, u16), String> {
        let Service { namespace, name, .. } = service;
        Err(format!("service \"{namespace}/{name}\" cannot be reached from here: use clientConfig.url"))
    }
}

/// Hosts that connections are kept to: Kubernetes' own bound.
const LINES_MAX: usize = 200;
/// Connections that are kept to one host while nobody needs them: Kubernetes' own bound.
const IDLE_MAX: usize = 25;
const IDLE_FOR: Duration = Duration::from_secs(90);
/// How often a hook may ask for patience: Kubernetes' own bound.
const RETRIES_MAX: usize = 10;
/// An answer may be this large, or a few times as large as the question: a patch that makes an object as large as it may
/// be fits.
const ANSWER_BYTES: usize = 4 << 20;
const ANSWER_GROWTH: usize = 4;

/// What Go says when time is up.
const LATE: &str = "context deadline exceeded";

type Sender = Client<Connector, Full<Bytes>>;

/// Calls hooks over the network, and keeps connections for the next time. Cheap to clone.
#[derive(Clone)]
pub struct HttpCaller {
    /// The one that was used last comes last.
    lines: Arc<Mutex<VecDeque<(Line, Sender)>>>,
    resolve: Arc<dyn Resolve>,
    /// Authorities in PEM, for hooks that name none.
    authorities: Option<Bytes>,
}

impl fmt::Debug for HttpCaller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpCaller").field("lines", &self.lines.lock().len()).finish_non_exhaustive()
    }
}

impl HttpCaller {
    /// `authorities` are those that sign for hooks which do not say who does, in PEM.
    pub fn new(resolve: Arc<dyn Resolve>, authorities: Option<Bytes>) -> Self {
        Self { lines: Arc::default(), resolve, authorities }
    }

    /// The same connections, but services are looked for elsewhere: each workspace has its own.
    #[must_use]
    pub fn resolving(&self, resolve: Arc<dyn Resolve>) -> Self {
        Self { resolve, ..self.clone() }
    }

    fn line(&self, to: &Endpoint) -> Result<Line, String> {
        let (host, port) = match &to.at {
            At::Host(authority) => (to.server_name(), authority.port_u16().unwrap_or(443)),
            At::Service(service) => self.resolve.resolve(service)?,
        };
        let ca = to.ca.clone().or_else(|| self.authorities.clone());
        let certificate = to.identity.as_ref().and_then(|identity| identity.certificate.clone());
        Ok(Line { host, port, server_name: to.server_name(), ca, certificate, http2: to.is_local() })
    }

    fn known(&self, line: &Line) -> Option<Sender> {
        let mut lines = self.lines.lock();
        let at = lines.iter().position(|(known, _)| known == line)?;
        let found = lines.remove(at)?;
        lines.push_back(found.clone());
        Some(found.1)
    }

    fn sender(&self, line: Line) -> Result<Sender, CallError> {
        if let Some(sender) = self.known(&line) {
            return Ok(sender);
        }
        let tls = client_config(&Trusted::Only(line.ca.as_deref()), line.certificate.as_ref(), line.http2)
            .map_err(CallError::Unprepared)?;
        let sender = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_FOR)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .build(Connector::new(line.clone(), tls).map_err(CallError::Unprepared)?);
        // Somebody else may have come as far meanwhile; his connections are as good as these.
        if let Some(sender) = self.known(&line) {
            return Ok(sender);
        }
        let mut lines = self.lines.lock();
        if lines.len() >= LINES_MAX {
            lines.pop_front();
        }
        lines.push_back((line, sender.clone()));
        Ok(sender)
    }

    async fn get(&self, from: &Endpoint, within: Duration) -> Result<Answer, CallError> {
        let (url, ends) = (from.to_string(), sleep(within).deadline());
        let sender = self.sender(self.line(from).map_err(|why| failed(&url, &why))?)?;
        let (method, host, body) = (Method::GET, from.authority(), Bytes::new());
        let authorization = authorization(from);
        let exchange = Exchange { sender, method, url, host, authorization, body, max: ANSWER_BYTES, ends };
        exchange.once().await
    }

    /// What is found at a place, in JSON. Takes no longer than `within`.
    pub async fn fetch(&self, from: &Endpoint, within: Duration) -> Result<Value, CallError> {
        self.get(from, within).await?.tree().map_err(CallError::Failed)
    }

    /// The same, with the code that was answered, whatever it is.
    pub async fn look(&self, at: &Endpoint, within: Duration) -> Result<(u16, Value), CallError> {
        let answer = self.get(at, within).await?;
        Ok((answer.code.as_u16(), serde_json::from_slice(&answer.body).unwrap_or_default()))
    }

    /// Posts something whose answer is no more than that it was taken.
    pub async fn tell(&self, to: &Endpoint, body: Bytes, within: Duration) -> Result<(), CallError> {
        let answer = self.exchange(to, body, within).await?;
        if answer.code.is_success() { Ok(()) } else { Err(CallError::Failed(answer.refusal())) }
    }

    async fn exchange(&self, to: &Endpoint, body: Bytes, within: Duration) -> Result<Answer, CallError> {
        let ends = sleep(within).deadline();
        let max = ANSWER_BYTES.max(body.len().saturating_mul(ANSWER_GROWTH));
        let url = format!("{to}?timeout={}s", whole_seconds(within));
        let line = self.line(to).map_err(|why| failed(&url, &why))?;
        let sender = self.sender(line)?;
        let host = to.authority();
        let exchange =
            Exchange { sender, method: Method::POST, url, host, authorization: authorization(to), body, max, ends };
        for _ in 0..RETRIES_MAX {
            let answer = exchange.once().await?;
            let Some(pause) = answer.asks_for_patience() else { return Ok(answer) };
            if timeout_at(ends, sleep(pause)).await.is_err() {
                return Err(failed(&exchange.url, LATE));
            }
        }
        exchange.once().await
    }
}

impl CallWebhook for HttpCaller {
    fn call<'a>(&'a self, to: &'a Endpoint, body: Bytes, within: Duration) -> Later<'a, Result<Value, CallError>> {
        Box::pin(async move { self.exchange(to, body, within).await?.tree().map_err(CallError::Failed) })
    }
}

fn authorization(to: &Endpoint) -> Option<String> {
    to.identity.as_ref().and_then(|identity| identity.authorization())
}

/// Hooks are told how long they have, and never less than they do.
fn whole_seconds(within: Duration) -> u64 {
    within.as_secs() + u64::from(within.subsec_nanos() > 0)
}

struct Exchange {
    sender: Sender,
    method: Method,
    url: String,
    host: String,
    authorization: Option<String>,
    body: Bytes,
    max: usize,
    ends: Instant,
}

fn failed(url: &str, why: &str) -> CallError {
    CallError::Failed(format!("Post {url:?}: {why}"))
}

impl Exchange {
    async fn once(&self) -> Result<Answer, CallError> {
        let mut request = Request::builder();
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let request = request
            .method(&self.method)
            .uri(&self.url)
            .header(header::HOST, &self.host)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, */*")
            .header(header::USER_AGENT, "hanse")
            .body(Full::new(self.body.clone()))
            .map_err(|error| CallError::Unprepared(error.to_string()))?;
        match timeout_at(self.ends, self.sender.request(request)).await {
            Err(_) => Err(failed(&self.url, LATE)),
            Ok(Err(error)) => Err(failed(&self.url, &reason(&error))),
            Ok(Ok(response)) => {
                let read = timeout_at(self.ends, answer::read(response, self.max)).await;
                let read = read.unwrap_or_else(|_| Err(LATE.to_owned()));
                let words = "unexpected error when reading response body. Please retry. Original error";
                read.map_err(|why| CallError::Failed(format!("{words}: {why}")))
            }
        }
    }
}

/// Why nothing came back.
pub(crate) fn reason(error: &(dyn Error + 'static)) -> String {
    let chain = || std::iter::successors(Some(error), |error| (*error).source());
    if let Some(unreachable) = chain().find_map(|error| error.downcast_ref::<Unreachable>()) {
        return unreachable.to_string();
    }
    if chain().filter_map(|error| error.downcast_ref::<hyper::Error>()).any(hyper::Error::is_incomplete_message) {
        return "EOF".to_owned();
    }
    chain().last().map(ToString::to_string).unwrap_or_default()
}
