//! The language as callers use it: what an expression says of data, one line a rule.

#![cfg(test)]

use expression::{
    Budget, CompileError, Declared, Environment, Error, Fields, Identity, Input, Library, Macro, Type, Value,
};
use serde_json::{Value as Json, json};

fn environment() -> Environment {
    let item = Declared::object("item", [("k".to_owned(), Declared::string()), ("v".to_owned(), Declared::int())]);
    let fields = [
        ("name", Declared::string()),
        ("count", Declared::int()),
        ("share", Declared::double()),
        ("port", Declared::int_or_string()),
        ("until", Declared::date_time()),
        ("day", Declared::date()),
        ("timeout", Declared::duration()),
        ("secret", Declared::bytes()),
        ("empty", Declared::string().or_null()),
        ("a-b", Declared::int()),
        ("namespace", Declared::string()),
        ("set", Declared::list(Declared::string(), Identity::Set)),
        ("items", Declared::list(item, Identity::Keys(vec!["k".into()]))),
        ("labels", Declared::map(Declared::string())),
        ("open", Declared::any()),
    ];
    let fields = fields.map(|(name, declared)| (name.to_owned(), declared));
    let root = Declared::object("root", fields);
    Environment::new()
        .with(Library::new().with_macro(Macro::Bind))
        .variable("self", root.clone())
        .variable("oldSelf", Declared::optional(root))
        .variable("any", Declared::any())
}

fn data() -> Json {
    json!({
        "name": "web", "count": 3, "share": 1, "port": "50%", "until": "2024-02-29T12:00:00+01:00", "day": "2024-02-29",
        "timeout": "1h30m", "secret": "aGk=", "empty": null, "a-b": 7, "namespace": "shop", "set": ["a", "b"],
        "items": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "labels": {"app": "web", "a/b": "c"},
        "open": {"list": [1, 2.5, null], "deep": {"x": "y"}}, "unseen": true,
    })
}

/// The result as JSON, or what went wrong.
fn run(text: &str) -> Result<Json, String> {
    let data = data();
    let inputs = [("self", Input::Json(&data)), ("any", Input::Json(&data))];
    let program = environment().compile(text, &Type::Dyn).map_err(|error| error.to_string())?;
    let value = program.run(&inputs, &mut Budget::from(100_000)).map_err(|error| error.to_string())?;
    value.to_json().map_err(|error| error.to_string())
}

#[track_caller]
fn check(text: &str, expected: Json) {
    assert_eq!(run(text), Ok(expected), "{text}");
}

#[track_caller]
fn refused(text: &str, message: &str) {
    let error = run(text).unwrap_err();
    assert!(error.contains(message), "{text}: {error}");
}

#[test]
fn documents_are_read_as_declared() {
    check("self.share + 0.5", json!(1.5));
    check("self.count + 1", json!(4));
    check("self.port == '50%'", json!(true));
    check("self.until.getHours()", json!(11));
    check("self.until - self.day == duration('11h')", json!(true));
    check("self.timeout > duration('1h')", json!(true));
    check("self.secret == b'hi'", json!(true));
    check("self.a__dash__b + any['a-b']", json!(14));
    check("self.namespace + self.__namespace__", json!("shopshop"));
    check("self.labels['a/b']", json!("c"));
    check("type(any.share) == int && type(any.open.list[1]) == double", json!(true));
    refused("self.unseen", "undefined field 'unseen'");
    check("has(any.unseen)", json!(true));
}

#[test]
fn what_is_null_is_absent_in_objects_and_present_in_maps() {
    check("has(self.empty)", json!(false));
    refused("self.empty == 'a'", "no such key: empty");
    check("any.empty == null && has(any.empty)", json!(true));
    check("self.?empty.orValue('none')", json!("none"));
    check("any.open.list[2] == null", json!(true));
}

#[test]
fn sets_and_lists_with_keys_are_compared_without_order() {
    check("self.set == ['b', 'a']", json!(true));
    check("['b', 'a'] == self.set", json!(false));
    check("self.set + ['b', 'c']", json!(["a", "b", "c"]));
    check("self.items.map(i, i.k)", json!(["x", "y"]));
    check("self.items + self.items == self.items", json!(true));
}

#[test]
fn failures_are_absorbed_where_the_other_side_decides() {
    check("1 / 0 == 1 || true", json!(true));
    check("false && 1 / 0 == 1", json!(false));
    check("1 / 0 == 1 && false", json!(false));
    check("[0, 1].exists(x, 1 / x == 1)", json!(true));
    check("[1, 0].all(x, x == 0 && 1 / x > 0)", json!(false));
    refused("[0, 2].exists(x, 4 / x == 1)", "division by zero");
    refused("1 / 0 == 1 || false", "division by zero");
    check("true ? 1 : 1 / 0", json!(1));
    refused("[0, 1].map(x, 1 / x)", "division by zero");
}

#[test]
fn variables_of_loops_and_bindings_nest() {
    check("[[1], [2, 3]].map(x, x.map(y, y * size(x)))", json!([[1], [4, 6]]));
    check("[1, 2].map(x, [x].map(x, x + 1))", json!([[2], [3]]));
    check("{'a': 1, 'b': 2}.transformList(k, v, k + string(v))", json!(["a1", "b2"]));
    check("{'a': 1, 'b': 2}.transformMap(k, v, v > 1, v * 10)", json!({"b": 20}));
    check("['a', 'b'].transformMapEntry(i, v, {v: i})", json!({"a": 0, "b": 1}));
    refused("['a', 'a'].transformMapEntry(i, v, {v: i})", "insert failed: key a already exists");
    check("[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)", json!(true));
    check("cel.bind(x, [1, 2].map(y, y + 1), [10].map(z, x[0] + z + x[1]))", json!([15]));
    check("cel.bind(x, 1 / 0, true)", json!(true));
    check("[3, 4].all(i, v, i < v)", json!(true));
}

#[test]
fn optionals_chain() {
    check("self.?labels[?'app'].orValue('none')", json!("web"));
    check("self.labels[?'none'].hasValue()", json!(false));
    check("optional.none().or(optional.of(2)).value()", json!(2));
    check("[1, ?self.labels.?none.optMap(x, 2), ?optional.of(3)]", json!([1, 3]));
    check("{'a': 1, ?'b': optional.none()}", json!({"a": 1}));
    check("optional.of(3).optFlatMap(x, optional.of(x + 1)).value()", json!(4));
    check("has(self.?labels.app)", json!(true));
    check("oldSelf.hasValue() || oldSelf.?name.orValue('new') == 'new'", json!(true));
    refused("optional.none().value()", "optional.none() dereference");
    check("[1, 2].first().value() + [1, 2].last().value()", json!(3));
}

#[test]
fn wrong_types_are_told_with_their_place() {
    refused(
        "1 + 'a'",
        "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, string)'\n | 1 + 'a'\n | ..^",
    );
    refused("self.foo", "ERROR: <input>:1:5: undefined field 'foo'");
    refused("x", "undeclared reference to 'x' (in container '')");
    refused("[1, 'a']", "expected type 'int' but found 'string'");
    refused("'a'.map(x, x)", "expression of type 'string' cannot be range of a comprehension");
    refused("self.name.foo", "type 'string' does not support field selection");
    refused("duration('1 day')", "invalid duration argument");
    refused("'a'.matches('(')", "invalid matches argument");
    refused("1 && true", "expected type 'bool' but found 'int'");
    refused("int('a')", "type conversion error from 'string' to 'int'");
}

#[test]
fn programs_are_shared_between_threads() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    let program = shared(shared(environment()).compile("self.name == 'web'", &Type::Bool).unwrap());
    let data = data();
    let answer = std::thread::scope(|scope| {
        let run = || program.run(&[("self", Input::Json(&data))], &mut Budget::from(100)).map(Value::into_owned);
        scope.spawn(run).join().unwrap()
    });
    assert_eq!(answer.unwrap().as_bool(), Some(true));
}

#[test]
fn constants_are_looked_up_by_what_they_stand_for() {
    check("self.name in ['api', 'web'] && !('x' in ['api', 'web'])", json!(true));
    check("[1, 3, 2].map(x, x in [2, 3, 9])", json!([false, true, true]));
    check("dyn(2.0) in [1, 2] && dyn(2u) in [1, 2] && !(dyn(2.5) in [1, 2])", json!(true));
    check("true in [false] || double('NaN') in [0.0, 1.0]", json!(false));
    refused("self.count in [1.0, 3.0]", "found no matching overload for '@in' applied to '(int, list(double))'");
}

#[test]
fn results_are_of_the_type_that_is_wanted() {
    let error = environment().compile("1", &Type::Bool).unwrap_err();
    assert_eq!(error, CompileError::Type { expected: Type::Bool, found: Type::Int });
    assert!(environment().compile("1 == 1", &Type::Bool).unwrap().uses("self").eq(&false));
    assert!(environment().compile("self.count == 1", &Type::Bool).unwrap().uses("self"));
}

/// Fields that are computed from each other.
#[derive(Debug)]
struct Computed;

impl Fields for Computed {
    fn field<'a>(&'a self, name: &str, budget: &mut Budget) -> Option<Result<Value<'a>, Error>> {
        budget.cost -= 10;
        match name {
            "one" => Some(Ok(Value::Int(1))),
            "broken" => Some(Err(Error::new("it is broken"))),
            _ => None,
        }
    }
}

#[test]
fn fields_may_be_computed_when_they_are_asked_for() {
    let ty = Declared::object("variables", ["one", "broken"].map(|name| (name.to_owned(), Declared::any())));
    let environment = Environment::new().variable("variables", ty);
    let inputs = [("variables", Input::Fields(&Computed))];
    let program = environment.compile("variables.one == 1 || variables.broken == 1", &Type::Bool).unwrap();
    let mut budget = Budget::from(100);
    assert_eq!(program.run(&inputs, &mut budget).unwrap().as_bool(), Some(true));
    assert_eq!(100 - budget.cost, 13);
    let program = environment.compile("variables.broken", &Type::Dyn).unwrap();
    assert_eq!(program.run(&inputs, &mut budget).unwrap_err().to_string(), "it is broken");
}
