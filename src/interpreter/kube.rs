//! `require("kube")`: what Karmada offers scripts for reading pods and quantities.

use super::convert::{self, Reader};
use crate::apis;
use crate::apis::{kinds, quantity};
use mlua::{Error, Lua, MultiValue, Table, Variadic};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) fn library(lua: &Lua) -> mlua::Result<Table> {
    let library = lua.create_table()?;
    library.set("resourceAdd", lua.create_function(resource_add)?)?;
    library.set("getResourceQuantity", lua.create_function(resource_quantity)?)?;
    library.set("accuratePodRequirements", lua.create_function(pod_requirements)?)?;
    library.set("getPodDependencies", lua.create_function(pod_dependencies)?)?;
    Ok(library)
}

fn wrong(why: impl Into<String>) -> Error {
    Error::runtime(why.into())
}

/// What is not there is nothing.
fn quantity_of(value: &mlua::Value) -> mlua::Result<String> {
    match value {
        mlua::Value::Nil => Ok("0".to_owned()),
        mlua::Value::String(text) => Ok(text.to_str()?.to_owned()),
        other => Err(wrong(format!("a quantity is a string, not a {}", other.type_name()))),
    }
}

fn resource_add(_: &Lua, quantities: Variadic<mlua::Value>) -> mlua::Result<String> {
    let texts = quantities.iter().map(quantity_of).collect::<mlua::Result<Vec<_>>>()?;
    quantity::sum(texts.iter().map(String::as_str)).ok_or_else(|| wrong(format!("no quantities: {}", texts.join(", "))))
}

fn resource_quantity(_: &Lua, value: mlua::Value) -> mlua::Result<f64> {
    let text = quantity_of(&value)?;
    let number = quantity::approximate(&text).ok_or_else(|| wrong(format!("{text:?} is no quantity")))?;
    if number < 0.0 { Err(wrong(format!("{text} is less than nothing"))) } else { Ok(number) }
}

fn template(lua: &Lua, value: Option<&mlua::Value>) -> mlua::Result<Value> {
    match value {
        Some(value @ mlua::Value::Table(_)) => Reader::new(lua).read(value).map_err(wrong),
        _ => Err(wrong("a template of pods is a table")),
    }
}

/// What one pod needs; nothing if it needs nothing.
fn pod_requirements(lua: &Lua, arguments: MultiValue) -> mlua::Result<mlua::Value> {
    let [given] = arguments.as_slices().0 else { return Err(wrong("accuratePodRequirements takes one argument")) };
    let template = template(lua, Some(given))?;
    let mut needs = Map::new();
    let claim = node_claim(&template);
    if !claim.is_empty() {
        needs.insert("nodeClaim".to_owned(), claim.into());
    }
    let request = printed(&kinds::request(&template));
    if !request.is_empty() {
        needs.insert("resourceRequest".to_owned(), request.into());
    }
    if needs.is_empty() { Ok(mlua::Value::Nil) } else { convert::to_lua(lua, &Value::Object(needs)) }
}

fn node_claim(template: &Value) -> Map<String, Value> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let places: [(&str, &[&str]); 3] = [
        ("nodeSelector", &["spec", "nodeSelector"]),
        ("tolerations", &["spec", "tolerations"]),
        ("hardNodeAffinity", &["spec", "affinity", "nodeAffinity", REQUIRED]),
    ];
    let said = |(name, place): (&str, &[&str])| Some((name.to_owned(), apis::at(template, place)?.clone()));
    let empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    places.into_iter().filter_map(said).filter(|(_, value)| !empty(value)).collect()
}

/// As Go prints them: what is counted in bytes is binary.
fn printed(request: &BTreeMap<String, i64>) -> Map<String, Value> {
    let print = |(name, amount): (&String, &i64)| {
        let text = match name.as_str() {
            "cpu" => quantity::sum([format!("{amount}m").as_str()])?,
            "memory" | "ephemeral-storage" => quantity::bytes(i128::from(*amount))?,
            _ => quantity::sum([amount.to_string().as_str()])?,
        };
        Some((name.clone(), Value::String(text)))
    };
    request.iter().filter_map(print).collect()
}

/// What the pods of a template refer to, in a namespace.
fn pod_dependencies(lua: &Lua, arguments: MultiValue) -> mlua::Result<mlua::Value> {
    let [given, namespace] = arguments.as_slices().0 else {
        return Err(wrong("getPodDependencies takes two arguments"));
    };
    let template = template(lua, Some(given))?;
    let namespace = match namespace {
        mlua::Value::Nil => "default".to_owned(),
        mlua::Value::String(text) => text.to_str()?.to_owned(),
        other => return Err(wrong(format!("a namespace is a string, not a {}", other.type_name()))),
    };
    let found: Vec<Value> = kinds::of_template(&template).iter().map(|one| one.to_value(&namespace)).collect();
    convert::to_lua(lua, &json!(found))
}
