//! A request after its target was taken out of it, and what answers have in common.

use crate::body::Body;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::keyspace;
use crate::media::{Encoding, Form, Offer, Shape};
use crate::object::Peek;
use crate::options::{Deadline, ListOptions, Query};
use crate::place::Collection;
use crate::render::{self, Chunks};
use crate::view::Seeing;
use crate::window::Window;
use axum::body::Body as HttpBody;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode, Uri};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::convert::Infallible;
use std::io::Write;

/// What Kubernetes accepts; larger bodies are refused before they are read.
const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Answers larger than this are compressed for those who can read it.
const GZIP_BYTES_MIN: usize = 128 * 1024;

/// All warnings of an answer together, in characters: more would overflow the headers that clients accept.
const WARNINGS_CHARS_MAX: usize = 4096;
/// One warning, once they are too many.
const WARNING_CHARS_MAX: usize = 256;

/// A request, after its target was taken out of it.
#[derive(Debug)]
pub(crate) struct Call {
    /// The host, and the port if it is not the usual one, by which the client came here.
    pub(crate) authority: Option<String>,
    pub(crate) method: Method,
    /// Below the workspace.
    pub(crate) uri: Uri,
    pub(crate) query: Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// When nobody waits for the answer any more; never for a watch.
    pub(crate) deadline: Option<Deadline>,
    /// It came through the API server that this one stands behind.
    pub(crate) passed_on: bool,
    /// It looks into other workspaces from outside.
    pub(crate) window: Option<Window>,
    /// From where it looks at resources.
    pub(crate) context: Option<&'static str>,
}

/// The body of a request, if it is not too large.
pub(crate) async fn read(body: HttpBody) -> Result<Bytes, ApiError> {
    match Limited::new(body, BODY_BYTES_MAX).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(ApiError::too_large(format!("Request entity too large: limit is {BODY_BYTES_MAX}")))
        }
        Err(error) => Err(ApiError::bad_request(format!("the body could not be read: {error}"))),
    }
}

impl Call {
    pub(crate) fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// What of a resource is seen.
    pub(crate) fn view(&self, resource: &ResourceDef) -> Seeing {
        self.window.as_ref().and_then(|window| window.pane.view(resource))
    }

    /// An object as it is seen.
    pub(crate) fn shown(&self, at: &Collection, bytes: Bytes) -> Bytes {
        let Some(view) = self.view(&at.resource) else { return bytes };
        let name = Peek::of(&bytes).text(&["metadata", "name"]).unwrap_or_default();
        keyspace::key(&at.object(&name)).map_or_else(|_| bytes.clone(), |key| view.shown(&key, &bytes))
    }

    /// Which objects of a collection are meant.
    pub(crate) fn list_options(&self, resource: &ResourceDef, watching: bool) -> Result<ListOptions, ApiError> {
        let mut options = ListOptions::parse(&self.query, watching)?;
        options.selection.view = self.view(resource);
        Ok(options)
    }

    pub(crate) fn accept(&self) -> Option<&str> {
        self.header(header::ACCEPT)
    }

    pub(crate) fn form(&self, offer: Offer) -> Result<Form, ApiError> {
        offer.choose(self.accept())
    }

    /// The form of an answer about objects of a resource: custom ones have no protobuf.
    pub(crate) fn form_of(&self, resource: &ResourceDef, offer: Offer) -> Result<Form, ApiError> {
        let form = self.form(Offer { protobuf: offer.protobuf && resource.custom().is_none(), ..offer })?;
        if resource.traits.metadata_only && form.shape != Shape::Metadata {
            return Err(ApiError::no_such_path());
        }
        Ok(form)
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.header(header::USER_AGENT).unwrap_or_default()
    }

    pub(crate) fn content_type(&self) -> Option<&str> {
        self.header(header::CONTENT_TYPE)
    }

    /// The body as an object on its way in.
    pub(crate) fn object(&self) -> Result<Body, ApiError> {
        let encoding = Encoding::of_body(self.content_type())?;
        Ok(Body::Encoded { bytes: self.body.clone(), encoding })
    }

    pub(crate) fn accepts_gzip(&self) -> bool {
        self.header(header::ACCEPT_ENCODING).is_some_and(|all| all.split(',').any(|one| one.trim() == "gzip"))
    }

    /// An answer in the client's form.
    pub(crate) fn answer(&self, code: StatusCode, encoding: Encoding, bytes: Bytes) -> Response {
        self.send(code, encoding.media_type(), bytes.into())
    }

    /// Somebody reads the answer: they say so, or it is known of their program.
    fn is_for_people(&self) -> bool {
        const PROGRAMS: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];
        match self.query.get("pretty").filter(|said| !said.is_empty()) {
            Some(said) => matches!(said, "1" | "t" | "T" | "true" | "TRUE" | "True"),
            None => PROGRAMS.iter().any(|program| self.user_agent().starts_with(program)),
        }
    }

    /// JSON for people has a line for every field.
    fn laid_out(&self, content_type: &str, chunks: Chunks) -> Chunks {
        if content_type != Encoding::Json.media_type() || !self.is_for_people() {
            return chunks;
        }
        let mut whole = BytesMut::with_capacity(chunks.len());
        chunks.clone().pieces().for_each(|piece| whole.extend_from_slice(&piece));
        let tree = serde_json::from_slice::<serde_json::Value>(&whole);
        let laid_out = tree.and_then(|tree| serde_json::to_vec_pretty(&tree));
        laid_out.map_or(chunks, |text| Bytes::from(text).into())
    }

    pub(crate) fn send(&self, code: StatusCode, content_type: &str, chunks: Chunks) -> Response {
        let chunks = self.laid_out(content_type, chunks);
        let gzip = chunks.len() > GZIP_BYTES_MIN && self.accepts_gzip();
        let (length, body) = match (gzip, chunks.len()) {
            (true, _) => (None, stream(Gzip::new(chunks.pieces()))),
            // Sent with its end, and not waited for in between.
            (false, length) => (Some(length), chunks.single().map_or_else(|| stream(chunks.pieces()), HttpBody::from)),
        };
        let mut response = Response::new(body);
        *response.status_mut() = code;
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::from_str(content_type) {
            headers.insert(header::CONTENT_TYPE, value);
        }
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        if gzip {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        }
        if let Some(length) = length {
            headers.insert(header::CONTENT_LENGTH, length.into());
        }
        response
    }
}

fn stream(pieces: impl Iterator<Item = Bytes> + Send + 'static) -> HttpBody {
    HttpBody::from_stream(futures_util::stream::iter(pieces.map(Ok::<_, Infallible>)))
}

/// Compresses piece by piece, while they are being sent.
struct Gzip<I> {
    pieces: I,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

impl<I> Gzip<I> {
    fn new(pieces: I) -> Self {
        // The fastest level: what it saves is bandwidth, and it must not cost more time than that.
        Self { pieces, encoder: Some(GzEncoder::new(Vec::new(), Compression::fast())) }
    }
}

impl<I: Iterator<Item = Bytes>> Iterator for Gzip<I> {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            let mut encoder = self.encoder.take()?;
            let Some(piece) = self.pieces.next() else {
                return encoder.finish().ok().map(Bytes::from);
            };
            // Writing to memory does not fail.
            let _ = encoder.write_all(&piece);
            let ready = std::mem::take(encoder.get_mut());
            self.encoder = Some(encoder);
            if !ready.is_empty() {
                return Some(Bytes::from(ready));
            }
        }
    }
}

/// Puts warnings before those that are there already.
pub(crate) fn warn_first(response: &mut Response, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let others: Vec<HeaderValue> = response.headers().get_all(header::WARNING).iter().cloned().collect();
    response.headers_mut().remove(header::WARNING);
    warn(response, warnings);
    for other in others {
        response.headers_mut().append(header::WARNING, other);
    }
}

/// Puts warnings where clients look for them.
pub(crate) fn warn(response: &mut Response, warnings: &[String]) {
    let total: usize = warnings.iter().map(|warning| warning.chars().count()).sum();
    let each = if total > WARNINGS_CHARS_MAX { WARNING_CHARS_MAX } else { usize::MAX };
    let mut left = WARNINGS_CHARS_MAX;
    for (nth, warning) in warnings.iter().enumerate() {
        if warnings[..nth].contains(warning) {
            continue;
        }
        let text: String = warning.chars().take(each.min(left)).collect();
        left -= text.chars().count();
        let quoted = format!("299 - {text:?}");
        if let Ok(value) = HeaderValue::from_bytes(quoted.as_bytes()) {
            response.headers_mut().append(header::WARNING, value);
        }
        if left == 0 {
            return;
        }
    }
}

/// A refusal as an answer.
pub(crate) fn refuse(error: &ApiError, accept: Option<&str>) -> Response {
    let form = Offer::PLAIN.choose(accept).unwrap_or(Form::JSON);
    let (bytes, encoding) = render::status(error, form.encoding);
    let mut response = Response::new(HttpBody::from(bytes));
    *response.status_mut() = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(encoding.media_type()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if matches!(error.code(), 401 | 403) {
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    }
    if let Some(secs) = error.retry_after_secs() {
        headers.insert(header::RETRY_AFTER, secs.into());
    }
    warn(&mut response, error.warnings());
    response
}

/// An answer that is not from the API: text for people and probes.
pub(crate) fn plain(code: StatusCode, text: String) -> Response {
    let mut response = Response::new(HttpBody::from(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Room for a few events before the first is sent.
pub(crate) fn event_buffer() -> BytesMut {
    BytesMut::with_capacity(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_carries_warnings_in_any_language() {
        let warnings = ["zu groß", "say \"it\"", "zu groß"].map(str::to_owned).to_vec();
        let response = refuse(&ApiError::bad_request("no").with_warnings(warnings), None);
        let found: Vec<_> = response.headers().get_all(header::WARNING).iter().map(HeaderValue::as_bytes).collect();
        assert_eq!(found, ["299 - \"zu groß\"".as_bytes(), b"299 - \"say \\\"it\\\"\""]);
    }
}
