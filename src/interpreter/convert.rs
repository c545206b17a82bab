//! Objects as tables, and back.
//!
//! A table without anything in it could be a list or a map. Tables that were made of an object remember which they were;
//! of those that a script made, empty ones are left out, as Karmada does.

use mlua::{Lua, Table};
use serde_json::{Map, Number, Value};

/// Under these names the machine keeps what lists and maps are told apart by.
const LIST: &str = "hanse.list";
const MAP: &str = "hanse.map";

/// Tables are not trees: what is in one many times is counted every time, and one may be in itself.
const DEPTH_MAX: usize = 64;
const VALUES_MAX: usize = 200_000;
const BYTES_MAX: usize = 8 << 20;

/// Whole numbers up to here are exact.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

fn mark(lua: &Lua, name: &str) -> mlua::Result<Table> {
    match lua.named_registry_value(name)? {
        mlua::Value::Table(mark) => Ok(mark),
        _ => {
            let mark = lua.create_table()?;
            lua.set_named_registry_value(name, &mark)?;
            Ok(mark)
        }
    }
}

/// What is `null` is not there.
pub(super) fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<mlua::Value> {
    let marks = (mark(lua, LIST)?, mark(lua, MAP)?);
    made(lua, value, &marks)
}

fn made(lua: &Lua, value: &Value, marks: &(Table, Table)) -> mlua::Result<mlua::Value> {
    Ok(match value {
        Value::Null => mlua::Value::Nil,
        Value::Bool(truth) => mlua::Value::Boolean(*truth),
        Value::Number(number) => mlua::Value::Number(number.as_f64().unwrap_or_default()),
        Value::String(text) => mlua::Value::String(lua.create_string(text)?),
        Value::Array(list) => {
            let table = lua.create_table_with_capacity(list.len(), 0)?;
            for (at, item) in list.iter().enumerate() {
                table.raw_set(at + 1, made(lua, item, marks)?)?;
            }
            table.set_metatable(Some(marks.0.clone()))?;
            mlua::Value::Table(table)
        }
        Value::Object(map) => {
            let table = lua.create_table_with_capacity(0, map.len())?;
            for (key, item) in map {
                table.raw_set(key.as_str(), made(lua, item, marks)?)?;
            }
            table.set_metatable(Some(marks.1.clone()))?;
            mlua::Value::Table(table)
        }
    })
}

/// Reads what a script returned, within bounds.
pub(super) struct Reader {
    list: Option<Table>,
    map: Option<Table>,
    values: usize,
    bytes: usize,
}

/// What an empty table was.
enum Empty {
    List,
    Map,
    Unknown,
}

impl Reader {
    pub(super) fn new(lua: &Lua) -> Self {
        Self { list: mark(lua, LIST).ok(), map: mark(lua, MAP).ok(), values: 0, bytes: 0 }
    }

    pub(super) fn read(&mut self, value: &mlua::Value) -> Result<Value, String> {
        // At the top, nothing is a list of nothing.
        Ok(self.inner(value, 0)?.unwrap_or_else(|| Value::Array(Vec::new())))
    }

    /// `None` for a table without anything in it that a script made.
    fn inner(&mut self, value: &mlua::Value, depth: usize) -> Result<Option<Value>, String> {
        self.values += 1;
        if depth > DEPTH_MAX || self.values > VALUES_MAX || self.bytes > BYTES_MAX {
            return Err("it returns too much, or a table that is in itself".to_owned());
        }
        Ok(Some(match value {
            mlua::Value::Nil => Value::Null,
            mlua::Value::Boolean(truth) => Value::Bool(*truth),
            mlua::Value::Integer(number) => Value::from(*number),
            mlua::Value::Number(number) => self::number(*number)?,
            mlua::Value::String(text) => Value::String(self.text(text)?),
            mlua::Value::Table(table) => return self.table(table, depth),
            other => return Err(format!("it returns a {}", other.type_name())),
        }))
    }

    fn text(&mut self, text: &mlua::String) -> Result<String, String> {
        self.bytes += text.as_bytes().len();
        text.to_str().map(|text| text.to_owned()).map_err(|_| "it returns text that is not UTF-8".to_owned())
    }

    fn table(&mut self, table: &Table, depth: usize) -> Result<Option<Value>, String> {
        let (mut list, mut map) = (Vec::new(), Map::new());
        for pair in table.pairs::<mlua::Value, mlua::Value>() {
            let (key, item) = pair.map_err(|error| error.to_string())?;
            match key {
                mlua::Value::String(key) => {
                    let key = self.text(&key)?;
                    if let Some(item) = self.inner(&item, depth + 1)? {
                        map.insert(key, item);
                    }
                }
                mlua::Value::Integer(at) => list.push((at as f64, self.item(&item, depth)?)),
                mlua::Value::Number(at) => list.push((at, self.item(&item, depth)?)),
                other => return Err(format!("it returns a table with a {} as key", other.type_name())),
            }
        }
        match (list.is_empty(), map.is_empty()) {
            (false, false) => Err("it returns a table that is both a list and a map".to_owned()),
            (false, true) => in_order(list).map(Some),
            (true, false) => Ok(Some(Value::Object(map))),
            (true, true) => Ok(match self.was(table) {
                Empty::List => Some(Value::Array(Vec::new())),
                Empty::Map => Some(Value::Object(Map::new())),
                // Not if it only seems empty because what is in it is.
                Empty::Unknown if table.is_empty() => None,
                Empty::Unknown => Some(Value::Object(Map::new())),
            }),
        }
    }

    /// Lists keep their places.
    fn item(&mut self, item: &mlua::Value, depth: usize) -> Result<Value, String> {
        Ok(self.inner(item, depth + 1)?.unwrap_or_else(|| Value::Object(Map::new())))
    }

    fn was(&self, table: &Table) -> Empty {
        match table.metatable() {
            Some(mark) if Some(&mark) == self.list.as_ref() => Empty::List,
            Some(mark) if Some(&mark) == self.map.as_ref() => Empty::Map,
            _ => Empty::Unknown,
        }
    }
}

/// Numbers have no form of their own in Lua: whole ones are whole.
fn number(number: f64) -> Result<Value, String> {
    if number.fract() == 0.0 && number.abs() <= EXACT_MAX {
        return Ok(Value::from(number as i64));
    }
    Number::from_f64(number).map(Value::Number).ok_or_else(|| "it returns a number that is none".to_owned())
}

fn in_order(mut list: Vec<(f64, Value)>) -> Result<Value, String> {
    list.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let gapless = list.iter().enumerate().all(|(at, (found, _))| *found == (at + 1) as f64);
    if !gapless {
        return Err("it returns a list with holes".to_owned());
    }
    Ok(Value::Array(list.into_iter().map(|(_, item)| item).collect()))
}
