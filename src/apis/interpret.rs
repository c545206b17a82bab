//! What objects mean to a federation: how many replicas they want, what they need, how they are. What is known of their
//! kind says so, unless somebody wrote a script that says otherwise.

use super::kinds::{self, Health, Reference, Replicas};
use super::{Kind, fnv};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// What can be asked of a script, in Karmada's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    Retain,
    Replicas,
    /// Accepted and compiled, but nobody asks for it: what has several components is placed as a whole.
    Components,
    Revise,
    Reflect,
    Aggregate,
    Health,
    Dependencies,
}

impl Operation {
    pub const ALL: [Self; 8] = [
        Self::Retain,
        Self::Replicas,
        Self::Components,
        Self::Revise,
        Self::Reflect,
        Self::Aggregate,
        Self::Health,
        Self::Dependencies,
    ];

    /// Below `spec.customizations`.
    pub fn field(self) -> &'static str {
        match self {
            Self::Retain => "retention",
            Self::Replicas => "replicaResource",
            Self::Components => "componentResource",
            Self::Revise => "replicaRevision",
            Self::Reflect => "statusReflection",
            Self::Aggregate => "statusAggregation",
            Self::Health => "healthInterpretation",
            Self::Dependencies => "dependencyInterpretation",
        }
    }

    /// What the script has to define.
    pub fn function(self) -> &'static str {
        match self {
            Self::Retain => "Retain",
            Self::Replicas => "GetReplicas",
            Self::Components => "GetComponents",
            Self::Revise => "ReviseReplica",
            Self::Reflect => "ReflectStatus",
            Self::Aggregate => "AggregateStatus",
            Self::Health => "InterpretHealth",
            Self::Dependencies => "GetDependencies",
        }
    }

    /// What Karmada calls it when it complains.
    pub fn name(self) -> &'static str {
        match self {
            Self::Retain => "Retain",
            Self::Replicas => "InterpretReplica",
            Self::Components => "InterpretComponent",
            Self::Revise => "ReviseReplica",
            Self::Reflect => "InterpretStatus",
            Self::Aggregate => "AggregateStatus",
            Self::Health => "InterpretHealth",
            Self::Dependencies => "InterpretDependency",
        }
    }
}

/// Functions that somebody wrote.
pub trait Script: fmt::Debug + Send + Sync {
    /// What a function returns, or why it does not. Takes bounded time and memory, whatever it says. `null` is nothing.
    fn call(&self, function: &str, arguments: &[Value]) -> Result<Vec<Value>, String>;

    /// Equal scripts have equal ones.
    fn fingerprint(&self) -> u64;
}

/// One function for one operation.
#[derive(Clone, Debug)]
pub struct Customized {
    /// The name of whoever brought it.
    pub by: Arc<str>,
    pub operation: Operation,
    pub script: Arc<dyn Script>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{function} of ResourceInterpreterCustomization {by}: {why}")]
pub struct InterpretError {
    by: Arc<str>,
    function: &'static str,
    why: String,
}

impl Customized {
    fn call(&self, arguments: &[Value]) -> Result<Vec<Value>, InterpretError> {
        self.script.call(self.operation.function(), arguments).map_err(|why| self.wrong(why))
    }

    fn wrong(&self, why: impl Into<String>) -> InterpretError {
        InterpretError { by: self.by.clone(), function: self.operation.function(), why: why.into() }
    }

    /// An object, the only thing that is returned.
    fn object(&self, arguments: &[Value]) -> Result<Value, InterpretError> {
        match self.call(arguments)?.into_iter().next() {
            Some(Value::Object(object)) => Ok(Value::Object(object)),
            // A table without anything in it may be meant as either.
            Some(Value::Array(list)) if list.is_empty() => Ok(Value::Object(serde_json::Map::new())),
            _ => Err(self.wrong("it returns no table")),
        }
    }
}

/// Knows what objects of one kind mean. Cheap to clone; without scripts, what is built in answers.
#[derive(Clone, Debug, Default)]
pub struct Interpreter {
    scripts: Arc<[Customized]>,
}

impl Interpreter {
    /// Of several for one operation the first is asked, except for dependencies: those are asked all.
    pub fn new(scripts: impl IntoIterator<Item = Customized>) -> Self {
        Self { scripts: scripts.into_iter().collect() }
    }

    /// Asks another one where this has no script.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        if self.scripts.is_empty() || other.scripts.is_empty() {
            return if self.scripts.is_empty() { other.clone() } else { self.clone() };
        }
        Self::new(self.scripts.iter().chain(other.scripts.iter()).cloned())
    }

    pub fn is_scripted(&self) -> bool {
        !self.scripts.is_empty()
    }

    /// Whether a script is asked; otherwise it is what is known of the kind.
    pub fn scripts(&self, operation: Operation) -> bool {
        self.find(operation).is_some()
    }

    /// Differs when any script does. Nothing without scripts.
    pub fn fingerprint(&self) -> Option<u64> {
        let of = |script: &Customized| format!("{}/{:x};", script.operation.function(), script.script.fingerprint());
        let all: String = self.scripts.iter().map(of).collect();
        (!all.is_empty()).then(|| fnv::hash_64(all.as_bytes()))
    }

    fn find(&self, operation: Operation) -> Option<&Customized> {
        self.scripts.iter().find(|script| script.operation == operation)
    }

    /// `None` for what has no replicas to divide.
    pub fn replicas(&self, object: &Value) -> Result<Option<Replicas>, InterpretError> {
        let Some(script) = self.find(Operation::Replicas) else { return Ok(kinds::replicas(object)) };
        let said = script.call(std::slice::from_ref(object))?;
        let number = said.first().and_then(Value::as_i64).filter(|number| (0..=i64::from(i32::MAX)).contains(number));
        let number = number.ok_or_else(|| script.wrong("it returns no number of replicas"))?;
        let request = match said.get(1) {
            None | Some(Value::Null) => Value::Null,
            Some(Value::Object(needs)) => needs.get("resourceRequest").cloned().unwrap_or_default(),
            Some(Value::Array(needs)) if needs.is_empty() => Value::Null,
            Some(_) => return Err(script.wrong("what it returns beside the number of replicas is no table")),
        };
        Ok(Some(Replicas { number, request: kinds::requested(&request) }))
    }

    /// Sets the number of replicas.
    pub fn revise(&self, object: &mut Value, number: i64) -> Result<(), InterpretError> {
        match self.find(Operation::Revise) {
            None => kinds::revise(object, number),
            Some(script) => *object = script.object(&[object.clone(), number.into()])?,
        }
        Ok(())
    }

    /// What an object needs in the same cell, in order, each once.
    pub fn references(&self, object: &Value) -> Result<BTreeSet<Reference>, InterpretError> {
        if !self.scripts(Operation::Dependencies) {
            return Ok(kinds::references(object));
        }
        let mut found = BTreeSet::new();
        for script in self.scripts.iter().filter(|script| script.operation == Operation::Dependencies) {
            let said = script.call(std::slice::from_ref(object))?.into_iter().next();
            let Some(Value::Array(said)) = said else { return Err(script.wrong("it returns no list of tables")) };
            for one in &said {
                found.insert(reference(one).map_err(|why| script.wrong(why))?);
            }
        }
        Ok(found)
    }

    /// What is wanted in a cell, with what the cell decided about: `observed` is what is there.
    pub fn retain(&self, desired: &Value, observed: &Value) -> Result<Value, InterpretError> {
        match self.find(Operation::Retain) {
            None => Ok(desired.clone()),
            Some(script) => script.object(&[desired.clone(), observed.clone()]),
        }
    }

    /// What of an object of a cell is told as its status.
    pub fn reflect(&self, observed: &Value) -> Result<Option<Value>, InterpretError> {
        match self.find(Operation::Reflect) {
            None => Ok(observed.get("status").filter(|status| !status.is_null()).cloned()),
            Some(script) => script.object(std::slice::from_ref(observed)).map(Some),
        }
    }

    /// What cells say, as one status, if a script knows how. `items` are as in a binding's `aggregatedStatus`.
    pub fn aggregate(&self, source: &Value, items: Vec<Value>) -> Result<Option<Value>, InterpretError> {
        let Some(script) = self.find(Operation::Aggregate) else { return Ok(None) };
        let items = if items.is_empty() { Value::Null } else { Value::Array(items) };
        let mut object = script.object(&[source.clone(), items])?;
        Ok(Some(object.get_mut("status").map(Value::take).unwrap_or_default()))
    }

    /// How a copy is that was reported like that: where nobody looks, what is there is well.
    pub fn health_of(&self, kind: &Kind, reported: Health, is_there: bool) -> Health {
        let unchecked = self.find(Operation::Health).is_none() && !kinds::is_checked(kind);
        if is_there && unchecked && reported == Health::Unknown { Health::Healthy } else { reported }
    }

    /// Whether an object of a cell does what it is there for.
    pub fn health(&self, observed: &Value) -> Result<Health, InterpretError> {
        let Some(script) = self.find(Operation::Health) else { return Ok(kinds::health(observed)) };
        match script.call(std::slice::from_ref(observed))?.first() {
            Some(Value::Bool(true)) => Ok(Health::Healthy),
            Some(Value::Bool(false)) => Ok(Health::Unhealthy),
            _ => Err(script.wrong("it returns neither true nor false")),
        }
    }
}

fn reference(said: &Value) -> Result<Reference, String> {
    let word = |key| super::text(said, &[key]).unwrap_or_default().to_owned();
    let (api_version, kind, name) = (word("apiVersion"), word("kind"), word("name"));
    if api_version.is_empty() || kind.is_empty() {
        return Err("a dependency has no apiVersion or no kind".to_owned());
    }
    if name.is_empty() {
        return Err("a dependency has no name; those by labelSelector are not followed here".to_owned());
    }
    let namespace = super::text(said, &["namespace"]).map(str::to_owned);
    Ok(Reference { kind: Kind::new(api_version, kind), name, namespace })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Returns the same whatever it is asked.
    #[derive(Debug)]
    struct Says(Result<Vec<Value>, String>);

    impl Script for Says {
        fn call(&self, _: &str, _: &[Value]) -> Result<Vec<Value>, String> {
            self.0.clone()
        }

        fn fingerprint(&self) -> u64 {
            7
        }
    }

    fn saying(operation: Operation, said: Result<Vec<Value>, String>) -> Interpreter {
        Interpreter::new([Customized { by: "c".into(), operation, script: Arc::new(Says(said)) }])
    }

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 3, "template": {}}})
    }

    #[test]
    fn what_no_script_says_is_what_is_known_of_the_kind() {
        let health = saying(Operation::Health, Ok(vec![json!(true)]));
        assert_eq!(health.replicas(&deployment()).unwrap().unwrap().number, 3);
        assert_eq!(health.health(&deployment()), Ok(Health::Healthy));
        assert_eq!(Interpreter::default().health(&deployment()), Ok(Health::Unhealthy));
        assert_eq!(Interpreter::default().fingerprint(), None);
        assert!(health.fingerprint().is_some());
    }

    #[test]
    fn what_a_script_must_not_return_is_said_with_its_name() {
        let wrong = |operation, said: Value| saying(operation, Ok(vec![said]));
        let replicas = wrong(Operation::Replicas, json!("3")).replicas(&deployment()).unwrap_err();
        let expect = "GetReplicas of ResourceInterpreterCustomization c: it returns no number of replicas";
        assert_eq!(replicas.to_string(), expect);
        assert!(wrong(Operation::Replicas, json!(-1)).replicas(&deployment()).is_err());
        assert!(wrong(Operation::Health, Value::Null).health(&deployment()).is_err());
        assert!(wrong(Operation::Reflect, json!(1)).reflect(&deployment()).is_err());
        let anonymous = json!([{"apiVersion": "v1", "kind": "Secret"}]);
        assert!(wrong(Operation::Dependencies, anonymous).references(&deployment()).is_err());
        let failing = saying(Operation::Revise, Err("no".to_owned()));
        let mut object = deployment();
        assert!(failing.revise(&mut object, 5).is_err());
        assert_eq!(object, deployment(), "it stays as it was");
    }

    #[test]
    fn replicas_come_with_what_each_needs() {
        let needs = json!({"resourceRequest": {"cpu": "100m", "memory": "1Ki"}});
        let scripted = saying(Operation::Replicas, Ok(vec![json!(2), needs]));
        let replicas = scripted.replicas(&deployment()).unwrap().unwrap();
        assert_eq!(replicas.number, 2);
        assert_eq!((replicas.request["cpu"], replicas.request["memory"]), (100, 1024));
        let bare = saying(Operation::Replicas, Ok(vec![json!(2), Value::Null])).replicas(&deployment());
        assert!(bare.unwrap().unwrap().request.is_empty());
    }

    #[test]
    fn dependencies_of_all_scripts_are_needed_and_of_others_the_first_counts() {
        let secret = |name: &str| json!([{"apiVersion": "v1", "kind": "Secret", "name": name, "namespace": "n"}]);
        let own = saying(Operation::Dependencies, Ok(vec![secret("a")]));
        let both = own.or(&saying(Operation::Dependencies, Ok(vec![secret("b")])));
        let names: Vec<String> = both.references(&deployment()).unwrap().into_iter().map(|one| one.name).collect();
        assert_eq!(names, ["a", "b"]);
        let healthy = saying(Operation::Health, Ok(vec![json!(true)]));
        let both = healthy.or(&saying(Operation::Health, Ok(vec![json!(false)])));
        assert_eq!(both.health(&deployment()), Ok(Health::Healthy));
    }
}
