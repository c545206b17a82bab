//! Durations and timestamps: how Go reads and writes them, and arithmetic that stays between the years 1 and 9999.

use crate::error::Error;
use crate::number::int_overflow;

/// 0001-01-01T00:00:00Z
pub(crate) const SECONDS_MIN: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z
pub(crate) const SECONDS_MAX: i64 = 253_402_300_799;
const DAY: i64 = 86_400;
const GIGA: i64 = 1_000_000_000;

/// A span of time in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(pub i64);

/// A moment, and the offset from UTC that it was written with. The offset is for printing alone.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    pub seconds: i64,
    /// Below 1,000,000,000, also before 1970.
    pub nanos: u32,
    pub offset: i32,
}

impl Timestamp {
    pub(crate) fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }
}

/// A moment in a time zone, part by part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    pub(crate) month: i64,
    pub(crate) day: i64,
    /// From 0, the first of January.
    pub(crate) day_of_year: i64,
    /// From 0, Sunday.
    pub(crate) weekday: i64,
    pub(crate) second_of_day: i64,
}

/// Days since 1970-01-01 of a date in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A moment as clocks show it that are `offset` seconds ahead of UTC.
pub(crate) fn civil(timestamp: &Timestamp, offset: i64) -> Civil {
    let local = timestamp.seconds.saturating_add(offset);
    let (day, second_of_day) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    let shifted = day + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let day_of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let day_of_year = day - days(year, 1, 1);
    Civil { year, month, day: day_of_month, day_of_year, weekday: (day + 4).rem_euclid(7), second_of_day }
}

/// RFC 3339 with as many decimals as there are, as Go's `RFC3339Nano`.
pub fn format_timestamp(timestamp: &Timestamp) -> String {
    let civil = civil(timestamp, i64::from(timestamp.offset));
    let clock = civil.second_of_day;
    let mut out = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        civil.year,
        civil.month,
        civil.day,
        clock / 3600,
        clock / 60 % 60,
        clock % 60
    );
    if timestamp.nanos > 0 {
        out.push_str(format!(".{:09}", timestamp.nanos).trim_end_matches('0'));
    }
    if timestamp.offset == 0 {
        out.push('Z');
    } else {
        let minutes = timestamp.offset.abs() / 60;
        let sign = if timestamp.offset < 0 { '-' } else { '+' };
        out.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
    }
    out
}

/// Seconds with as many decimals as needed, as in `1.5s`.
pub fn format_duration(duration: Duration) -> String {
    let (whole, rest) = (duration.0 / GIGA, duration.0 % GIGA);
    // Go adds the two as floats and writes the sum.
    let seconds = whole as f64 + rest as f64 / 1e9;
    format!("{seconds}s")
}

/// Reads digits at the front: at least `least`, at most `most`.
fn digits(text: &mut &str, least: usize, most: usize) -> Option<i64> {
    let count = text.bytes().take(most).take_while(u8::is_ascii_digit).count();
    if count < least {
        return None;
    }
    let (number, rest) = text.split_at(count);
    *text = rest;
    number.parse().ok()
}

fn expect(text: &mut &str, prefix: char) -> Option<()> {
    *text = text.strip_prefix(prefix)?;
    Some(())
}

fn date(text: &mut &str) -> Option<i64> {
    let year = digits(text, 4, 4)?;
    expect(text, '-')?;
    let month = digits(text, 2, 2)?;
    expect(text, '-')?;
    let day = digits(text, 2, 2)?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=length).contains(&day).then(|| days(year, month, day))
}

/// `15:04:05` with decimals, in seconds and nanoseconds.
fn clock(text: &mut &str) -> Option<(i64, u32)> {
    let hour = digits(text, 1, 2)?;
    expect(text, ':')?;
    let minute = digits(text, 2, 2)?;
    expect(text, ':')?;
    let second = digits(text, 2, 2)?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut nanos = 0;
    if text.starts_with(['.', ',']) && text[1..].starts_with(|next: char| next.is_ascii_digit()) {
        let count = text[1..].bytes().take_while(u8::is_ascii_digit).count();
        let decimals = &text[1..=count.min(9)];
        nanos = format!("{decimals:0<9}").parse().ok()?;
        *text = &text[1 + count..];
    }
    Some((hour * 3600 + minute * 60 + second, nanos))
}

fn offset(text: &mut &str) -> Option<i32> {
    if expect(text, 'Z').is_some() {
        return Some(0);
    }
    let sign = if expect(text, '-').is_some() { -1 } else { expect(text, '+').map(|()| 1)? };
    let hours = digits(text, 2, 2)?;
    expect(text, ':')?;
    let minutes = digits(text, 2, 2)?;
    (hours <= 24 && minutes < 60).then_some(sign * i32::try_from(hours * 3600 + minutes * 60).ok()?)
}

/// RFC 3339 as Go's `time.Parse` reads it. Whether the year is one that CEL knows is the caller's to ask.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let mut rest = text;
    let timestamp = date_time(&mut rest, true)?;
    rest.is_empty().then_some(timestamp)
}

fn date_time(text: &mut &str, zone: bool) -> Option<Timestamp> {
    let day = date(text)?;
    expect(text, 'T')?;
    let (second, nanos) = clock(text)?;
    let offset = if zone { offset(text)? } else { 0 };
    Some(Timestamp { seconds: day * DAY + second - i64::from(offset), nanos, offset })
}

pub(crate) fn in_range(timestamp: Timestamp) -> Result<Timestamp, Error> {
    let known = (SECONDS_MIN..=SECONDS_MAX).contains(&timestamp.seconds);
    if known { Ok(timestamp) } else { Err(Error::new("timestamp overflow")) }
}

/// What a document says with `format: date-time`.
pub(crate) fn read_date_time(text: &str) -> Result<Timestamp, Error> {
    if text.is_empty() {
        return Ok(Timestamp { seconds: 0, nanos: 0, offset: 0 });
    }
    let without_zone = || {
        let mut rest = text;
        date_time(&mut rest, false).filter(|_| rest.is_empty())
    };
    let read = parse_timestamp(text).or_else(without_zone);
    read.ok_or_else(|| Error::new(format!("Invalid date-time formatted string {text}")))
}

/// What a document says with `format: date`.
pub(crate) fn read_date(text: &str) -> Result<Timestamp, Error> {
    let mut rest = text;
    let day = date(&mut rest).filter(|_| rest.is_empty());
    let day = day.ok_or_else(|| Error::new(format!("Invalid date formatted string {text}")))?;
    Ok(Timestamp { seconds: day * DAY, nanos: 0, offset: 0 })
}

/// What a document says with `format: duration`: as Go reads it, or else words such as `3 days`.
pub(crate) fn read_duration(text: &str) -> Result<Duration, Error> {
    if let Some(duration) = parse_duration(text) {
        return Ok(duration);
    }
    let mut sum: Option<i64> = None;
    let mut rest = text;
    while let Some(start) = rest.find(|next: char| next.is_ascii_digit()) {
        rest = &rest[start..];
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at(count);
        let word = after.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let length = word.find(|next: char| !next.is_ascii_alphabetic() && next != 'µ').unwrap_or(word.len());
        rest = &word[length..];
        if let (Ok(number), Some(unit)) = (number.parse::<i64>(), unit_in_words(&word[..length])) {
            sum = Some(sum.unwrap_or(0).wrapping_add(number.wrapping_mul(unit)));
        }
    }
    let refusal = || Error::new(format!("Invalid duration {text}: unable to parse {text} as duration"));
    sum.map(Duration).ok_or_else(refusal)
}

/// Units by their names and by what longer words begin with.
fn unit_in_words(word: &str) -> Option<i64> {
    const UNITS: [(&[&str], i64); 8] = [
        (&["ns", "nano"], 1),
        (&["us", "µs", "micro"], 1_000),
        (&["ms", "milli"], 1_000_000),
        (&["s", "sec"], GIGA),
        (&["m", "min"], 60 * GIGA),
        (&["h", "hr", "hour"], 3_600 * GIGA),
        (&["d", "day"], DAY * GIGA),
        (&["w", "wk", "week"], 7 * DAY * GIGA),
    ];
    let word = word.to_lowercase();
    let fits =
        |names: &[&str]| names.contains(&word.as_str()) || names.last().is_some_and(|name| word.starts_with(name));
    UNITS.iter().find(|(names, _)| fits(names)).map(|(_, unit)| *unit)
}

/// As Go's `time.ParseDuration`: signed decimals with units, as in `-1h1.5m`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(Duration(0));
    }
    if rest.is_empty() {
        return None;
    }
    let mut sum: u64 = 0;
    while !rest.is_empty() {
        sum = sum.checked_add(summand(&mut rest)?).filter(|sum| *sum <= 1 << 63)?;
    }
    if negative {
        return Some(Duration((sum as i64).wrapping_neg()));
    }
    i64::try_from(sum).ok().map(Duration)
}

fn summand(text: &mut &str) -> Option<u64> {
    let whole = text.bytes().take_while(u8::is_ascii_digit).count();
    let number: u64 = if whole == 0 { 0 } else { text[..whole].parse().ok()? };
    *text = &text[whole..];
    let mut decimals = "";
    if let Some(after) = text.strip_prefix('.') {
        let count = after.bytes().take_while(u8::is_ascii_digit).count();
        (decimals, *text) = after.split_at(count);
    }
    if whole == 0 && decimals.is_empty() {
        return None;
    }
    let length = text.find(|next: char| next == '.' || next.is_ascii_digit()).unwrap_or(text.len());
    let (unit, after) = text.split_at(length);
    *text = after;
    let unit: u64 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    // More than eighteen decimals are below a nanosecond of any unit.
    let decimals = &decimals[..decimals.len().min(18)];
    let fraction = decimals.parse::<u64>().unwrap_or(0) as f64 * (unit as f64 / 10f64.powi(decimals.len() as i32));
    number.checked_mul(unit)?.checked_add(fraction as u64).filter(|sum| *sum <= 1 << 63)
}

pub(crate) fn add(timestamp: &Timestamp, duration: Duration) -> Result<Timestamp, Error> {
    let nanos = i64::from(timestamp.nanos) + duration.0 % GIGA;
    let seconds = timestamp.seconds.checked_add(duration.0 / GIGA).ok_or_else(int_overflow)?;
    let seconds = seconds.checked_add(nanos.div_euclid(GIGA)).ok_or_else(int_overflow)?;
    let nanos = u32::try_from(nanos.rem_euclid(GIGA)).unwrap_or_default();
    in_range(Timestamp { seconds, nanos, offset: timestamp.offset })
}

pub(crate) fn subtract(timestamp: &Timestamp, duration: Duration) -> Result<Timestamp, Error> {
    add(timestamp, Duration(duration.0.checked_neg().ok_or_else(int_overflow)?))
}

pub(crate) fn between(one: &Timestamp, two: &Timestamp) -> Result<Duration, Error> {
    let seconds = one.seconds.checked_sub(two.seconds).and_then(|seconds| seconds.checked_mul(GIGA));
    let nanos = i64::from(one.nanos) - i64::from(two.nanos);
    seconds.and_then(|seconds| seconds.checked_add(nanos)).map(Duration).ok_or_else(int_overflow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_read_and_written_as_go_does() {
        for text in [
            "2023-06-01T12:34:56Z",
            "2023-06-01T12:34:56.789Z",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
            "1969-12-31T23:59:59.5+02:30",
            "2024-02-29T00:00:00-08:00",
        ] {
            let timestamp = parse_timestamp(text).unwrap();
            assert_eq!(format_timestamp(&timestamp), text);
        }
        for text in ["2023-02-29T00:00:00Z", "2023-06-01 12:00:00Z", "2023-06-01T24:00:00Z", "", "2023-06-01T12:00:00"]
        {
            assert!(parse_timestamp(text).is_none(), "{text}");
        }
    }

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        for (text, written) in [
            ("1h30m", "5400s"),
            ("-1.5s", "-1.5s"),
            ("0", "0s"),
            ("1ms", "0.001s"),
            ("1us", "0.000001s"),
            (".5h", "1800s"),
            ("9223372036854775807ns", "9223372036.854776s"),
        ] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), written, "{text}");
        }
        for text in ["", "-", "1", "1d", "9223372036854775808ns", "1h-1m", "."] {
            assert!(parse_duration(text).is_none(), "{text}");
        }
        assert_eq!(read_duration("2 days 3 hours").unwrap(), Duration(51 * 3600 * GIGA));
    }

    #[test]
    fn dates_are_days() {
        assert_eq!(read_date("1970-01-02").unwrap().seconds, DAY);
        assert_eq!(civil(&parse_timestamp("2023-06-04T00:00:00Z").unwrap(), 0).weekday, 0);
        assert_eq!(civil(&parse_timestamp("2024-12-31T00:00:00Z").unwrap(), 0).day_of_year, 365);
    }
}
