//! A document of version 2 as the protobuf message `openapi.v2.Document`, which is how client-go asks for it.
//!
//! The messages are those of `gnostic-models`: maps are lists of names with values, whatever begins with `x-` goes into
//! a list of extensions, and what may be any JSON travels as its text. What no message has a field for is left out.

use serde_json::{Map, Value};

use crate::protobuf::Writer;

/// Encodes a document. Its nesting is the caller's to bound, as it is for everything that is parsed JSON.
pub fn encode(document: &Value) -> Vec<u8> {
    let mut writer = Writer::default();
    write(&mut writer, &DOCUMENT, document);
    writer.finish()
}

/// How a JSON value becomes the content of a message.
enum Message {
    /// An object by its fields, and a field for extensions.
    Fields(&'static [Field], u32),
    /// A map as a repeated field of names and values.
    Map(u32, &'static Message),
    /// A message that holds one of several fields.
    Choice(fn(&Value) -> (u32, Form)),
    /// Strings; one alone is a list of one.
    Strings,
    /// Any JSON, as text.
    Any,
}

struct Field(&'static str, u32, Form);

#[derive(Clone, Copy)]
enum Form {
    Text,
    Flag,
    Integer,
    Float,
    Texts,
    One(&'static Message),
    Many(&'static Message),
}

use Form::{Flag, Float, Integer, Many, One, Text, Texts};
use Message::{Choice, Fields};

static DOCUMENT: Message = Fields(
    &[
        Field("swagger", 1, Text),
        Field("info", 2, One(&INFO)),
        Field("host", 3, Text),
        Field("basePath", 4, Text),
        Field("schemes", 5, Texts),
        Field("consumes", 6, Texts),
        Field("produces", 7, Texts),
        Field("paths", 8, One(&PATHS)),
        Field("definitions", 9, One(&PROPERTIES)),
        Field("parameters", 10, One(&PARAMETERS)),
        Field("security", 12, Many(&SECURITY)),
        Field("securityDefinitions", 13, One(&SECURITY_DEFINITIONS)),
    ],
    16,
);

static INFO: Message = Fields(&[Field("title", 1, Text), Field("version", 2, Text), Field("description", 3, Text)], 7);

static PATHS: Message = Message::Map(2, &PATH);

static PATH: Message = Fields(
    &[
        Field("get", 2, One(&OPERATION)),
        Field("put", 3, One(&OPERATION)),
        Field("post", 4, One(&OPERATION)),
        Field("delete", 5, One(&OPERATION)),
        Field("options", 6, One(&OPERATION)),
        Field("head", 7, One(&OPERATION)),
        Field("patch", 8, One(&OPERATION)),
        Field("parameters", 9, Many(&PARAMETER_OR_REFERENCE)),
    ],
    10,
);

static OPERATION: Message = Fields(
    &[
        Field("tags", 1, Texts),
        Field("summary", 2, Text),
        Field("description", 3, Text),
        Field("operationId", 5, Text),
        Field("produces", 6, Texts),
        Field("consumes", 7, Texts),
        Field("parameters", 8, Many(&PARAMETER_OR_REFERENCE)),
        Field("responses", 9, One(&RESPONSES)),
        Field("schemes", 10, Texts),
        Field("deprecated", 11, Flag),
        Field("security", 12, Many(&SECURITY)),
    ],
    13,
);

static PARAMETERS: Message = Message::Map(1, &PARAMETER);
static PARAMETER_OR_REFERENCE: Message =
    Choice(|value| if value.get("$ref").is_some() { (2, One(&REFERENCE)) } else { (1, One(&PARAMETER)) });
static REFERENCE: Message = Fields(&[Field("$ref", 1, Text), Field("description", 2, Text)], 0);

static PARAMETER: Message = Choice(|value| match place(value) {
    "body" => (1, One(&BODY)),
    _ => (2, One(&NO_BODY)),
});

static NO_BODY: Message = Choice(|value| match place(value) {
    "header" => (1, One(&IN_PATH)),
    "formData" => (2, One(&IN_QUERY)),
    "path" => (4, One(&IN_PATH)),
    _ => (3, One(&IN_QUERY)),
});

fn place(parameter: &Value) -> &str {
    parameter.get("in").and_then(Value::as_str).unwrap_or_default()
}

static BODY: Message = Fields(
    &[
        Field("description", 1, Text),
        Field("name", 2, Text),
        Field("in", 3, Text),
        Field("required", 4, Flag),
        Field("schema", 5, One(&SCHEMA)),
    ],
    6,
);

static IN_QUERY: Message = Fields(
    &[
        Field("required", 1, Flag),
        Field("in", 2, Text),
        Field("description", 3, Text),
        Field("name", 4, Text),
        Field("type", 6, Text),
        Field("format", 7, Text),
        Field("default", 10, One(&Message::Any)),
        Field("uniqueItems", 20, Flag),
        Field("enum", 21, Many(&Message::Any)),
    ],
    23,
);

/// In a header, too.
static IN_PATH: Message = Fields(
    &[
        Field("required", 1, Flag),
        Field("in", 2, Text),
        Field("description", 3, Text),
        Field("name", 4, Text),
        Field("type", 5, Text),
        Field("format", 6, Text),
        Field("default", 9, One(&Message::Any)),
        Field("uniqueItems", 19, Flag),
        Field("enum", 20, Many(&Message::Any)),
    ],
    22,
);

static RESPONSES: Message = Message::Map(1, &RESPONSE_OR_REFERENCE);
static RESPONSE_OR_REFERENCE: Message =
    Choice(|value| if value.get("$ref").is_some() { (2, One(&REFERENCE)) } else { (1, One(&RESPONSE)) });
static RESPONSE: Message = Fields(&[Field("description", 1, Text), Field("schema", 2, One(&RESPONSE_SCHEMA))], 5);
static RESPONSE_SCHEMA: Message = Choice(|_| (1, One(&SCHEMA)));

static SECURITY: Message = Message::Map(1, &Message::Strings);
static SECURITY_DEFINITIONS: Message = Message::Map(1, &SECURITY_DEFINITION);
static SECURITY_DEFINITION: Message = Choice(|_| (2, One(&API_KEY)));
static API_KEY: Message =
    Fields(&[Field("type", 1, Text), Field("name", 2, Text), Field("in", 3, Text), Field("description", 4, Text)], 5);

static SCHEMA: Message = Fields(
    &[
        Field("$ref", 1, Text),
        Field("format", 2, Text),
        Field("title", 3, Text),
        Field("description", 4, Text),
        Field("default", 5, One(&Message::Any)),
        Field("multipleOf", 6, Float),
        Field("maximum", 7, Float),
        Field("exclusiveMaximum", 8, Flag),
        Field("minimum", 9, Float),
        Field("exclusiveMinimum", 10, Flag),
        Field("maxLength", 11, Integer),
        Field("minLength", 12, Integer),
        Field("pattern", 13, Text),
        Field("maxItems", 14, Integer),
        Field("minItems", 15, Integer),
        Field("uniqueItems", 16, Flag),
        Field("maxProperties", 17, Integer),
        Field("minProperties", 18, Integer),
        Field("required", 19, Texts),
        Field("enum", 20, Many(&Message::Any)),
        Field("additionalProperties", 21, One(&ADDITIONAL)),
        Field("type", 22, One(&Message::Strings)),
        Field("items", 23, One(&ITEMS)),
        Field("allOf", 24, Many(&SCHEMA)),
        Field("properties", 25, One(&PROPERTIES)),
        Field("discriminator", 26, Text),
        Field("readOnly", 27, Flag),
        Field("example", 30, One(&Message::Any)),
    ],
    31,
);

static PROPERTIES: Message = Message::Map(1, &SCHEMA);
static ADDITIONAL: Message = Choice(|value| if value.is_boolean() { (2, Flag) } else { (1, One(&SCHEMA)) });
static ITEMS: Message = Choice(|value| if value.is_array() { (1, Many(&SCHEMA)) } else { (1, One(&SCHEMA)) });

/// Writes the content of a message, its last field first.
fn write(writer: &mut Writer, message: &Message, value: &Value) {
    match (message, value) {
        (Fields(fields, extension), Value::Object(map)) => write_fields(writer, fields, *extension, map),
        (Message::Map(number, message), Value::Object(map)) => {
            for (name, value) in map.iter().rev() {
                named(writer, *number, message, name, value);
            }
        }
        (Choice(choose), _) => {
            let (number, form) = choose(value);
            write_field(writer, number, form, value);
        }
        (Message::Strings, Value::String(text)) => writer.bytes_field(1, text.as_bytes()),
        (Message::Strings, _) => write_field(writer, 1, Texts, value),
        (Message::Any, _) => writer.bytes_field(2, value.to_string().as_bytes()),
        (Fields(..) | Message::Map(..), _) => {}
    }
}

fn write_fields(writer: &mut Writer, fields: &[Field], extension: u32, map: &Map<String, Value>) {
    for (name, value) in map.iter().rev().filter(|(name, _)| name.starts_with("x-")) {
        named(writer, extension, &Message::Any, name, value);
    }
    for Field(name, number, form) in fields.iter().rev() {
        if let Some(value) = map.get(*name) {
            write_field(writer, *number, *form, value);
        }
    }
}

fn named(writer: &mut Writer, number: u32, message: &Message, name: &str, value: &Value) {
    let since = writer.len();
    write_field_message(writer, 2, message, value);
    writer.bytes_field(1, name.as_bytes());
    writer.close(number, since);
}

fn write_field_message(writer: &mut Writer, number: u32, message: &Message, value: &Value) {
    let since = writer.len();
    write(writer, message, value);
    writer.close(number, since);
}

fn write_field(writer: &mut Writer, number: u32, form: Form, value: &Value) {
    match (form, value) {
        (Text, Value::String(text)) => writer.bytes_field(number, text.as_bytes()),
        (Flag, Value::Bool(flag)) => writer.varint_field(number, u64::from(*flag)),
        (Integer, Value::Number(integer)) => {
            writer.varint_field(number, integer.as_i64().unwrap_or_default().cast_unsigned());
        }
        (Float, Value::Number(float)) => {
            writer.fixed64_field(number, float.as_f64().unwrap_or_default().to_bits());
        }
        (Texts, Value::Array(items)) => {
            items.iter().rev().for_each(|item| write_field(writer, number, Text, item));
        }
        (Many(message), Value::Array(items)) => {
            items.iter().rev().for_each(|item| write_field_message(writer, number, message, item));
        }
        (One(message), _) => write_field_message(writer, number, message, value),
        // Not what the message can say.
        _ => {}
    }
}
