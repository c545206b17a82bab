//! Requests that go on through an object, handed over to whoever knows what is behind it.

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::Call;
use crate::error::ApiError;
use crate::place::ObjectRef;
use crate::relay::headers;
use axum::response::Response;
use http::Request;

/// Hands a request over, and the answer back.
pub(super) async fn through(api: &Api, at: &Authorized<ObjectRef>, call: &Call) -> Result<Response, ApiError> {
    let passage = api.passage.get().ok_or_else(ApiError::no_such_path)?;
    if call.headers.contains_key(http::header::UPGRADE) {
        return Err(ApiError::bad_request("nothing but HTTP goes through"));
    }
    let path = behind(call.uri.path(), at.get().namespace().is_some());
    let query = call.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
    let request = Request::builder().method(call.method.clone()).uri(format!("{path}{query}"));
    let mut request = request.body(call.body.clone()).map_err(|_| ApiError::no_such_path())?;
    *request.headers_mut() = headers::cleaned(&call.headers);
    // What is sent on may be written otherwise than it came.
    request.headers_mut().remove(http::header::CONTENT_LENGTH);
    let mut response = passage.pass(at.get(), at.user(), request).await?;
    *response.headers_mut() = headers::incoming(response.headers());
    Ok(response)
}

/// What comes after `/apis/group/version/plural/name/subresource`.
fn behind(path: &str, namespaced: bool) -> String {
    let before = if namespaced { 8 } else { 6 };
    let rest: Vec<&str> = path.trim_start_matches('/').split('/').skip(before).collect();
    format!("/{}", rest.join("/"))
}

#[cfg(test)]
mod tests {
    use super::behind;

    #[test]
    fn what_is_behind_an_object_comes_after_it() {
        let at = "/apis/example.com/v1/doors/a/proxy";
        assert_eq!(behind(at, false), "/");
        assert_eq!(behind(&format!("{at}/"), false), "/");
        assert_eq!(behind(&format!("{at}/api/v1/pods/a%2Fb"), false), "/api/v1/pods/a%2Fb");
        assert_eq!(behind("/apis/example.com/v1/namespaces/n/doors/a/proxy/readyz/", true), "/readyz/");
    }
}
