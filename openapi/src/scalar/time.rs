//! Instants: RFC 3339 text to the second (`Time`) or to the microsecond (`MicroTime`).
//!
//! The year 1 at midnight UTC is Go's zero time, which prints as null; [`Instant::text`] answers `None` for it.

use std::fmt;

/// Seconds since 1970 and the nanoseconds after them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instant {
    pub seconds: i64,
    pub nanos: u32,
}

/// How much of an instant its text shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    Seconds,
    Micros,
}

impl Precision {
    fn layout(self) -> &'static str {
        match self {
            Precision::Seconds => "2006-01-02T15:04:05Z07:00",
            Precision::Micros => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

const YEAR_ZERO: i64 = -62_167_219_200;
const YEAR_ONE: i64 = -62_135_596_800;
const YEAR_TEN_THOUSAND: i64 = 253_402_300_800;
const DAY: i64 = 86_400;

impl Instant {
    pub fn is_zero(self) -> bool {
        self.seconds == YEAR_ONE && self.nanos == 0
    }

    /// Its text can be read again: the year has four digits.
    pub fn is_readable(self) -> bool {
        (YEAR_ZERO..YEAR_TEN_THOUSAND).contains(&self.seconds)
    }

    pub fn text(self, precision: Precision) -> Option<String> {
        if self.is_zero() {
            return None;
        }
        let (year, month, day) = civil(self.seconds.div_euclid(DAY));
        let second = self.seconds.rem_euclid(DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let fraction = match precision {
            Precision::Seconds => String::new(),
            Precision::Micros => format!(".{:06}", self.nanos / 1000),
        };
        // Go pads the digits of a year, not its sign.
        let sign = if year < 0 { "-" } else { "" };
        let year = year.abs();
        Some(format!("{sign}{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
    }

    /// Reads a text as Go's `time.Parse` does: fractions of a second are taken though the layout shows none, hours may
    /// have one digit, and an error says which part it stumbled over.
    pub fn parse(text: &str, precision: Precision) -> Result<Instant, TimeError> {
        let mut cursor = Cursor { text, rest: text, precision };
        let year = cursor.year()?;
        cursor.literal("-")?;
        let month = cursor.number("01", true, 1, 12, "month")?;
        cursor.literal("-")?;
        let day = cursor.number("02", true, 0, 99, "day")?;
        cursor.literal("T")?;
        let hour = cursor.number("15", false, 0, 23, "hour")?;
        cursor.literal(":")?;
        let minute = cursor.number("04", true, 0, 59, "minute")?;
        cursor.literal(":")?;
        let second = cursor.number("05", true, 0, 59, "second")?;
        let nanos = cursor.fraction()?;
        let offset = cursor.zone()?;
        if !cursor.rest.is_empty() {
            return Err(cursor.says(&format!(": extra text: {}", quote(cursor.rest))));
        }
        if day < 1 || day > days_in(month, year) {
            return Err(cursor.says(": day out of range"));
        }
        let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
        Ok(Instant { seconds, nanos })
    }
}

/// Why a text is no instant, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimeError(String);

struct Cursor<'a> {
    text: &'a str,
    rest: &'a str,
    precision: Precision,
}

impl<'a> Cursor<'a> {
    fn says(&self, message: &str) -> TimeError {
        TimeError(format!("parsing time {}{message}", quote(self.text)))
    }

    fn stumbles(&self, part: &str) -> TimeError {
        let (layout, rest) = (quote(self.precision.layout()), quote(self.rest));
        self.says(&format!(" as {layout}: cannot parse {rest} as {}", quote(part)))
    }

    fn digit(&self, at: usize) -> Option<i64> {
        self.rest.as_bytes().get(at).filter(|byte| byte.is_ascii_digit()).map(|byte| i64::from(byte - b'0'))
    }

    /// Moves on; `count` bytes were seen to be ASCII.
    fn skip(&mut self, count: usize) {
        self.rest = &self.rest[count..];
    }

    fn literal(&mut self, mark: &str) -> Result<(), TimeError> {
        match self.rest.strip_prefix(mark) {
            Some(rest) => self.rest = rest,
            None => return Err(self.stumbles(mark)),
        }
        Ok(())
    }

    fn year(&mut self) -> Result<i64, TimeError> {
        let mut year = 0;
        for at in 0..4 {
            year = year * 10 + self.digit(at).ok_or_else(|| self.stumbles("2006"))?;
        }
        self.skip(4);
        Ok(year)
    }

    fn number(&mut self, part: &str, two: bool, min: i64, max: i64, name: &str) -> Result<i64, TimeError> {
        let value = match (self.digit(0), self.digit(1)) {
            (Some(tens), Some(ones)) => tens * 10 + ones,
            (Some(ones), None) if !two => ones,
            _ => return Err(self.stumbles(part)),
        };
        self.skip(if self.digit(1).is_some() { 2 } else { 1 });
        if value < min || value > max {
            return Err(self.says(&format!(": {name} out of range")));
        }
        Ok(value)
    }

    fn fraction(&mut self) -> Result<u32, TimeError> {
        let marked = self.rest.starts_with(['.', ',']);
        let digits = if marked { (1..).take_while(|at| self.digit(*at).is_some()).count() } else { 0 };
        let take = match self.precision {
            Precision::Seconds => digits,
            Precision::Micros if digits >= 6 => 6,
            Precision::Micros => return Err(self.stumbles(".000000")),
        };
        let mut nanos = 0;
        for at in 1..=9 {
            nanos = nanos * 10 + if at <= take { self.digit(at).unwrap_or(0) } else { 0 };
        }
        if take > 0 {
            self.skip(take + 1);
        }
        Ok(u32::try_from(nanos).unwrap_or(0))
    }

    fn zone(&mut self) -> Result<i64, TimeError> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        if bytes.len() < 6 || bytes[3] != b':' {
            return Err(self.stumbles("Z07:00"));
        }
        let two = |at| Some(self.digit(at)? * 10 + self.digit(at + 1)?);
        let hours = two(1);
        let minutes = hours.and(two(4));
        // Go complains of the range first, even beside something that is no number.
        if minutes > Some(60) {
            return Err(self.says(": time zone offset minute out of range"));
        }
        if hours > Some(24) {
            return Err(self.says(": time zone offset hour out of range"));
        }
        let (sign @ (b'+' | b'-'), Some(hours), Some(minutes)) = (bytes[0], hours, minutes) else {
            return Err(self.stumbles("Z07:00"));
        };
        self.skip(6);
        let offset = hours * 3600 + minutes * 60;
        Ok(if sign == b'-' { -offset } else { offset })
    }
}

/// A text as Go's `time` package quotes it: bytes outside of printable ASCII as `\x..`.
fn quote(text: &str) -> String {
    struct Quoted<'a>(&'a str);
    impl fmt::Display for Quoted<'_> {
        fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            for byte in self.0.bytes() {
                match byte {
                    b'"' | b'\\' => write!(out, "\\{}", char::from(byte))?,
                    b' '..=b'~' => write!(out, "{}", char::from(byte))?,
                    _ => write!(out, "\\x{byte:02x}")?,
                }
            }
            Ok(())
        }
    }
    format!("\"{}\"", Quoted(text))
}

fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970 of a date. Years start in March, so that the leap day is a year's last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date that is so many days after 1970: the inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}
