//! Secrets: what is written as text is kept as bytes.

use crate::object::Object;
use openapi::scalar::base64;
use serde_json::{Value, json};

pub(super) fn merge_string_data(object: &mut Object) {
    let Some(Value::Object(texts)) = object.map_mut().remove("stringData") else { return };
    let data = object.map_mut().entry("data").or_insert_with(|| json!({}));
    if !data.is_object() {
        *data = json!({});
    }
    if let Value::Object(data) = data {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data.insert(key, base64::encode(text.as_bytes()).into());
        }
    }
}
