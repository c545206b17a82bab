//! Laws that hold for every expression, whatever it says.

#![cfg(test)]

use std::sync::LazyLock;

use expression::{Budget, Declared, Environment, Error, Identity, Input, Type, kubernetes};
use proptest::prelude::*;
use serde_json::json;

static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(declare);

fn environment() -> Environment {
    ENVIRONMENT.clone()
}

fn declare() -> Environment {
    let item = Declared::object(
        "item",
        [("name".to_owned(), Declared::string().at_most(20)), ("n".to_owned(), Declared::int())],
    );
    let fields = [
        ("s", Declared::string().at_most(100)),
        ("i", Declared::int()),
        ("d", Declared::double()),
        ("list", Declared::list(Declared::string().at_most(10), Identity::Order).at_most(10)),
        ("items", Declared::list(item, Identity::Order).at_most(10)),
        ("map", Declared::map(Declared::int()).at_most(10)),
        ("any", Declared::any()),
    ];
    let fields = fields.map(|(name, declared)| (name.to_owned(), declared));
    let environment = kubernetes::libraries().into_iter().fold(Environment::new(), Environment::with);
    environment.variable("self", Declared::object("root", fields))
}

fn run(environment: &Environment, text: &str, cost: u64) -> Option<(u64, Result<String, Error>)> {
    let data = json!({
        "s": "hello", "i": 3, "d": 0.5, "list": ["a", "bb"], "items": [{"name": "x", "n": 1}],
        "map": {"k": 1}, "any": {"deep": [1, "two", null]},
    });
    let program = environment.compile(text, &Type::Dyn).ok()?;
    let mut budget = Budget::from(cost);
    let inputs = [("self", Input::Json(&data))];
    let result = program.run(&inputs, &mut budget).map(|value| format!("{value:?}"));
    Some((cost - budget.cost, result))
}

/// Pieces that expressions are made of; most of what they make is nonsense.
fn nonsense() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "self",
        ".s",
        ".list",
        ".items",
        ".map",
        ".any",
        ".i",
        "x",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "?",
        ":",
        ",",
        ".",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "&&",
        "||",
        "==",
        "!=",
        "<",
        ">",
        " in ",
        "1",
        "2u",
        "1.5",
        "'a'",
        "b'b'",
        "null",
        "true",
        ".all(x, ",
        ".map(x, ",
        ".exists_one(x, ",
        ".filter(x, ",
        ".size()",
        "has(self.s)",
        ".matches('",
        "'",
        "\"",
        "\\",
        ".?s",
        "[?0]",
        "dyn(",
        "type(",
        "duration('1h')",
        ".orValue(",
        "optional.of(",
        "\n",
        "`",
        "😀",
        "..",
        "int('9')",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

/// Expressions that mostly mean something.
fn sensible() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "self.i",
        "1",
        "-7",
        "self.list.size()",
        "self.any",
        "self.items[0].n",
        "self.map['k']",
        "self.map['none']",
        "2",
        "dyn('a')",
        "self.d",
        "0",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 60, 3, |inner| {
        prop_oneof![
            (inner.clone(), prop::sample::select(vec!["+", "-", "*", "/", "%", "==", "<"]), inner.clone())
                .prop_map(|(one, operator, two)| format!("(dyn({one}) {operator} dyn({two}))")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("({a} == {b} ? dyn({c}) : dyn({a}))")),
            inner.clone().prop_map(|of| format!("[1, 2, 3].map(x, x + 1).filter(x, x > 1).map(y, dyn({of}))")),
            inner.clone().prop_map(|of| format!("self.list.exists(x, x == 'a' || dyn({of}) == 1)")),
            inner.clone().prop_map(|of| format!("optional.of({of}).orValue(dyn(1))")),
            inner.prop_map(|of| format!("{{'k': dyn({of})}}.all(k, v, k == 'k' && v == v)")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_panics(text in nonsense()) {
        let _ = run(&environment(), &text, 10_000);
    }

    #[test]
    fn no_characters_panic(text in "\\PC{0,40}") {
        let _ = run(&environment(), &text, 10_000);
    }

    #[test]
    fn a_smaller_budget_ends_the_run(text in sensible(), share in 0u64..100) {
        let environment = environment();
        let Some((cost, result)) = run(&environment, &text, 1_000_000) else { return Ok(()) };
        let budget = cost * share / 100;
        if result != Err(Error::Cost) && budget < cost {
            prop_assert_eq!(run(&environment, &text, budget).unwrap(), (budget, Err(Error::Cost)), "{}", text);
            prop_assert_eq!(run(&environment, &text, cost).unwrap().1, result);
        }
    }

    #[test]
    fn running_twice_gives_the_same(text in sensible()) {
        let environment = environment();
        prop_assert_eq!(run(&environment, &text, 1_000_000), run(&environment, &text, 1_000_000));
    }
}

fn check_refused(text: &str) {
    let error = environment().compile(text, &Type::Dyn).unwrap_err().to_string();
    assert!(error.contains("recursion") || error.contains("size exceeds"), "{error}");
}

#[test]
fn nothing_nests_without_bound() {
    check_refused(&format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000)));
    check_refused(&format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000)));
    check_refused(&format!("self{}", ".any".repeat(10_000)));
    check_refused(&format!("1{}", "+1".repeat(10_000)));
    check_refused(&format!("self.any{}", "[0]".repeat(10_000)));
    check_refused(&"true ? 1 : ".repeat(5_000));
    check_refused(&"a".repeat(200_000));
    check_refused(&format!("{}1{}", "[1].map(x, ".repeat(1_000), ")".repeat(1_000)));
    check_refused(&format!("{}1{}", "[1].map(x, ".repeat(240), ")".repeat(240)));
    check_refused(&(format!("({}", "true && ".repeat(48)).repeat(240) + "true" + &")".repeat(240)));
}

/// As deep as is allowed, on a thread with the usual stack: compiling and running must not need more.
#[test]
fn what_nests_as_deep_as_it_may_is_fine() {
    let environment = environment();
    let logic = format!("({}", "true && ".repeat(48)).repeat(70) + "true" + &")".repeat(70);
    let loops = "[true].all(x, x && ".repeat(120) + "true" + &")".repeat(120);
    let lists = "[".repeat(240) + "self.i" + &"]".repeat(240);
    let maps = "{'a': ".repeat(240) + "self.i" + &"}".repeat(240);
    let calls = "dyn(".repeat(240) + "self.i" + &")".repeat(240);
    let choices = "self.i == 1 ? 1 : ".repeat(240) + "2";
    for text in [logic, loops, lists, maps, calls, choices] {
        let start = text[..20].to_owned();
        let found = std::thread::Builder::new().stack_size(2 << 20).spawn({
            let environment = environment.clone();
            move || run(&environment, &text, 10_000_000).map(|(_, result)| result.is_ok())
        });
        assert_eq!(found.unwrap().join().unwrap(), Some(true), "{start}");
    }
}

#[test]
fn macros_do_not_multiply_without_bound() {
    let text = format!("optional.of(1){}", ".optMap(x, x)".repeat(100));
    let error = environment().compile(&text, &Type::Dyn).unwrap_err().to_string();
    assert!(error.contains("too large"), "{error}");
}

#[test]
fn what_is_long_but_flat_is_fine() {
    let environment = environment();
    for text in [
        format!("true{}", " && true".repeat(5_000)),
        format!("[{}]", "1,".repeat(10_000)),
        format!("!{}true", "!".repeat(10_000)),
        format!("{}1{}", "(".repeat(200), ")".repeat(200)),
        format!("1{}", "+1".repeat(200)),
    ] {
        let (_, result) = run(&environment, &text, 1_000_000).unwrap();
        assert!(result.is_ok());
    }
}

#[test]
fn comparisons_deep_in_loops_end() {
    let large: Vec<i64> = (0..20_000).collect();
    let data = json!({"any": {"deep": large}, "i": 1});
    let environment = environment();
    for text in [
        "lists.range(50000).all(x, self.any == self.any)",
        "lists.range(50000).exists(x, [[self.any]] != [[self.any]])",
        "lists.range(50000).all(x, self.any in [self.any])",
    ] {
        let program = environment.compile(text, &Type::Bool).unwrap();
        let inputs = [("self", Input::Json(&data))];
        assert_eq!(program.run(&inputs, &mut Budget::from(10_000_000)).unwrap_err(), Error::Cost, "{text}");
    }
}

#[test]
fn doubling_does_not_go_on() {
    let mut text = "self.list".to_owned();
    for _ in 0..40 {
        text = format!("[{text}].map(a, a + a)[0]");
    }
    let (_, result) = run(&environment(), &text, 1_000_000).unwrap();
    assert_eq!(result, Err(Error::Cost));
}

#[test]
fn whoever_waits_may_stop_a_loop() {
    let program = environment().compile("lists.range(50000).all(x, x >= 0)", &Type::Bool).unwrap();
    let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let mut budget = Budget { cost: 10_000_000, stop: Some(stop) };
    assert_eq!(program.run(&[], &mut budget).unwrap_err(), Error::Cost);
    assert!(budget.cost > 9_000_000);
}

#[test]
fn collecting_takes_linear_time() {
    let environment = environment();
    let started = std::time::Instant::now();
    for text in [
        "lists.range(60000).map(x, x)",
        "lists.range(60000).filter(x, x % 2 == 0)",
        "lists.range(60000).transformMapEntry(k, v, {string(60000 - k): v})",
        "lists.range(60000).map(x, self.list + self.list).size()",
    ] {
        let (_, result) = run(&environment, text, 10_000_000).unwrap();
        assert!(result.is_ok(), "{text}");
    }
    assert!(started.elapsed().as_secs() < 20);
}
