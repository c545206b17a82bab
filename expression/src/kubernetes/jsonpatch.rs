//! Keys in the paths of a JSON patch: `jsonpatch.escapeKey('a/b')`.

use super::costs::Costs;
use super::text;
use crate::library::{Library, Overload};
use crate::types::Type;

pub(super) fn library() -> Library {
    let escape = Overload::global("string_jsonpatch_escapeKey_string", [Type::String], Type::String, |arguments| {
        Ok(text(arguments, 0)?.replace('~', "~0").replace('/', "~1").into())
    });
    Library::new().function("jsonpatch.escapeKey", [escape.copying()])
}
