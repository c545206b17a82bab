//! A cell that speaks the Kubernetes API, whichever way requests get there.

use super::api::{Applied, CellApi, CellError, CellEvents, CellPlace, CellResource, Later, Listed, Names, Over};
use super::discovery::{self, Answer, Documents, Resources};
use super::stream;
use super::transport::Transport;
use apiserver::auth::User;
use axum::body::Body;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
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

/// A version that servers can read, and none will ever reach.
const NEVER: &str = "9223372036854775807";

/// Where a server tells what it serves.
const ROOTS: [&str; 2] = ["/api", "/apis"];

/// See the module.
#[derive(Debug)]
pub struct Kube<T> {
    transport: T,
    in_flight: Semaphore,
    /// What it said it serves, when it was last asked. Held for one operation.
    said: Mutex<HashMap<&'static str, Answer>>,
    /// What was read of all cells.
    documents: Arc<Documents>,
}

/// One question.
struct Ask<'a> {
    method: Method,
    path: String,
    accept: &'a str,
    body: Option<(&'a str, Bytes)>,
    /// The tag of what need not be sent again.
    unless: Option<&'a str>,
}

impl<'a> Ask<'a> {
    fn get(path: String) -> Self {
        Self { method: Method::GET, path, accept: JSON, body: None, unless: None }
    }

    fn patch(path: String, content_type: &'a str, body: &Value) -> Self {
        Self { method: Method::PATCH, body: Some((content_type, encoded(body))), ..Self::get(path) }
    }

    fn request(&self) -> Result<Request<Bytes>, CellError> {
        let mut request = Request::builder().method(&self.method).uri(&self.path).header(ACCEPT, self.accept);
        let mut bytes = Bytes::new();
        if let Some(tag) = self.unless {
            request = request.header(IF_NONE_MATCH, tag);
        }
        if let Some((content_type, body)) = &self.body {
            request = request.header(CONTENT_TYPE, *content_type);
            bytes = body.clone();
        }
        request.body(bytes).map_err(|error| CellError::Unusable(format!("{}: {error}", self.path)))
    }
}

impl<T: Transport> Kube<T> {
    pub fn new(transport: T, documents: &Arc<Documents>) -> Self {
        let (in_flight, documents) = (Semaphore::new(IN_FLIGHT_MAX), documents.clone());
        Self { transport, in_flight, said: Mutex::default(), documents }
    }

    /// Asks, and reads the whole answer.
    async fn ask(&self, ask: Ask<'_>) -> Result<(StatusCode, Value), CellError> {
        let answer = self.bytes(ask).await?;
        let (code, tree) = (answer.status(), tree(answer.body()));
        if code.is_success() { Ok((code, tree)) } else { Err(refusal(code, &tree)) }
    }

    async fn bytes(&self, ask: Ask<'_>) -> Result<Response<Bytes>, CellError> {
        let request = ask.request()?;
        // Closed never: it lives as long as this does.
        let _permit = self.in_flight.acquire().await;
        let exchange = async {
            let (parts, body) = self.transport.send(request).await?.into_parts();
            let read = Limited::new(body, BYTES_MAX).collect().await;
            let read = read.map_err(|error| CellError::Unreachable(error.to_string()))?;
            Ok(Response::from_parts(parts, read.to_bytes()))
        };
        let late = || CellError::Unreachable(format!("no answer in {} seconds", ANSWER_MAX.as_secs()));
        tokio::time::timeout(ANSWER_MAX, exchange).await.unwrap_or_else(|_| Err(late()))
    }

    /// What it says it serves at one of the roots.
    async fn resources_at(&self, root: &'static str) -> Result<Resources, CellError> {
        let said = self.said.lock().get(root).cloned().filter(|said| !said.tag.is_empty());
        let unless = said.as_ref().map(|said| said.tag.as_str());
        let answer = self.bytes(Ask { accept: discovery::ACCEPT, unless, ..Ask::get(root.to_owned()) }).await?;
        if let Some(said) = said.filter(|_| answer.status() == StatusCode::NOT_MODIFIED) {
            return Ok(said.resources);
        }
        if !answer.status().is_success() {
            return Err(refusal(answer.status(), &tree(answer.body())));
        }
        let tag = answer.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
        let resources = self.documents.read(root, answer.body())?;
        self.said.lock().insert(root, Answer { tag, resources: resources.clone() });
        Ok(resources)
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
            let answer = self.bytes(Ask { accept: "*/*", ..Ask::get("/readyz".to_owned()) }).await?;
            if answer.status().is_success() {
                return Ok(());
            }
            let said = serde_json::from_slice(answer.body()).ok().filter(Value::is_object);
            Err(refusal(answer.status(), &said.unwrap_or_else(|| String::from_utf8_lossy(answer.body()).into())))
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
            for root in ROOTS {
                all.extend(self.resources_at(root).await?.iter().cloned());
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

    fn apply<'a>(&'a self, at: &'a CellPlace, object: &'a Value, over: Over) -> Later<'a, Result<Applied, CellError>> {
        Box::pin(async move {
            let path = format!("{}?fieldManager={FIELD_MANAGER}&force=true", place(at));
            let sent = if over == Over::Nothing { Cow::Owned(never_there(object)) } else { Cow::Borrowed(object) };
            let (code, object) = self.ask(Ask::patch(path, APPLY, &sent)).await?;
            Ok(Applied { object, created: code == StatusCode::CREATED })
        })
    }

    fn apply_status<'a>(&'a self, at: &'a CellPlace, object: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(async move {
            let path = format!("{}/status?fieldManager={FIELD_MANAGER}&force=true", place(at));
            Ok(self.ask(Ask::patch(path, APPLY, object)).await?.1)
        })
    }

    fn merge<'a>(&'a self, at: &'a CellPlace, patch: &'a Value) -> Later<'a, Result<Value, CellError>> {
        Box::pin(async move {
            let path = format!("{}?fieldManager={FIELD_MANAGER}", place(at));
            Ok(self.ask(Ask::patch(path, MERGE, patch)).await?.1)
        })
    }

    fn delete<'a>(&'a self, at: &'a CellPlace, uid: &'a str) -> Later<'a, Result<Option<Value>, CellError>> {
        Box::pin(async move {
            let options = json!({
                "apiVersion": "v1", "kind": "DeleteOptions",
                "preconditions": { "uid": uid }, "propagationPolicy": "Background",
            });
            let body = Some((JSON, encoded(&options)));
            let ask = Ask { method: Method::DELETE, body, ..Ask::get(place(at)) };
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

/// The same, on condition that what is there has a version that nothing ever has. Where there is nothing, nobody asks for
/// its version.
fn never_there(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = json!(NEVER);
    object
}

/// What was answered; a text, if it is nothing else.
fn tree(bytes: &Bytes) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())
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
