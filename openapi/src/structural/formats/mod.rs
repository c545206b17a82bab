//! The formats of texts that are checked, each as Go's `strfmt` reads it.

mod address;
mod code;
mod mail;
mod moment;
pub(crate) mod uri;

use super::node::{Node, Type};
use super::validate::Mode;
use crate::names;

/// The format that is checked here. Formats that nobody knows are ignored, but not in defaults, which Kubernetes checks
/// by the schema as it is written.
pub(super) fn checked(node: &Node, mode: Mode) -> Option<&str> {
    let format = node.format()?;
    let ty = node.ty().filter(|_| !node.is_int_or_string()).map_or("", Type::name);
    (mode == Mode::Default || is_known(ty, format)).then_some(format)
}

/// Whether values of a type are held to a format; the type is empty where there is none.
pub fn is_known(ty: &str, format: &str) -> bool {
    match ty {
        "" | "string" => is_of_texts(format),
        "integer" => matches!(format, "int32" | "int64"),
        "number" => matches!(format, "float" | "double"),
        _ => false,
    }
}

type Check = fn(&str) -> bool;

fn of(format: &str) -> Option<Check> {
    Some(match format.replace('-', "").as_str() {
        "bsonobjectid" => code::is_object_id,
        "uri" => uri::is_request_uri,
        "email" => mail::is_address,
        "hostname" => address::is_host_name,
        "ipv4" => address::is_ipv4,
        "ipv6" => address::is_ipv6,
        "cidr" => address::is_cidr,
        "mac" => address::is_mac,
        "uuid" => |text| code::is_uuid(text, None, false),
        "uuid3" => |text| code::is_uuid(text, Some('3'), false),
        "uuid4" => |text| code::is_uuid(text, Some('4'), true),
        "uuid5" => |text| code::is_uuid(text, Some('5'), true),
        "isbn" => |text| code::is_isbn10(text) || code::is_isbn13(text),
        "isbn10" => code::is_isbn10,
        "isbn13" => code::is_isbn13,
        "creditcard" => code::is_credit_card,
        "ssn" => code::is_social_security_number,
        "hexcolor" => code::is_hex_color,
        "rgbcolor" => code::is_rgb_color,
        "byte" => code::is_base64,
        "password" => |_| true,
        "date" => moment::is_date,
        "duration" => moment::is_duration,
        "datetime" => moment::is_date_time,
        "k8sshortname" => |text| names::dns1123_label(text).is_empty(),
        "k8slongname" => |text| names::dns1123_subdomain(text).is_empty(),
        _ => return None,
    })
}

/// Whether the format is one that texts are held to.
pub(super) fn is_of_texts(format: &str) -> bool {
    of(format).is_some()
}

pub(super) fn is_valid(format: &str, text: &str) -> bool {
    of(format).is_none_or(|check| check(text))
}
