//! Names of storage drivers.

use super::names;
use super::tree::{Errors, Node};

const DRIVER_BYTES_MAX: usize = 63;

pub(super) fn driver_name(errors: &mut Errors, at: &Node) {
    if at.is_empty() {
        return errors.required(at, "");
    }
    if at.len() > DRIVER_BYTES_MAX {
        errors.too_long(at, DRIVER_BYTES_MAX);
    }
    errors.refuse(at, names::dns1123_subdomain(&at.text().to_lowercase()));
}
