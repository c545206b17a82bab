//! How long something took or has been, in two or three figures.

use openapi::scalar::time::Instant;

const SECOND: i64 = 1_000_000_000;

/// As Go subtracts instants: what does not fit in 292 years is cut to them.
pub(super) fn nanos_between(from: Instant, to: Instant) -> i64 {
    let seconds = i128::from(to.seconds) - i128::from(from.seconds);
    let nanos = seconds * i128::from(SECOND) + i128::from(to.nanos) - i128::from(from.nanos);
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

/// A duration as `kubectl get` shows ages: `42s`, `3m20s`, `5h`, `12d`. Clocks may differ by a second; what lies
/// further in the future is invalid.
pub fn human_duration(nanos: i64) -> String {
    let seconds = nanos / SECOND;
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        _ if minutes < 3 * 60 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => pair(days, "d", hours % 24, "h"),
        _ if days < 2 * 365 => format!("{days}d"),
        _ if days < 8 * 365 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

fn pair(large: i64, large_unit: &str, small: i64, small_unit: &str) -> String {
    if small == 0 { format!("{large}{large_unit}") } else { format!("{large}{large_unit}{small}{small_unit}") }
}
