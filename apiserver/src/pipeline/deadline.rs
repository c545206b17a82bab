//! No request but a watch goes on forever.

use super::refused;
use crate::call::refuse;
use crate::error::ApiError;
use crate::options::{Deadline, Query};
use crate::target::Target;
use axum::Extension;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use std::time::Duration;

/// What Kubernetes gives a request.
const REQUEST_MAX: Duration = Duration::from_secs(60);

pub(super) async fn deadline(Extension(target): Extension<Target>, request: Request, next: Next) -> Response {
    if target.is_watch() {
        return next.run(request).await;
    }
    let query = Query::parse(request.uri().query().unwrap_or_default());
    let within = match query.get("timeout").filter(|text| !text.is_empty()).map(duration) {
        None => REQUEST_MAX,
        Some(Some(asked)) if asked.is_zero() => REQUEST_MAX,
        Some(Some(asked)) => asked.min(REQUEST_MAX),
        Some(None) => {
            let message = "invalid timeout specified in the request URL";
            return refused(&request, &ApiError::bad_request(message));
        }
    };
    let deadline = Deadline::now() + within;
    let mut request = request;
    request.extensions_mut().insert(deadline);
    match tokio::time::timeout_at(deadline, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("request did not complete within requested timeout {}s", within.as_secs());
            refuse(&ApiError::timeout(message), None)
        }
    }
}

/// A length of time as Go writes it: `1h2m3.5s`, `300ms`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0;
    if rest == "0" {
        return Some(Duration::ZERO);
    }
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|letter: char| letter.is_ascii_digit() || letter == '.').unwrap_or(rest.len());
        total += amount
            * match &rest[..unit] {
                "h" => 3600.0,
                "m" => 60.0,
                "s" => 1.0,
                "ms" => 1e-3,
                "us" | "\u{b5}s" => 1e-6,
                "ns" => 1e-9,
                _ => return None,
            };
        rest = &rest[unit..];
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(total).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_go_writes_them() {
        assert_eq!(duration("1h2m3.5s"), Some(Duration::from_millis(3_723_500)));
        assert_eq!(duration("300ms"), Some(Duration::from_millis(300)));
        assert_eq!(duration("0"), Some(Duration::ZERO));
        for odd in ["", "s", "5", "5x", "-5s", "1.2.3s"] {
            assert_eq!(duration(odd), None, "{odd}");
        }
    }
}
