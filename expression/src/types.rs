//! Types as the checker sees them, and declarations: a type with the shape and the limits of the data behind it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The type of an expression. Two objects are one type when their names agree.
#[derive(Clone, Debug)]
pub enum Type {
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Duration,
    Timestamp,
    List(Arc<Type>),
    Map(Arc<(Type, Type)>),
    Object(Arc<Object>),
    Optional(Arc<Type>),
    /// The type of a type: of `int` itself, and of `type(x)`.
    Type(Option<Arc<Type>>),
    /// A type known by its name alone, with parameters.
    Opaque(Arc<(Arc<str>, Vec<Type>)>),
    /// A type parameter of an overload, and a type that the checker has yet to find out.
    Param(Arc<str>),
    /// What an expression that has already been complained about has.
    Error,
}

impl Type {
    pub fn list(items: Type) -> Type {
        Type::List(Arc::new(items))
    }

    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new((key, value)))
    }

    pub fn optional(inner: Type) -> Type {
        Type::Optional(Arc::new(inner))
    }

    pub fn of(inner: Type) -> Type {
        Type::Type(Some(Arc::new(inner)))
    }

    pub fn opaque(name: &str) -> Type {
        Type::Opaque(Arc::new((name.into(), Vec::new())))
    }

    /// An object type of which only the name is known: a field of it cannot be selected.
    pub fn object(name: &str) -> Type {
        Type::Object(Arc::new(Object { name: name.into(), fields: None, is_open: false }))
    }

    /// An object type with whatever fields an expression gives it.
    pub fn open(name: &str) -> Type {
        Type::Object(Arc::new(Object { name: name.into(), fields: None, is_open: true }))
    }

    pub fn param(name: &str) -> Type {
        Type::Param(name.into())
    }

    /// The name without parameters, which is what values of this type are compared by.
    pub fn name(&self) -> &str {
        match self {
            Type::Dyn => "dyn",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Duration => "google.protobuf.Duration",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::List(_) => "list",
            Type::Map(_) => "map",
            Type::Object(object) => &object.name,
            Type::Optional(_) => "optional_type",
            Type::Type(_) => "type",
            Type::Opaque(opaque) => &opaque.0,
            Type::Param(name) => name,
            Type::Error => "!error!",
        }
    }

    /// Whether both are the same, parameters included.
    pub fn is_exactly(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::List(one), Type::List(two)) | (Type::Optional(one), Type::Optional(two)) => one.is_exactly(two),
            (Type::Map(one), Type::Map(two)) => one.0.is_exactly(&two.0) && one.1.is_exactly(&two.1),
            (Type::Type(Some(one)), Type::Type(Some(two))) => one.is_exactly(two),
            (Type::Object(one), Type::Object(two)) => one.name == two.name,
            (Type::Opaque(one), Type::Opaque(two)) => {
                let parameters = one.1.len() == two.1.len() && one.1.iter().zip(&two.1).all(|(a, b)| a.is_exactly(b));
                one.0 == two.0 && parameters
            }
            (Type::Param(one), Type::Param(two)) => one == two,
            _ => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && !matches!(
                        (self, other),
                        (Type::Type(None), Type::Type(Some(_))) | (Type::Type(Some(_)), Type::Type(None))
                    )
            }
        }
    }
}

impl PartialEq for Type {
    fn eq(&self, other: &Type) -> bool {
        self.is_exactly(other)
    }
}

impl Eq for Type {}

/// As compile errors spell it: `map(string, list(int))`.
impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Null => out.write_str("null"),
            Type::Duration => out.write_str("duration"),
            Type::Timestamp => out.write_str("timestamp"),
            Type::List(items) => write!(out, "list({items})"),
            Type::Map(entry) => write!(out, "map({}, {})", entry.0, entry.1),
            Type::Optional(inner) => write!(out, "optional_type({inner})"),
            Type::Type(Some(inner)) => write!(out, "type({inner})"),
            Type::Opaque(opaque) if !opaque.1.is_empty() => {
                let parameters: Vec<String> = opaque.1.iter().map(Type::to_string).collect();
                write!(out, "{}({})", opaque.0, parameters.join(", "))
            }
            other => out.write_str(other.name()),
        }
    }
}

/// An object type: a name, and the fields by the identifiers that expressions use for them.
#[derive(Debug)]
pub struct Object {
    pub name: Arc<str>,
    /// `None`: nothing is known of them.
    pub fields: Option<BTreeMap<Box<str>, Field>>,
    /// Any field may be there, and be anything.
    pub is_open: bool,
}

impl Object {
    /// A field by its identifier; one that is a reserved word may be named without underscores.
    pub fn field(&self, identifier: &str) -> Option<&Field> {
        let fields = self.fields.as_ref()?;
        let reserved = || crate::escape::is_word(identifier).then(|| fields.get(&*format!("__{identifier}__")));
        fields.get(identifier).or_else(|| reserved().flatten())
    }
}

#[derive(Debug)]
pub struct Field {
    /// The key in the document, of which the identifier may be an escaped form.
    pub key: Box<str>,
    pub declared: Declared,
}

/// A variable, field, element or entry: its type, how it is read out of a document, and how large it may be.
#[derive(Clone, Debug)]
pub struct Declared {
    pub ty: Type,
    pub form: Form,
    /// The most characters, bytes, items or entries that the value can have. For the estimate of costs only.
    pub size: Option<u64>,
    /// Whether a null may stand here; otherwise reading one is an error.
    pub nullable: bool,
}

/// How a JSON value is read.
#[derive(Clone, Debug)]
pub enum Form {
    /// As it is: numbers are int or double by how they are written.
    Any,
    Bool,
    Int,
    Double,
    String,
    IntOrString,
    /// A string in base64.
    Bytes,
    /// A string such as `1h30m`.
    Duration,
    /// A string such as `2006-01-02`.
    Date,
    /// A string such as `2006-01-02T15:04:05Z`.
    DateTime,
    List(Arc<Items>),
    /// Keys are as they are in the document.
    Map(Arc<Declared>),
    /// Only the declared fields can be seen.
    Object(Arc<Object>),
    /// Something that may be absent: only a variable is declared so.
    Optional(Arc<Declared>),
    /// Not read from a document: the caller gives a value.
    Given,
}

#[derive(Clone, Debug)]
pub struct Items {
    pub declared: Declared,
    pub identity: Identity,
}

/// What makes two lists equal, and what adding one to the other does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Elements in order.
    Order,
    /// A set: order does not matter, and adding is a union.
    Set,
    /// Elements are told apart by these keys; adding replaces those with equal keys.
    Keys(Vec<Box<str>>),
}

pub(crate) static ANY: Declared = Declared { ty: Type::Dyn, form: Form::Any, size: None, nullable: true };

impl Declared {
    pub fn any() -> Declared {
        ANY.clone()
    }

    pub fn bool() -> Declared {
        Declared::plain(Type::Bool, Form::Bool)
    }

    pub fn int() -> Declared {
        Declared::plain(Type::Int, Form::Int)
    }

    pub fn double() -> Declared {
        Declared::plain(Type::Double, Form::Double)
    }

    pub fn string() -> Declared {
        Declared::plain(Type::String, Form::String)
    }

    pub fn bytes() -> Declared {
        Declared::plain(Type::Bytes, Form::Bytes)
    }

    pub fn duration() -> Declared {
        Declared::plain(Type::Duration, Form::Duration)
    }

    pub fn date() -> Declared {
        Declared::plain(Type::Timestamp, Form::Date)
    }

    pub fn date_time() -> Declared {
        Declared::plain(Type::Timestamp, Form::DateTime)
    }

    pub fn int_or_string() -> Declared {
        Declared::plain(Type::Dyn, Form::IntOrString)
    }

    pub fn list(items: Declared, identity: Identity) -> Declared {
        Declared::plain(Type::list(items.ty.clone()), Form::List(Arc::new(Items { declared: items, identity })))
    }

    /// A map with string keys.
    pub fn map(values: Declared) -> Declared {
        Declared::plain(Type::map(Type::String, values.ty.clone()), Form::Map(Arc::new(values)))
    }

    /// An object with the given keys. Those that cannot be written as an identifier, even escaped, are left out.
    pub fn object(name: &str, fields: impl IntoIterator<Item = (String, Declared)>) -> Declared {
        let fields = fields.into_iter().filter_map(|(key, declared)| {
            let identifier = crate::escape::escape(&key)?;
            Some((identifier.into_boxed_str(), Field { key: key.into_boxed_str(), declared }))
        });
        let object = Arc::new(Object { name: name.into(), fields: Some(fields.collect()), is_open: false });
        Declared::plain(Type::Object(object.clone()), Form::Object(object))
    }

    /// A variable that may be absent.
    pub fn optional(inner: Declared) -> Declared {
        Declared::plain(Type::optional(inner.ty.clone()), Form::Optional(Arc::new(inner)))
    }

    /// A variable whose value the caller makes.
    pub fn given(ty: Type) -> Declared {
        Declared::plain(ty, Form::Given)
    }

    fn plain(ty: Type, form: Form) -> Declared {
        Declared { ty, form, size: None, nullable: false }
    }

    /// At most so many characters, bytes, items or entries.
    pub fn at_most(mut self, size: u64) -> Declared {
        self.size = Some(size);
        self
    }

    pub fn or_null(mut self) -> Declared {
        self.nullable = true;
        self
    }
}
