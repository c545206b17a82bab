//! Which requests a policy or a binding is about.

use crate::error::ApiError;
use crate::hooks::{Ask, Rule, Selector, Version, meant_version, selects_namespace, selects_object};
use crate::object::Object;
use crate::selector::LabelSelector;
use serde_json::Value;

/// `matchConstraints` of a policy, `matchResources` of a binding.
#[derive(Debug)]
pub(super) struct Constraints {
    rules: Vec<Rule>,
    excluded: Vec<Rule>,
    /// Rules that name another version of the resource mean this one too.
    equivalent: bool,
    namespaces: Selector,
    objects: Selector,
}

impl Constraints {
    pub(super) fn read(tree: &Value) -> Result<Self, String> {
        let selector = |field: &str, of: &str| match tree.get(field) {
            None | Some(Value::Null) => {
                Err(format!("a nil {of} selector was passed, please ensure selectors are initialized properly"))
            }
            Some(given) => Ok(LabelSelector::from_object(given)),
        };
        let rules = |field: &str| tree.get(field).and_then(Value::as_array).into_iter().flatten().map(Rule::read);
        Ok(Self {
            namespaces: selector("namespaceSelector", "namespace")?,
            objects: selector("objectSelector", "object")?,
            rules: rules("resourceRules").collect(),
            excluded: rules("excludeResourceRules").collect(),
            equivalent: tree.get("matchPolicy").and_then(Value::as_str) == Some("Equivalent"),
        })
    }

    /// The version of the resource that is meant; nothing if the request is not. Without rules every request is.
    ///
    /// What goes wrong with a selector matters only where the rules mean the request.
    pub(super) fn meant(&self, ask: &Ask<'_>, object: Option<&Object>) -> Result<Option<Version>, ApiError> {
        let namespaces = selects_namespace(&self.namespaces, ask, object);
        if let Ok(false) = namespaces {
            return Ok(None);
        }
        let objects = selects_object(&self.objects, ask, object);
        if let Ok(false) = objects {
            return Ok(None);
        }
        if meant_version(&self.excluded, self.equivalent, ask).is_some() {
            return Ok(None);
        }
        let meant = if self.rules.is_empty() { Some(None) } else { meant_version(&self.rules, self.equivalent, ask) };
        match meant {
            None => Ok(None),
            meant => namespaces.and(objects).map(|_| meant),
        }
    }
}
