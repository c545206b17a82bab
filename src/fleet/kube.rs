//! A cell that speaks the Kubernetes API, whichever way requests get there.

use super::api::{Applied, CellApi, CellError, CellEvents, CellPlace, CellResource, Later, Listed, Names};
use super::discovery;
use super::stream;
use super::transport::Transport;
use apiserver::auth::User;
use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The name under which this server owns fields in cells.
pub const FIELD_MANAGER: &str = "hanse";

/// Requests under way to one cell: enough to fill a commit there, few enough that it can serve others, too.
const IN_FLIGHT_MAX: usize = 64;
/// A question that was not answered by then is asked again later.
const ANSWER_MAX: Duration = Duration::from_secs(15);
/// Objects of one page of a list: as many as kubectl asks for.
const PAGE: usize = 500;
/// The largest answer: a page of objects that are as large as they may be does not fit, and never occurs.
const BYTES_MAX: usize = 256 << 20;
/// Watches end and begin anew this often, so that none is forgotten on either side.
const WATCH_SECONDS: u64 = 290;

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

/// See the module.
#[derive(Debug)]
pub struct Kube<T> {
    transport: T,
    in_flight: Semaphore,
}

/// One question.
struct Ask<'a> {
    method: Method,
    path: String,
    accept: &'a str,
    body: Option<(&'a str, Bytes)>,
}

impl<'a> Ask<'a> {
    fn get(path: String) -> Self {
        Self { method: Method::GET, path, accept: JSON, body: None }
    }

    fn request(&self) -> Result<Request<Bytes>, CellError> {
        let mut request = Request::builder().method(&self.method).uri(&self.path).header(ACCEPT, self.accept);
        let mut bytes = Bytes::new();
        if let Some((content_type, body)) = &self.body {
            request = request.header(CONTENT_TYPE, *content_type);
            bytes = body.clone();
        }
        request.body(bytes).map_err(|error| CellError::Unusable(format!("{}: {error}", self.path)))
    }
}

impl<T: Transport> Kube<T> {
    pub fn new(transport: T) -> Self {
        Self { transport, in_flight: Semaphore::new(IN_FLIGHT_MAX) }
    }

    /// Asks, and reads the whole answer.
    async fn ask(&self, ask: Ask<'_>) -> Result<(StatusCode, Value), CellError> {
        let (code, bytes) = self.bytes(ask).await?;
        let tree = serde_json::from_slice(&bytes).unwrap_or_else(|_| String::from_utf8_lossy(&bytes).into());
        if code.is_success() { Ok((code, tree)) } else { Err(refusal(code, &tree)) }
    }

    async fn bytes(&self, ask: Ask<'_>) -> Result<(StatusCode, Bytes), CellError> {
        let request = ask.request()?;
        // Closed never: it lives as long as this does.
        let _permit = self.in_flight.acquire().await;
        let exchange = async {
            let (parts, body) = self.transport.send(request).await?.into_parts();
            let read = Limited::new(body, BYTES_MAX).collect().await;
            let read = read.map_err(|error| CellError::Unreachable(error.to_string()))?;
            Ok((parts.status, read.to_bytes()))
        };
        let late = || CellError::Unreachable(format!("no answer in {} seconds", ANSWER_MAX.as_secs()));
        tokio::time::timeout(ANSWER_MAX, exchange).await.unwrap_or_else(|_| Err(late()))
    }

    /// Asks for what goes on and on; only the beginning of the answer is waited for.
    async fn open(&self, ask: Ask<'_>) -> Result<Response<Body>, CellError> {
        let opening = self.transport.send(ask.request()?);
        let late = || CellError::Unreachable(format!("no answer in {} seconds", ANSWER_MAX.as_secs()));
        let answer = tokio::time::timeout(ANSWER_MAX, opening).await.unwrap_or_else(|_| Err(late()))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (parts, body) = answer.into_parts();
        let read = tokio::time::timeout(ANSWER_MAX, Limited::new(body, BYTES_MAX).collect()).await;
        let bytes = read.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default();
        Err(refusal(parts.status, &serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    async fn page(&self, of: &CellResource, labels: &str, next: &str) -> Result<Value, CellError> {
        let mut path = format!("{}?limit={PAGE}&labelSelector={}", collection(of, None), escaped(labels));
        if !next.is_empty() {
            let _ = write!(path, "&continue={}", escaped(next));
        }
        Ok(self.ask(Ask::get(path)).await?.1)
    }
}

impl<T: Transport> CellApi for Kube<T> {
    fn ready(&self) -> Later<'_, Result<(), CellError>> {
        Box::pin(async move {
            match self.bytes(Ask { accept: "*/*", ..Ask::get("/readyz".to_owned()) }).await? {
                (code, _) if code.is_success() => Ok(()),
                (code, bytes) => {
                    let said = serde_json::from_slice(&bytes).ok().filter(Value::is_object);
                    Err(refusal(code, &said.unwrap_or_else(|| String::from_utf8_lossy(&bytes).into())))
                }
            }
        })
    }

    fn version(&self) -> Later<'_, Result<String, CellError>> {
        Box::pin(async move {
            let (_, version) = self.ask(Ask::get("/version".to_owned())).await?;
            Ok(version["gitVersion"].as_str().unwrap_or_default().to_owned())
        })
    }

    fn resources(&self) -> Later<'_, Result<Vec<CellResource>, CellError>> {
        Box::pin(async move {
            let all = self.resources_and_names().await?;
            Ok(all.into_iter().map(|(resource, _)| resource).collect())
        })
    }

    fn resources_and_names(&self) -> Later<'_, Result<Vec<(CellResource, Names)>, CellError>> {
        Box::pin(async move {
            let mut all = Vec::new();
            for root in ["/api", "/apis"] {
                let ask = Ask { accept: discovery::ACCEPT, ..Ask::get(root.to_owned()) };
                all.extend(discovery::read(&self.ask(ask).await?.1)?);
            }
            Ok(all)
        })
    }

    fn get<'a>(&'a self, at: &'a CellPlace) -> Later<'a, Result<Option<Value>, CellError>> {
        Box::pin(async move {
            match self.ask(Ask::get(place(at))).await {
                Ok((_, object)) => Ok(Some(object)),
                Err(error) if error.code() == Some(404) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn apply<'a>(&'a self, at: &'a CellPlace, object: &'a Value, force: bool) -> Later<'a, Result<Applied, CellError>> {
        Box::pin(async move {
            let path = format!("{}?fieldManager={FIELD_MANAGER}&force={force}", place(at));
            let ask = Ask { method: Method::PATCH, path, accept: JSON, body: Some((APPLY, encoded(object))) };
            let (code, object) = self.ask(ask).await?;
            Ok(Applied { object, created: code == StatusCode::CREATED })
        })
    }

    fn apply_status<'a>(&'a self, at: &'a CellPlace, object: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(async move {
            let path = format!("{}/status?fieldManager={FIELD_MANAGER}&force=true", place(at));
            let ask = Ask { method: Method::PATCH, path, accept: JSON, body: Some((APPLY, encoded(object))) };
            Ok(self.ask(ask).await?.1)
        })
    }

    fn merge<'a>(&'a self, at: &'a CellPlace, patch: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(async move {
            let path = format!("{}?fieldManager={FIELD_MANAGER}", place(at));
            let ask = Ask { method: Method::PATCH, path, accept: JSON, body: Some((MERGE, encoded(patch))) };
            Ok(self.ask(ask).await?.1)
        })
    }

    fn delete<'a>(&'a self, at: &'a CellPlace, uid: &'a str) -> Later<'a, Result<Option<Value>, CellError>> {
        Box::pin(async move {
            let options = json!({
                "apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": { "uid": uid }, "propagationPolicy": "Background",
            });
            let ask =
                Ask { method: Method::DELETE, path: place(at), accept: JSON, body: Some((JSON, encoded(&options))) };
            match self.ask(ask).await {
                Ok((_, answer)) if answer["kind"] == "Status" => Ok(None),
                Ok((_, object)) => Ok(Some(object)),
                Err(error) if error.code() == Some(404) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn list<'a>(&'a self, of: &'a CellResource, labels: &'a str) -> Later<'a, Result<Listed, CellError>> {
        Box::pin(async move {
            let (mut listed, mut next) = (Listed::default(), String::new());
            loop {
                let mut page = self.page(of, labels, &next).await?;
                let word = |key: &str| page["metadata"][key].as_str().unwrap_or_default().to_owned();
                (next, listed.resource_version) = (word("continue"), word("resourceVersion"));
                if let Value::Array(items) = page["items"].take() {
                    listed.items.extend(items);
                }
                if next.is_empty() {
                    return Ok(listed);
                }
            }
        })
    }

    fn pass<'a>(
        &'a self,
        request: Request<Bytes>,
        user: &'a Arc<User>,
    ) -> Later<'a, Result<Response<Body>, CellError>> {
        Box::pin(async move {
            let late = || CellError::Unreachable(format!("no answer in {} seconds", ANSWER_MAX.as_secs()));
            let answer = tokio::time::timeout(ANSWER_MAX, self.transport.send_as(request, user)).await;
            answer.unwrap_or_else(|_| Err(late()))
        })
    }

    fn watch<'a>(
        &'a self,
        of: &'a CellResource,
        labels: &'a str,
        after: &'a str,
    ) -> Later<'a, Result<CellEvents, CellError>> {
        Box::pin(async move {
            let (at, labels) = (collection(of, None), escaped(labels));
            let path = format!(
                "{at}?watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}&resourceVersion={after}\
                 &labelSelector={labels}"
            );
            let answer = self.open(Ask::get(path)).await?;
            Ok(stream::events(answer.into_body()))
        })
    }
}

fn encoded(body: &Value) -> Bytes {
    body.to_string().into()
}

fn refusal(code: StatusCode, status: &Value) -> CellError {
    let word = |key: &str| status[key].as_str().map(str::to_owned);
    let message = word("message").or_else(|| status.as_str().map(str::to_owned)).unwrap_or_default();
    let message = if message.is_empty() { code.to_string() } else { message };
    CellError::Refused { code: code.as_u16(), reason: word("reason").unwrap_or_default(), message }
}

fn collection(of: &CellResource, namespace: Option<&str>) -> String {
    let mut path = match of.group.as_str() {
        "" => format!("/api/{}", of.version),
        group => format!("/apis/{group}/{}", of.version),
    };
    if let Some(namespace) = namespace {
        let _ = write!(path, "/namespaces/{namespace}");
    }
    let _ = write!(path, "/{}", of.plural);
    path
}

fn place(at: &CellPlace) -> String {
    format!("{}/{}", collection(&at.resource, at.namespace.as_deref()), escaped(&at.name))
}

/// As part of a query, or as one step of a path.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_paths() {
        let of = |group: &str, version: &str, plural: &str| CellResource {
            group: group.to_owned(),
            version: version.to_owned(),
            plural: plural.to_owned(),
            kind: String::new(),
            namespaced: true,
        };
        let at = |resource, namespace: Option<&str>| {
            place(&CellPlace { resource, namespace: namespace.map(str::to_owned), name: "a".to_owned() })
        };
        assert_eq!(at(of("", "v1", "configmaps"), Some("n")), "/api/v1/namespaces/n/configmaps/a");
        assert_eq!(at(of("apps", "v1", "deployments"), Some("n")), "/apis/apps/v1/namespaces/n/deployments/a");
        assert_eq!(at(of("", "v1", "namespaces"), None), "/api/v1/namespaces/a");
        assert_eq!(escaped("a=b,c/d é"), "a%3Db%2Cc%2Fd%20%C3%A9");
    }
}
