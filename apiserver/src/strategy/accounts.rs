//! Service accounts: secrets are referred to by name, and by nothing else.

use crate::object::Object;
use serde_json::{Value, json};

pub(super) fn keep_names_of_secrets(account: &mut Object) {
    if let Some(Value::Array(secrets)) = account.map_mut().get_mut("secrets") {
        for secret in secrets {
            *secret = json!({ "name": secret["name"] });
        }
    }
}
