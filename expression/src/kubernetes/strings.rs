//! Strings by character: `'tacocat'.substring(0, 4)`, `['a', 'b'].join(',')`, `'%d items'.format([3])`.

use super::costs::{Costs, sized};
use super::lists::searching;
use super::{LONGEST_TEXT, formatting, int, list, quote, text};
use crate::cost::{CallEstimate, Node, Size, TRAVERSAL, scale};
use crate::error::Error;
use crate::library::{Call, Library, Overload};
use crate::types::Type;
use crate::value::Value;

const S: Type = Type::String;
const I: Type = Type::Int;

pub(super) fn library() -> Library {
    let changed = |id, run| [Overload::member(id, [S], S, run).copying()];
    Library::new()
        .function("charAt", [Overload::member("string_char_at_int", [S, I], S, char_at)])
        .function("lowerAscii", changed("string_lower_ascii", |a| Ok(text(a, 0)?.to_ascii_lowercase().into())))
        .function("upperAscii", changed("string_upper_ascii", |a| Ok(text(a, 0)?.to_ascii_uppercase().into())))
        .function("trim", changed("string_trim", |a| Ok(text(a, 0)?.trim().to_owned().into())))
        .function("indexOf", places())
        .function("lastIndexOf", last_places())
        .function("substring", substrings())
        .function("replace", replacements())
        .function("split", splits())
        .function("join", joins())
        .function("strings.quote", [quoting(Overload::global("strings_quote", [S], S, quoted))])
        .function("format", [Overload::member("string_format", [S, Type::list(Type::Dyn)], S, format).reading()])
}

fn places() -> [Overload; 2] {
    [
        Overload::member("string_index_of_string", [S, S], I, |a| index_of(a, 0)),
        Overload::member("string_index_of_string_int", [S, S, I], I, |a| index_of(a, int(a, 2)?)),
    ]
    .map(searching)
}

fn last_places() -> [Overload; 2] {
    [
        Overload::member("string_last_index_of_string", [S, S], I, |a| last_index_of(a, None)),
        Overload::member("string_last_index_of_string_int", [S, S, I], I, |a| last_index_of(a, Some(int(a, 2)?))),
    ]
    .map(searching)
}

fn substrings() -> [Overload; 2] {
    [
        Overload::member("string_substring_int", [S, I], S, |a| substring(a, None)),
        Overload::member("string_substring_int_int", [S, I, I], S, |a| substring(a, Some(int(a, 2)?))),
    ]
    .map(Costs::copying)
}

fn replacements() -> [Overload; 2] {
    [
        Overload::member("string_replace_string_string", [S, S, S], S, |a| replace(a, -1)),
        Overload::member("string_replace_string_string_int", [S, S, S, I], S, |a| replace(a, int(a, 3)?)),
    ]
    .map(replacing)
}

fn splits() -> [Overload; 2] {
    [
        Overload::member("string_split_string", [S, S], Type::list(S), |a| split(a, -1)),
        Overload::member("string_split_string_int", [S, S, I], Type::list(S), |a| split(a, int(a, 2)?)),
    ]
    .map(splitting)
}

fn joins() -> [Overload; 2] {
    [
        Overload::member("list_join", [Type::list(S)], S, |a| join(a, "")),
        Overload::member("list_join_string", [Type::list(S), S], S, |a| join(a, text(a, 1)?)),
    ]
    .map(joining)
}

fn out_of_range(index: i64) -> Error {
    Error::new(format!("index out of range: {index}"))
}

/// Where a character begins; the end of the text is a place too.
fn offset(text: &str, index: i64) -> Result<usize, Error> {
    let wanted = usize::try_from(index).map_err(|_| out_of_range(index))?;
    let mut places = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    places.nth(wanted).ok_or_else(|| out_of_range(index))
}

fn char_at<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let text = text(arguments, 0)?;
    let at = offset(text, int(arguments, 1)?)?;
    Ok(text[at..].chars().next().map(String::from).unwrap_or_default().into())
}

fn characters(text: &str) -> i64 {
    crate::value::characters(text) as i64
}

fn index_of<'a>(arguments: &[Value<'a>], from: i64) -> Result<Value<'a>, Error> {
    let (text, wanted) = (text(arguments, 0)?, text(arguments, 1)?);
    if from < 0 {
        return Err(out_of_range(from));
    }
    if wanted.is_empty() {
        return Ok(Value::Int(from.min(characters(text))));
    }
    let found = offset(text, from).ok().and_then(|start| Some(start + text[start..].find(wanted)?));
    Ok(Value::Int(found.map_or(-1, |at| characters(&text[..at]))))
}

/// The last place at or before `until`, which lies in the text if there is anything to find.
fn last_index_of<'a>(arguments: &[Value<'a>], until: Option<i64>) -> Result<Value<'a>, Error> {
    let (text, wanted) = (text(arguments, 0)?, text(arguments, 1)?);
    let length = characters(text);
    if let Some(until) = until.filter(|until| *until < 0) {
        return Err(out_of_range(until));
    }
    if wanted.is_empty() {
        return Ok(Value::Int(until.unwrap_or(length).min(length)));
    }
    if until.is_some_and(|until| until >= length) {
        return Ok(Value::Int(-1));
    }
    let last = until.unwrap_or(length).saturating_add(characters(wanted)).min(length);
    let end = offset(text, last)?;
    Ok(Value::Int(text[..end].rfind(wanted).map_or(-1, |at| characters(&text[..at]))))
}

fn substring<'a>(arguments: &[Value<'a>], end: Option<i64>) -> Result<Value<'a>, Error> {
    let (text, start) = (text(arguments, 0)?, int(arguments, 1)?);
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Error::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let from = offset(text, start)?;
    let to = end.map_or(Ok(text.len()), |end| offset(text, end))?;
    Ok(text[from..to].to_owned().into())
}

/// As often as `most` says; everywhere if that is negative.
fn replace<'a>(arguments: &[Value<'a>], most: i64) -> Result<Value<'a>, Error> {
    let (text, old, new) = (text(arguments, 0)?, text(arguments, 1)?, text(arguments, 2)?);
    let count = usize::try_from(most).unwrap_or(usize::MAX);
    let places = text.len() / old.len().max(1) + 1;
    if text.len().saturating_add(places.min(count).saturating_mul(new.len())) <= LONGEST_TEXT {
        return Ok(text.replacen(old, new, count).into());
    }
    let places = text.matches(old).take(count).count();
    if text.len().saturating_add(places.saturating_mul(new.len())) > LONGEST_TEXT {
        return Err(Error::Cost);
    }
    Ok(text.replacen(old, new, count).into())
}

/// Into `most` parts; into as many as there are if that is negative.
fn split<'a>(arguments: &[Value<'a>], most: i64) -> Result<Value<'a>, Error> {
    let (text, separator) = (text(arguments, 0)?, text(arguments, 1)?);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let parts: Vec<Value<'a>> = if separator.is_empty() {
        split_characters(text, most)
    } else {
        text.splitn(most, separator).map(|part| part.to_owned().into()).collect()
    };
    Ok(parts.into())
}

/// The last of the parts is whatever is left.
fn split_characters<'a>(text: &str, most: usize) -> Vec<Value<'a>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next().filter(|_| parts.len() < most) {
        let length = if parts.len() + 1 == most { rest.len() } else { first.len_utf8() };
        parts.push(rest[..length].to_owned().into());
        rest = &rest[length..];
    }
    parts
}

fn join<'a>(arguments: &[Value<'a>], separator: &str) -> Result<Value<'a>, Error> {
    let mut out = String::new();
    for (index, element) in list(arguments, 0)?.iter().enumerate() {
        let element = element?;
        let Some(part) = element.as_str() else {
            return Err(Error::new(format!("join: invalid input: {}", crate::convert::debug(&element))));
        };
        if index > 0 {
            out.push_str(separator);
        }
        out.push_str(part);
        if out.len() > LONGEST_TEXT {
            return Err(Error::Cost);
        }
    }
    Ok(out.into())
}

fn quoted<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    Ok(quote::cel(text(arguments, 0)?).into())
}

fn format<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    formatting::format(text(arguments, 0)?, list(arguments, 1)?).map(Value::from)
}

/// At most every character is escaped, and there are two quotes. What is endless becomes nothing, as in cel-go.
fn quoting(overload: Overload) -> Overload {
    overload.reading().estimate(|call| {
        let size = call.argument(0)?.size();
        let result = Size { min: size.min.wrapping_add(2), max: size.max.wrapping_mul(2).wrapping_add(2) };
        Some(sized(size.at(TRAVERSAL), result))
    })
}

/// The text is read, and as much is written.
fn twice(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    Some(scale(arguments.first()?.size(), 2.0 * TRAVERSAL))
}

fn replacing(overload: Overload) -> Overload {
    overload.cost(twice).estimate(|call| {
        let target = call.target()?.size();
        let result = replaced(target, call.argument(0)?.size(), call.argument(1)?.size());
        Some(sized(target.at(2.0 * TRAVERSAL), result))
    })
}

/// How long a text may be after `old` was replaced by `new` in it.
fn replaced(text: Size, old: Size, new: Size) -> Size {
    let (longest, kept) = match () {
        // Nothing stands between any two characters, and at both ends.
        () if old.min == 0 => (text.max.saturating_add(1), text.max),
        () if new.max <= old.min => (0, text.max),
        () => ((text.max as f64 / old.min as f64).ceil() as u64, 0),
    };
    let (shortest, kept_least) = match () {
        () if old.max == 0 => (text.min.saturating_add(1), text.min),
        () if old.max <= new.min => (0, text.min),
        () => ((text.min as f64 / old.max as f64).ceil() as u64, 0),
    };
    Size { min: shortest, max: longest }.times(new).plus(Size { min: kept_least, max: kept })
}

fn splitting(overload: Overload) -> Overload {
    overload.cost(twice).estimate(|call| {
        let target = call.target()?.size();
        let most = call.argument(1).and_then(Node::literal_int).map_or(target.max, |most| most as u64);
        Some(sized(target.at(2.0 * TRAVERSAL), Size { min: 0, max: most }))
    })
}

fn joining(overload: Overload) -> Overload {
    overload.cost(|_, result| Some(scale(result.map_or(1, Value::size), 2.0 * TRAVERSAL))).estimate(joined)
}

fn joined(call: &Call<'_>) -> Option<CallEstimate> {
    let target = call.target()?;
    let list = target.size();
    let mut size = target.items().map_or(Size::exactly(0), |items| list.times(items.size()));
    if let Some(separator) = call.argument(0) {
        let separators = Size { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
        size = size.plus(separator.size().times(separators));
    }
    Some(sized(size.at(TRAVERSAL), size))
}
