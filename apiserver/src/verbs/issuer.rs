//! `GET` of what others need to check the tokens of service accounts.

use crate::api::Api;
use crate::call::Call;
use crate::error::ApiError;
use crate::target::Issuer;
use axum::response::Response;
use bytes::Bytes;
use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};
use serde_json::json;

/// As long as Kubernetes lets others remember a key.
const CACHED: HeaderValue = HeaderValue::from_static("public, max-age=3600");

pub(super) fn answer(api: &Api, what: Issuer, call: &Call) -> Result<Response, ApiError> {
    let (content_type, tree) = match what {
        Issuer::Keys => ("application/jwk-set+json", api.tokens.public()),
        Issuer::Configuration => {
            let host = call.authority.as_deref().ok_or_else(|| ApiError::bad_request("the request names no host"))?;
            let told = json!({
                "issuer": api.tokens.name(), "jwks_uri": format!("https://{host}/openid/v1/jwks"),
                "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["ES256"],
            });
            ("application/json", told)
        }
    };
    let mut response = call.send(StatusCode::OK, content_type, Bytes::from(tree.to_string()).into());
    response.headers_mut().insert(CACHE_CONTROL, CACHED);
    Ok(response)
}
