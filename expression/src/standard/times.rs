//! Parts of timestamps and durations.

use jiff::tz::TimeZone;

use crate::error::Error;
use crate::library::{Function, Library, Overload};
use crate::time::{Civil, civil};
use crate::time::{Duration, Timestamp};
use crate::types::Type;
use crate::value::Value;

/// How far a time zone is ahead of UTC at a moment: `America/New_York`, or `+02:00`.
fn offset(moment: &Timestamp, zone: &str) -> Result<i64, Error> {
    let Some((hours, minutes)) = zone.split_once(':') else { return named(moment, zone) };
    let number = |text: &str| {
        let refusal = || Error::new(format!("strconv.Atoi: parsing {text:?}: invalid syntax"));
        text.parse::<i32>().map(i64::from).map_err(|_| refusal())
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let minutes = if zone.starts_with('-') { hours * 60 - minutes } else { hours * 60 + minutes };
    Ok(minutes * 60)
}

fn named(moment: &Timestamp, zone: &str) -> Result<i64, Error> {
    // A server has no other local time.
    if matches!(zone, "" | "UTC" | "Local") {
        return Ok(0);
    }
    if zone.starts_with(['/', '\\']) || zone.contains("..") {
        return Err(Error::new("time: invalid location name"));
    }
    let unknown = || Error::new(format!("unknown time zone {zone}"));
    // Go looks names up as files, so their case matters.
    let zone = TimeZone::get(zone).ok().filter(|found| found.iana_name() == Some(zone)).ok_or_else(unknown)?;
    let at = jiff::Timestamp::from_second(moment.seconds).map_err(|_| unknown())?;
    Ok(i64::from(zone.to_offset(at).seconds()))
}

fn part<'a>(arguments: &[Value<'a>], wanted: fn(&Civil, &Timestamp) -> i64) -> Result<Value<'a>, Error> {
    let offset = match arguments {
        [Value::Timestamp(_)] => 0,
        [Value::Timestamp(moment), Value::String(zone)] => offset(moment, zone)?,
        _ => return Err(Error::no_such_overload()),
    };
    let Value::Timestamp(moment) = &arguments[0] else { return Err(Error::no_such_overload()) };
    Ok(Value::Int(wanted(&civil(moment, offset), moment)))
}

fn whole<'a>(arguments: &[Value<'a>], wanted: fn(Duration) -> i64) -> Result<Value<'a>, Error> {
    match arguments {
        [Value::Duration(span)] => Ok(Value::Int(wanted(*span))),
        _ => Err(Error::no_such_overload()),
    }
}

fn parts(plain: &'static str, zoned: &'static str, run: Function) -> Vec<Overload> {
    vec![
        Overload::member(plain, [Type::Timestamp], Type::Int, run),
        Overload::member(zoned, [Type::Timestamp, Type::String], Type::Int, run),
    ]
}

fn with_duration(mut overloads: Vec<Overload>, id: &'static str, run: Function) -> Vec<Overload> {
    overloads.push(Overload::member(id, [Type::Duration], Type::Int, run));
    overloads
}

fn dates(library: Library) -> Library {
    library
        .function(
            "getFullYear",
            parts("timestamp_to_year", "timestamp_to_year_with_tz", |values| part(values, |civil, _| civil.year)),
        )
        .function(
            "getMonth",
            parts("timestamp_to_month", "timestamp_to_month_with_tz", |values| {
                part(values, |civil, _| civil.month - 1)
            }),
        )
        .function(
            "getDayOfYear",
            parts("timestamp_to_day_of_year", "timestamp_to_day_of_year_with_tz", |values| {
                part(values, |civil, _| civil.day_of_year)
            }),
        )
        .function(
            "getDayOfMonth",
            parts("timestamp_to_day_of_month", "timestamp_to_day_of_month_with_tz", |values| {
                part(values, |civil, _| civil.day - 1)
            }),
        )
        .function(
            "getDate",
            parts("timestamp_to_day_of_month_1_based", "timestamp_to_day_of_month_1_based_with_tz", |values| {
                part(values, |civil, _| civil.day)
            }),
        )
        .function(
            "getDayOfWeek",
            parts("timestamp_to_day_of_week", "timestamp_to_day_of_week_with_tz", |values| {
                part(values, |civil, _| civil.weekday)
            }),
        )
}

fn clocks(library: Library) -> Library {
    let hours = parts("timestamp_to_hours", "timestamp_to_hours_with_tz", |values| {
        part(values, |civil, _| civil.second_of_day / 3600)
    });
    let minutes = parts("timestamp_to_minutes", "timestamp_to_minutes_with_tz", |values| {
        part(values, |civil, _| civil.second_of_day / 60 % 60)
    });
    let seconds = parts("timestamp_to_seconds", "timestamp_to_seconds_tz", |values| {
        part(values, |civil, _| civil.second_of_day % 60)
    });
    let milliseconds = parts("timestamp_to_milliseconds", "timestamp_to_milliseconds_with_tz", |values| {
        part(values, |_, moment| i64::from(moment.nanos / 1_000_000))
    });
    library
        .function(
            "getHours",
            with_duration(hours, "duration_to_hours", |values| whole(values, |span| span.0 / 3_600_000_000_000)),
        )
        .function(
            "getMinutes",
            with_duration(minutes, "duration_to_minutes", |values| whole(values, |span| span.0 / 60_000_000_000)),
        )
        .function(
            "getSeconds",
            with_duration(seconds, "duration_to_seconds", |values| whole(values, |span| span.0 / 1_000_000_000)),
        )
        .function(
            "getMilliseconds",
            with_duration(milliseconds, "duration_to_milliseconds", |values| whole(values, |span| span.0 / 1_000_000)),
        )
}

pub(super) fn library() -> Library {
    clocks(dates(Library::new()))
}
