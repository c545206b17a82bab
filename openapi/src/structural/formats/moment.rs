//! Dates, times and spans.

/// `2006-01-02`
pub(super) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let part = |from: usize, to: usize| text.get(from..to).and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    shaped && (1..=12).contains(&part(5, 7)) && (1..=days(part(0, 4), part(5, 7))).contains(&part(8, 10))
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A date, `t`, and a time with its zone. What follows a second `t` is not looked at.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    match (parts.next(), parts.next()) {
        (Some(date), Some(time)) => is_date(date) && is_time(time),
        _ => false,
    }
}

fn is_time(text: &str) -> bool {
    let Some((clock, rest)) = text.split_at_checked(8) else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = clock.split(':');
    let mut within = |max: &str| parts.next().is_some_and(|part| part.len() == 2 && digits(part) && part <= max);
    if !(within("23") && within("59") && within("59")) {
        return false;
    }
    let zoned = |text: &str| {
        let offset = |text: &str| match text.split_once(':') {
            Some((hours, minutes)) => hours.len() == 2 && minutes.len() == 2 && digits(hours) && digits(minutes),
            None => false,
        };
        text == "z" || text.strip_prefix(['+', '-']).is_some_and(offset)
    };
    let mut fraction = rest.chars();
    let point = fraction.next();
    let fraction = fraction.as_str();
    let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    zoned(rest) || (point.is_some_and(|point| point != '\n') && end > 0 && zoned(&fraction[end..]))
}

pub(super) fn is_duration(text: &str) -> bool {
    is_go_duration(text) || is_worded_duration(text)
}

/// `1h30m`, `-1.5s`, `0`
fn is_go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    let mut any = false;
    while !rest.is_empty() {
        let number = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, tail) = rest.split_at(number);
        let unit = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let numeric = digits.bytes().any(|byte| byte.is_ascii_digit()) && digits.matches('.').count() <= 1;
        if !numeric || !matches!(unit, "ns" | "us" | "µs" | "μs" | "ms" | "s" | "m" | "h") {
            return false;
        }
        (rest, any) = (tail, true);
    }
    any
}

/// Units in words: the last of each may go on, as `seconds` does.
const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Any number with a unit, anywhere: `about 3 days`.
fn is_worded_duration(text: &str) -> bool {
    let mut found = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let tail = number[end..].trim_start_matches(['\t', '\n', '\u{c}', '\r', ' ']);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic() && c != 'µ').unwrap_or(tail.len());
        let (unit, after) = tail.split_at(letters);
        if !unit.is_empty() {
            if number[..end].parse::<i64>().is_err() {
                return false;
            }
            found |= is_unit(&unit.to_lowercase());
        }
        rest = after;
    }
    found
}

fn is_unit(word: &str) -> bool {
    UNITS.iter().any(|forms| forms.contains(&word) || forms.last().is_some_and(|last| word.starts_with(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_go_reads_them() {
        assert!(is_date("2024-02-29") && !is_date("2023-02-29") && !is_date("2023-2-1") && !is_date("2023-00-01"));
        assert!(is_date_time("2014-12-15T19:30:20.000Z") && is_date_time("2014-12-15t19:30:20+01:00"));
        assert!(!is_date_time("2014-12-15T19:30:20") && !is_date_time("2014-12-15T24:30:20Z"));
        assert!(!is_date_time("2014-12-15") && !is_date_time("2014-12-15T19:30:20.Z"));
        assert!(is_duration("1h30m") && is_duration("-1.5s") && is_duration("0") && is_duration("3 days"));
        assert!(
            is_duration("1 Sec") && is_duration("2µs") && !is_duration("") && !is_duration("h") && !is_duration("1y")
        );
    }
}
