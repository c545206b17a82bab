//! Reads the table's text. Names stay slices of it; what is built lives as long as the program.

use std::collections::HashMap;

use super::Table;
use super::model::{
    Element, Field, Form, Keys, ListKind, Package, Patch, Resource, Scalar, Subresource, Type, TypeId, Unit,
};

const ALL_VERBS: &str = "create,delete,deletecollection,get,list,patch,update,watch";

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("line {line}: {what}")]
pub struct ReadError {
    pub line: usize,
    pub what: &'static str,
}

/// A type whose fields are known and whose lookups are not built yet.
struct Draft {
    name: &'static str,
    package: &'static Package,
    flags: &'static str,
    fields: std::ops::Range<usize>,
}

#[derive(Default)]
struct Reader {
    line: usize,
    package: Option<&'static Package>,
    scalars: HashMap<(&'static str, &'static str), &'static Scalar>,
    ids: HashMap<(&'static str, &'static str), TypeId>,
    drafts: Vec<Draft>,
    fields: Vec<Field>,
    resources: Vec<Resource>,
    subresources: Vec<Subresource>,
    also: Vec<(&'static str, &'static str, TypeId)>,
}

impl Table {
    pub(super) fn read(text: &'static str) -> Result<Table, ReadError> {
        let mut reader = Reader::default();
        reader.each_line(text, Reader::declare)?;
        reader.package = None;
        reader.drafts.clear();
        reader.each_line(text, Reader::define)?;
        reader.finish()
    }
}

impl Reader {
    fn each_line(
        &mut self,
        text: &'static str,
        mut read: impl FnMut(&mut Self, &'static str) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        for (at, line) in text.lines().enumerate() {
            self.line = at + 1;
            if !line.is_empty() && !line.starts_with('#') {
                read(self, line)?;
            }
        }
        Ok(())
    }

    fn error(&self, what: &'static str) -> ReadError {
        ReadError { line: self.line, what }
    }

    fn need<T>(&self, value: Option<T>, what: &'static str) -> Result<T, ReadError> {
        value.ok_or_else(|| self.error(what))
    }

    fn package(&self) -> Result<&'static Package, ReadError> {
        self.need(self.package, "no package yet")
    }

    fn open_package(&mut self, rest: &'static str) -> Result<(), ReadError> {
        let mut words = rest.split(' ');
        let (Some(alias), Some(model), Some(api_version)) = (words.next(), words.next(), words.next()) else {
            return Err(self.error("a package has an alias, a model prefix and an apiVersion"));
        };
        self.package = Some(Box::leak(Box::new(Package { alias, model, api_version })));
        Ok(())
    }

    /// First reading: the names that fields may refer to.
    fn declare(&mut self, line: &'static str) -> Result<(), ReadError> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "package" => self.open_package(rest)?,
            "scalar" => {
                let mut words = rest.splitn(3, ' ');
                let name = self.need(words.next(), "a scalar has a name")?;
                let base = self.need(words.next(), "a scalar has a base")?;
                let element = self.need(plain(base), "no such base of a scalar")?;
                let package = self.package()?;
                let scalar = Box::leak(Box::new(Scalar { name, package, element, values: words.next() }));
                self.scalars.insert((package.alias, name), scalar);
            }
            "type" => {
                let name = rest.split(' ').next().unwrap_or(rest);
                let id = u16::try_from(self.ids.len()).map_err(|_| self.error("too many types"))?;
                self.ids.insert((self.package()?.alias, name), TypeId(id));
            }
            _ => {}
        }
        Ok(())
    }

    /// Second reading: everything that refers to names.
    fn define(&mut self, line: &'static str) -> Result<(), ReadError> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "package" => self.open_package(rest),
            "scalar" => Ok(()),
            "also" => {
                let (kind, name) = self.need(rest.split_once(' '), "a kind and its type are needed")?;
                let id = self.need(self.type_id(name)?, "no such type")?;
                self.also.push((self.package()?.api_version, kind, id));
                Ok(())
            }
            "resource" => self.resource(rest),
            "type" => {
                let (name, flags) = rest.split_once(' ').unwrap_or((rest, ""));
                let at = self.fields.len();
                self.drafts.push(Draft { name, package: self.package()?, flags, fields: at..at });
                Ok(())
            }
            "" if rest.starts_with("/ ") => self.subresource(&rest[2..]),
            "" => self.field(rest),
            _ => Err(self.error("no such line")),
        }
    }

    fn resource(&mut self, rest: &'static str) -> Result<(), ReadError> {
        let mut words = rest.split(' ');
        let (Some(plural), Some(kind), Some(scope)) = (words.next(), words.next(), words.next()) else {
            return Err(self.error("a resource has a plural, a kind and a scope"));
        };
        let mut made = Resource {
            package: self.package()?,
            plural,
            kind,
            namespaced: scope == "namespaced",
            verbs: ALL_VERBS,
            short_names: "",
            categories: "",
            subresources: Box::default(),
        };
        for word in words {
            match word.split_once('=') {
                Some(("verbs", value)) => made.verbs = value,
                Some(("short", value)) => made.short_names = value,
                Some(("categories", value)) => made.categories = value,
                _ => return Err(self.error("no such property of a resource")),
            }
        }
        self.close_resource();
        self.resources.push(made);
        Ok(())
    }

    /// The subresources read so far belong to the last resource.
    fn close_resource(&mut self) {
        if let Some(last) = self.resources.last_mut()
            && !self.subresources.is_empty()
        {
            last.subresources = std::mem::take(&mut self.subresources).into();
        }
    }

    fn subresource(&mut self, rest: &'static str) -> Result<(), ReadError> {
        let mut words = rest.split(' ');
        let (Some(name), Some(verbs)) = (words.next(), words.next()) else {
            return Err(self.error("a subresource has a name and verbs"));
        };
        let kind = words.next().and_then(|word| word.rsplit_once('.'));
        self.subresources.push(Subresource { name, verbs, kind });
        Ok(())
    }

    fn field(&mut self, rest: &'static str) -> Result<(), ReadError> {
        let mut words = rest.split(' ');
        let (Some(name), Some(number), Some(word)) = (words.next(), words.next(), words.next()) else {
            return Err(self.error("a field has a name, a number and a type"));
        };
        let (word, form) = form(word);
        let (element, scalar) = self.element(word)?;
        let mut made = Field {
            name,
            number: number.parse().map_err(|_| self.error("no number"))?,
            form,
            element,
            scalar,
            omitempty: false,
            omitzero: false,
            required: false,
            list: None,
            unit: None,
            patch: Patch::default(),
            default: None,
            spelling: None,
        };
        let mut optional = false;
        for flag in words {
            match flag {
                "optional" => optional = true,
                _ => self.need(made.set(flag), "no such flag")?,
            }
        }
        made.required |= !made.omitempty && !optional;
        self.fields.push(made);
        let at = self.fields.len();
        match self.drafts.last_mut() {
            Some(draft) => draft.fields.end = at,
            None => return Err(self.error("a field without a type")),
        }
        Ok(())
    }

    fn element(&self, word: &'static str) -> Result<(Element, Option<&'static Scalar>), ReadError> {
        if let Some(element) = plain(word) {
            return Ok((element, None));
        }
        if let Some(id) = self.type_id(word)? {
            return Ok((Element::Struct(id), None));
        }
        let scalar = *self.need(self.scalars.get(&self.qualify(word)?), "no such type")?;
        Ok((scalar.element, Some(scalar)))
    }

    fn qualify(&self, word: &'static str) -> Result<(&'static str, &'static str), ReadError> {
        Ok(word.rsplit_once('.').unwrap_or((self.package()?.alias, word)))
    }

    fn type_id(&self, word: &'static str) -> Result<Option<TypeId>, ReadError> {
        Ok(self.ids.get(&self.qualify(word)?).copied())
    }

    fn finish(mut self) -> Result<Table, ReadError> {
        self.close_resource();
        let fields: &'static [Field] = self.fields.leak();
        let drafts = self.drafts;
        let types: Vec<Type> = drafts.iter().map(|draft| draft.build(&drafts, fields)).collect();
        let mut kinds = self.also;
        for (at, made) in types.iter().enumerate().filter(|(_, made)| made.is_kind) {
            kinds.push((made.package.api_version, made.name, TypeId(u16::try_from(at).unwrap_or(u16::MAX))));
        }
        kinds.sort_unstable_by_key(|(at, name, _)| (*at, *name));
        let schema = self.ids.get(&("apiextensions.v1", "JSONSchemaProps")).copied();
        Ok(Table {
            types: types.leak(),
            resources: self.resources.into(),
            kinds: kinds.into(),
            schema: schema.ok_or(ReadError { line: self.line, what: "no type JSONSchemaProps" })?,
        })
    }
}

impl Draft {
    fn build(&self, all: &[Draft], fields: &'static [Field]) -> Type {
        let own = &fields[self.fields.clone()];
        let mut by_name = Vec::new();
        flatten(own, all, fields, &mut by_name);
        let always_printed = by_name.iter().copied().filter(|field| field.prints_zero()).collect();
        by_name.sort_unstable_by_key(|field| field.name);
        let numbers = own.iter().map(|field| field.number as usize + 1).max().unwrap_or(0);
        let mut by_number = vec![None; numbers];
        for field in own.iter().filter(|field| field.number > 0) {
            by_number[field.number as usize] = Some(field);
        }
        let has = |flag| self.flags.split(' ').any(|word| word == flag);
        Type {
            name: self.name,
            package: self.package,
            is_kind: has("kind"),
            is_message: has("message"),
            is_atomic: has("atomic"),
            fields: own,
            by_name: by_name.into(),
            by_number: by_number.into(),
            always_printed,
            zero_values: zero_values(own, all, fields),
        }
    }
}

/// Structs hold each other by value here, which cannot go round in circles.
fn zero_values(own: &'static [Field], all: &[Draft], fields: &'static [Field]) -> usize {
    let of = |field: &Field| match field.element {
        Element::Struct(id) if field.form == Form::One => {
            let inner = zero_values(&fields[all[usize::from(id.0)].fields.clone()], all, fields);
            inner + usize::from(!field.is_inline())
        }
        _ => usize::from(field.prints_zero()),
    };
    own.iter().map(of).sum()
}

/// The fields of a JSON object: inlined structs give up theirs.
fn flatten(own: &'static [Field], all: &[Draft], fields: &'static [Field], into: &mut Vec<&'static Field>) {
    for field in own {
        match field.element {
            Element::Struct(id) if field.is_inline() => {
                flatten(&fields[all[usize::from(id.0)].fields.clone()], all, fields, into);
            }
            _ => into.push(field),
        }
    }
}

/// Takes the mark of its form off a type.
fn form(word: &'static str) -> (&'static str, Form) {
    for (mark, form) in [("*", Form::Pointer), ("[]", Form::List), ("{}", Form::Map)] {
        if let Some(rest) = word.strip_suffix(mark) {
            return (rest, form);
        }
    }
    (word, Form::One)
}

fn plain(word: &str) -> Option<Element> {
    Some(match word {
        "string" => Element::String,
        "bool" => Element::Bool,
        "int32" => Element::Int32,
        "int64" => Element::Int64,
        "float64" => Element::Float64,
        "bytes" => Element::Bytes,
        "Time" => Element::Time,
        "MicroTime" => Element::MicroTime,
        "Quantity" => Element::Quantity,
        "IntOrString" => Element::IntOrString,
        "RawExtension" => Element::RawExtension,
        "FieldsV1" => Element::FieldsV1,
        "JSON" => Element::Json,
        "SchemaOrArray" => Element::SchemaOrArray,
        "SchemaOrBool" => Element::SchemaOrBool,
        "SchemaOrStrings" => Element::SchemaOrStrings,
        "Strings" => Element::Strings,
        "Any" => Element::Any,
        _ => return None,
    })
}

impl Field {
    /// Sets what a flag of the table says; `None` for one it does not know.
    fn set(&mut self, flag: &'static str) -> Option<()> {
        match flag.split_once('=').unwrap_or((flag, "")) {
            ("omitempty", _) => self.omitempty = true,
            ("omitzero", _) => self.omitzero = true,
            ("required", _) => self.required = true,
            ("list", kind) => self.list = Some(list_kind(kind)?),
            ("unit", "atomic") => self.unit = Some(Unit::Atomic),
            ("unit", "granular") => self.unit = Some(Unit::Granular),
            ("patch", strategies) => {
                for strategy in strategies.split(',') {
                    match strategy {
                        "merge" => self.patch.merge = true,
                        "retainKeys" => self.patch.retain_keys = true,
                        "replace" => self.patch.replace = true,
                        _ => return None,
                    }
                }
            }
            ("key", name) => self.patch.key = Some(name),
            ("default", value) => self.default = Some(value),
            ("as", spelling) => self.spelling = Some(spelling),
            _ => return None,
        }
        Some(())
    }
}

fn list_kind(text: &'static str) -> Option<ListKind> {
    match text {
        "atomic" => Some(ListKind::Atomic),
        "set" => Some(ListKind::Set),
        _ => Some(ListKind::Map { keys: Keys(text.strip_prefix("map(")?.strip_suffix(')')?) }),
    }
}
