//! Searching by pattern: `'abc 123'.find('[0-9]+')`.

use super::costs::{matched, matching, sized};
use super::{int, text};
use crate::cost::Size;
use crate::error::Error;
use crate::library::{Library, Overload};
use crate::pattern;
use crate::types::Type;
use crate::value::Value;

pub(super) fn library() -> Library {
    let texts = || Type::list(Type::String);
    Library::new()
        .function(
            "find",
            [costed(Overload::member("string_find_string", [Type::String, Type::String], Type::String, find))],
        )
        .function(
            "findAll",
            [
                costed(Overload::member("string_find_all_string", [Type::String, Type::String], texts(), |a| {
                    find_all(a, -1)
                })),
                costed(Overload::member(
                    "string_find_all_string_int",
                    [Type::String, Type::String, Type::Int],
                    texts(),
                    |a| find_all(a, int(a, 2)?),
                )),
            ],
        )
}

/// At worst every character is a match of its own.
fn costed(overload: Overload) -> Overload {
    overload
        .pattern(1)
        .cost(|arguments, _| Some(matched(arguments.first()?.size(), arguments.get(1)?.size())))
        .estimate(|call| {
            let (text, pattern) = (call.target()?.size(), call.argument(0)?.size());
            Some(sized(matching(text, pattern), Size { min: 0, max: text.max }))
        })
}

fn compiled(pattern: &str) -> Result<std::sync::Arc<::regex::Regex>, Error> {
    pattern::compiled(pattern).map_err(|why| Error::new(format!("Illegal regex: {why}")))
}

fn find<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let pattern = compiled(text(arguments, 1)?)?;
    let found = pattern.find(text(arguments, 0)?);
    Ok(found.map_or("", |found| found.as_str()).to_owned().into())
}

/// No more than `most`; all of them if that is negative.
fn find_all<'a>(arguments: &[Value<'a>], most: i64) -> Result<Value<'a>, Error> {
    let pattern = compiled(text(arguments, 1)?)?;
    let found = pattern.find_iter(text(arguments, 0)?).take(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(found.map(|found| Value::from(found.as_str().to_owned())).collect::<Vec<_>>().into())
}
