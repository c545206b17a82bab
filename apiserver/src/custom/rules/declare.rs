//! From a place of a schema to what expressions see there: types, names, and how large the data may be.

use expression::{Declared, Identity, escape};
use openapi::structural::{ListType, Node, Type};

/// The largest request: no data is larger. Estimates count on it, whatever the server takes.
pub(super) const REQUEST_BYTES: u64 = 3 << 20;
const NAME_MAX: i64 = 253;
/// What is generated has one more character at least.
const GENERATED_MAX: i64 = NAME_MAX - 1;

/// What is declared, and the fewest bytes that it takes up in JSON.
#[derive(Debug)]
pub(in crate::custom) struct Typed {
    pub(in crate::custom) declared: Declared,
    pub(super) smallest: u64,
}

impl Typed {
    fn new(declared: Declared, smallest: u64) -> Self {
        Self { declared, smallest }
    }
}

/// What `self` is at a place; none where expressions cannot see the data. A resource has a kind and a name.
pub(in crate::custom) fn declare(node: &Node, is_resource: bool) -> Option<Typed> {
    at(node, is_resource, "selfType")
}

fn at(node: &Node, is_resource: bool, name: &str) -> Option<Typed> {
    let mut typed = match node.ty() {
        _ if node.is_int_or_string() => Typed::new(Declared::int_or_string().at_most(text_size(node)), 1),
        Some(Type::Array) => list(node, name)?,
        Some(Type::Object) => match node.additional_properties().schema() {
            Some(values) => map(node, values, name)?,
            None => object(node, is_resource, name),
        },
        Some(Type::String) => text(node),
        Some(Type::Boolean) => Typed::new(Declared::bool(), 4),
        Some(Type::Integer) => Typed::new(Declared::int(), 1),
        Some(Type::Number) => Typed::new(Declared::double(), 1),
        None => return None,
    };
    if node.is_nullable() {
        typed.declared = typed.declared.or_null();
    }
    Some(typed)
}

fn list(node: &Node, name: &str) -> Option<Typed> {
    let items = node.items()?;
    let items = at(items, items.is_embedded_resource(), &format!("{name}.@idx"))?;
    let identity = match node.list_type() {
        Some(ListType::Set) => Identity::Set,
        Some(ListType::Map) => Identity::Keys(node.list_map_keys().map(Box::from).collect()),
        _ => Identity::Order,
    };
    let most = node.max_items().map_or((REQUEST_BYTES - 2) / (items.smallest + 1), positive);
    Some(Typed::new(Declared::list(items.declared, identity).at_most(most), 2))
}

fn map(node: &Node, values: &Node, name: &str) -> Option<Typed> {
    let values = at(values, values.is_embedded_resource(), &format!("{name}.@elem"))?;
    // The shortest key is two bytes long, with quotes, a colon and a comma.
    let most = node.max_properties().map_or((REQUEST_BYTES - 2) / (values.smallest + 6), positive);
    Some(Typed::new(Declared::map(values.declared).at_most(most), 2))
}

fn object(node: &Node, is_resource: bool, name: &str) -> Typed {
    let lacks_meta = is_resource && !declares_meta(node);
    let mut smallest = 2;
    let mut fields = Vec::new();
    let mut add = |key: &str, typed: Typed, defaulted: bool| {
        if !defaulted && node.required().any(|required| required == key) {
            smallest += key.len() as u64 + typed.smallest + 4;
        }
        fields.push((key.to_owned(), typed.declared));
    };
    for (key, property) in node.properties() {
        if lacks_meta && matches!(key, "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let inner = escape(key).map(|escaped| format!("{name}.{escaped}")).unwrap_or_default();
        if let Some(typed) = at(property, property.is_embedded_resource(), &inner) {
            add(key, typed, property.default_value().is_some());
        }
    }
    if lacks_meta {
        let string = || Typed::new(Declared::string().at_most(REQUEST_BYTES - 2), 2);
        add("apiVersion", string(), false);
        add("kind", string(), false);
        add("metadata", metadata(node, name), false);
    }
    Typed::new(Declared::object(name, fields), smallest)
}

fn declares_meta(node: &Node) -> bool {
    let is = |node: Option<&Node>, ty: Type| node.and_then(Node::ty) == Some(ty);
    let metadata = node.property("metadata");
    let of_metadata = |name: &str| metadata.and_then(|metadata| metadata.property(name));
    is(node.property("kind"), Type::String)
        && is(node.property("apiVersion"), Type::String)
        && is(metadata, Type::Object)
        && is(of_metadata("name"), Type::String)
        && is(of_metadata("generateName"), Type::String)
}

/// What is always known of the metadata of a resource, and nothing else is.
fn metadata(node: &Node, name: &str) -> Typed {
    let given = node.property("metadata");
    let field = |key: &str, most: i64| {
        let shorter = given.and_then(|given| given.property(key)?.max_length()).filter(|length| *length < most);
        (key.to_owned(), Declared::string().at_most(positive(shorter.unwrap_or(most)) * 4))
    };
    let fields = [field("name", NAME_MAX), field("generateName", GENERATED_MAX)];
    Typed::new(Declared::object(&format!("{name}.metadata"), fields), 2)
}

fn text(node: &Node) -> Typed {
    match node.format() {
        Some("byte") => {
            let most = node.max_length().map_or(REQUEST_BYTES - 2, positive);
            Typed::new(Declared::bytes().at_most(most), 2)
        }
        Some("duration") => Typed::new(Declared::duration().at_most(32), 3),
        Some("date") => Typed::new(Declared::date().at_most(12), 12),
        Some("date-time") => Typed::new(Declared::date_time().at_most(32), 21),
        _ => Typed::new(Declared::string().at_most(text_size(node)), 2),
    }
}

fn text_size(node: &Node) -> u64 {
    let choices = node.enum_values();
    match node.max_length() {
        // A character takes up to four bytes.
        Some(length) => positive(length).wrapping_mul(4),
        None if choices.is_empty() || node.is_int_or_string() => REQUEST_BYTES - 2,
        None => choices.iter().filter_map(|choice| choice.as_str()).map(|text| text.len() as u64).max().unwrap_or(0),
    }
}

fn positive(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
