//! URLs: `url('https://example.com:80/a?b=c').getHost()`.

use super::costs::Costs;
use super::uri::{self, Url};
use super::{opaque, text};
use crate::cost::{Cost, TRAVERSAL};
use crate::error::Error;
use crate::library::{Library, Overload};
use crate::types::Type;
use crate::value::data::Map;
use crate::value::{Opaque, Value};

impl Opaque for Url {
    fn ty(&self) -> Type {
        ty()
    }

    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        Ok(other.downcast_ref::<Url>().is_some_and(|other| other.to_string() == self.to_string()))
    }

    fn to_json(&self) -> Option<serde_json::Value> {
        Some(self.to_string().into())
    }
}

fn ty() -> Type {
    Type::object("kubernetes.URL")
}

pub(super) fn library() -> Library {
    let part = |id, run| [Overload::member(id, [ty()], Type::String, run).nominal()];
    let query = Type::map(Type::String, Type::list(Type::String));
    Library::new()
        .equality(ty(), |call| {
            let longest = call.argument(1)?.computed_size().map_or(1, |size| size.max);
            Some(Cost { min: 1, max: longest }.at(TRAVERSAL).into())
        })
        .function("url", [Overload::global("string_to_url", [Type::String], ty(), parse).copying()])
        .function(
            "isURL",
            [Overload::global("is_url_string", [Type::String], Type::Bool, |a| {
                Ok(uri::parse_request(text(a, 0)?).is_ok().into())
            })],
        )
        .function("getScheme", part("url_get_scheme", |a| Ok(of(a)?.scheme.clone().into())))
        .function("getHost", part("url_get_host", |a| Ok(of(a)?.host.clone().into())))
        .function("getHostname", part("url_get_hostname", |a| Ok(of(a)?.host_and_port().0.to_owned().into())))
        .function("getPort", part("url_get_port", |a| Ok(of(a)?.host_and_port().1.to_owned().into())))
        .function("getEscapedPath", part("url_get_escaped_path", |a| Ok(of(a)?.escaped_path().into())))
        .function("getQuery", [Overload::member("url_get_query", [ty()], query, parameters).nominal()])
}

/// It must do for a request, but a fragment is told from the rest.
fn parse<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let given = text(arguments, 0)?;
    let parsed = uri::parse_request(given).and_then(|_| uri::parse(given));
    let parsed = parsed.map_err(|why| Error::new(format!("URL parse error during conversion from string: {why}")))?;
    Ok(Value::opaque(parsed))
}

fn of<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Url, Error> {
    opaque(arguments, 0)
}

fn parameters<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let texts = |values: Vec<String>| values.into_iter().map(Value::from).collect::<Vec<_>>();
    let entries = of(arguments)?.parameters().into_iter().map(|(key, values)| (key.into(), texts(values).into()));
    Ok(Value::Map(Map::from(entries.collect::<Vec<_>>())))
}
