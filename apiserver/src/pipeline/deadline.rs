//! No request but a watch goes on forever.

use crate::error::ApiError;
use crate::options::Query;
use crate::target::Target;
use axum::extract::Request;
use std::time::Duration;

/// What Kubernetes gives a request.
const REQUEST_MAX: Duration = Duration::from_secs(60);

/// How long the request may take; as long as it likes, if there is no bound.
pub(super) fn within(request: &Request, target: &Target) -> Result<Option<Duration>, ApiError> {
    if target.is_watch() {
        return Ok(None);
    }
    let query = Query::parse(request.uri().query().unwrap_or_default());
    match query.get("timeout").filter(|text| !text.is_empty()).map(duration) {
        None => Ok(Some(REQUEST_MAX)),
        Some(Some(asked)) if asked.is_zero() => Ok(Some(REQUEST_MAX)),
        Some(Some(asked)) => Ok(Some(asked.min(REQUEST_MAX))),
        Some(None) => Err(ApiError::bad_request("invalid timeout specified in the request URL")),
    }
}

/// Does the work, or gives up when time is over.
pub(super) async fn keep<T>(
    within: Option<Duration>,
    work: impl Future<Output = Result<T, ApiError>>,
) -> Result<T, ApiError> {
    let Some(within) = within else { return work.await };
    tokio::time::timeout(within, work).await.unwrap_or_else(|_| {
        let message = format!("request did not complete within requested timeout {}s", within.as_secs());
        Err(ApiError::timeout(message))
    })
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
