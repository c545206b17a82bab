//! How much a request may say before anybody looks at what it says. The body has a bound of its own, where it is read.

use crate::error::ApiError;
use axum::extract::Request;

/// Long selectors fit into it several times over.
const URL_BYTES_MAX: usize = 32 * 1024;

const HEADERS_MAX: usize = 256;

/// Names and values together.
const HEADERS_BYTES_MAX: usize = 256 * 1024;

pub(super) fn measure(request: &Request) -> Result<(), ApiError> {
    let length = request.uri().path_and_query().map_or(0, |asked| asked.as_str().len());
    if length > URL_BYTES_MAX {
        return Err(ApiError::url_too_long(format!("the URL has {length} bytes: limit is {URL_BYTES_MAX}")));
    }
    let (count, bytes) = request
        .headers()
        .iter()
        .fold((0, 0), |(count, bytes), (name, value)| (count + 1, bytes + name.as_str().len() + value.len()));
    if count > HEADERS_MAX || bytes > HEADERS_BYTES_MAX {
        let limit = format!("limit is {HEADERS_MAX} headers of {HEADERS_BYTES_MAX} bytes");
        return Err(ApiError::headers_too_large(format!("there are {count} headers of {bytes} bytes: {limit}")));
    }
    Ok(())
}
