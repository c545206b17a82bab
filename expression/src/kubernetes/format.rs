//! Named formats: `format.dns1123Label().validate('My Name').value()`.

use super::costs::{Costs, matched};
use super::named;
use super::{opaque, text};
use crate::cost::{Cost, PATTERN, TRAVERSAL};
use crate::error::Error;
use crate::library::{Function, Library, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// What is wrong with a text.
type Check = fn(&str) -> Vec<String>;

#[derive(Debug)]
struct Format {
    /// What expressions call it.
    name: &'static str,
    check: Check,
    /// How long the pattern is that it is checked with, for the cost of checking.
    pattern: u64,
}

/// The pattern of any format is taken for this long before anything runs.
const LONGEST_PATTERN: f64 = 128.0;
/// The longest name of a format, for the cost of comparing two.
const LONGEST_NAME: u64 = 64;
const UUID_PATTERN: u64 = 70;
const DATETIME_PATTERN: u64 = 71;

static FORMATS: [Format; 13] = [
    Format { name: "dns1123Label", check: named::dns_label, pattern: 30 },
    Format { name: "dns1123Subdomain", check: named::dns_subdomain, pattern: 60 },
    Format { name: "dns1035Label", check: named::dns_old_label, pattern: 30 },
    Format { name: "qualifiedName", check: named::qualified_name, pattern: 60 },
    Format { name: "dns1123LabelPrefix", check: |text| named::as_prefix(named::dns_label, text), pattern: 30 },
    Format { name: "dns1123SubdomainPrefix", check: |text| named::as_prefix(named::dns_subdomain, text), pattern: 60 },
    Format { name: "dns1035LabelPrefix", check: |text| named::as_prefix(named::dns_old_label, text), pattern: 30 },
    Format { name: "labelValue", check: named::label_value, pattern: 40 },
    Format { name: "uri", check: named::uri, pattern: 1103 },
    Format { name: "uuid", check: named::uuid, pattern: UUID_PATTERN },
    Format { name: "byte", check: named::byte, pattern: 84 },
    Format { name: "date", check: named::date, pattern: DATETIME_PATTERN },
    Format { name: "datetime", check: named::datetime, pattern: DATETIME_PATTERN },
];

/// The functions `format.NAME()`, in the order of the formats.
static CONSTANTS: [(&str, Function); 13] = [
    ("format.dns1123Label", |_| Ok(at(0))),
    ("format.dns1123Subdomain", |_| Ok(at(1))),
    ("format.dns1035Label", |_| Ok(at(2))),
    ("format.qualifiedName", |_| Ok(at(3))),
    ("format.dns1123LabelPrefix", |_| Ok(at(4))),
    ("format.dns1123SubdomainPrefix", |_| Ok(at(5))),
    ("format.dns1035LabelPrefix", |_| Ok(at(6))),
    ("format.labelValue", |_| Ok(at(7))),
    ("format.uri", |_| Ok(at(8))),
    ("format.uuid", |_| Ok(at(9))),
    ("format.byte", |_| Ok(at(10))),
    ("format.date", |_| Ok(at(11))),
    ("format.datetime", |_| Ok(at(12))),
];

/// A value of a format.
#[derive(Debug)]
struct Named(&'static Format);

impl Opaque for Named {
    fn ty(&self) -> Type {
        ty()
    }

    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        Ok(other.downcast_ref::<Named>().is_some_and(|other| other.0.name == self.0.name))
    }
}

fn at<'a>(index: usize) -> Value<'a> {
    Value::opaque(Named(&FORMATS[index]))
}

fn ty() -> Type {
    Type::object("kubernetes.NamedFormat")
}

pub(super) fn library() -> Library {
    let complaints = Type::optional(Type::list(Type::String));
    let validate = Overload::member("format-validate", [ty(), Type::String], complaints, validate)
        .cost(|arguments, _| {
            let format: &Named = arguments.first()?.downcast()?;
            Some(matched(arguments.get(1)?.size(), format.0.pattern))
        })
        .estimate(|call| {
            let reading = call.argument(0)?.size().at(TRAVERSAL);
            Some(reading.at(LONGEST_PATTERN * PATTERN).into())
        });
    let named = Overload::global("format-named", [Type::String], Type::optional(ty()), named_as).nominal();
    let library = Library::new()
        .equality(ty(), |_| Some(Cost { min: 1, max: LONGEST_NAME }.at(TRAVERSAL).into()))
        .function("validate", [validate])
        .function("format.named", [named]);
    CONSTANTS
        .iter()
        .fold(library, |library, (name, run)| library.function(name, [Overload::global(name, [], ty(), *run)]))
}

fn validate<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let format: &Named = opaque(arguments, 0)?;
    let wrong = (format.0.check)(text(arguments, 1)?);
    if wrong.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(wrong.into_iter().map(Value::from).collect::<Vec<_>>().into()))
}

fn named_as<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let name = text(arguments, 0)?;
    let found = FORMATS.iter().find(|format| format.name == name);
    Ok(found.map_or(Value::Optional(None), |format| Value::some(Value::opaque(Named(format)))))
}
