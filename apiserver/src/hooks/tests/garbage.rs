//! Nothing that a hook answers, or that somebody makes a hook of, is too strange.

use super::stage::{Caller, Scene, mutated, object, scene};
use crate::hooks::conversion::convert;
use crate::hooks::{Again, Ask, Endpoint, Hooks, Told, Unevaluated};
use crate::object::Object;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::FutureExt;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Words that mean something in one place or another.
const WORDS: [&str; 34] = [
    "response",
    "uid",
    "U",
    "allowed",
    "patch",
    "patchType",
    "JSONPatch",
    "kind",
    "AdmissionReview",
    "apiVersion",
    "admission.k8s.io/v1",
    "status",
    "message",
    "code",
    "details",
    "causes",
    "metadata",
    "labels",
    "annotations",
    "result",
    "convertedObjects",
    "warnings",
    "auditAnnotations",
    "name",
    "rules",
    "clientConfig",
    "url",
    "https://h/p",
    "service",
    "namespaceSelector",
    "matchExpressions",
    "operations",
    "*",
    "Equivalent",
];

fn tree() -> impl Strategy<Value = Value> {
    let word = || prop::sample::select(&WORDS[..]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..6)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// Lays a tree over another, so that some of what makes sense stays.
fn over(mut base: Value, strange: &Value) -> Value {
    crate::patch::merge(&mut base, strange);
    base
}

fn play(scene: &Scene, hooks: &Hooks, caller: &Caller, object: Option<Object>) -> Option<Told> {
    let both = scene.play(caller, async |ask| {
        let changed = mutated(hooks, ask, object).await.ok()?;
        hooks.validate(ask, changed.object.as_ref()).await.ok()
    });
    both.now_or_never().expect("nobody waits for anything")
}

proptest! {
    #[test]
    fn no_answer_is_too_strange(strange in tree(), bytes in "\\PC{0,20}|[\\[\\]{}\":,a-z/]{0,40}", plain in any::<bool>()) {
        let patch = STANDARD.encode(bytes);
        let caller = Caller::new(move |_, review| {
            let response = json!({ "uid": review["request"]["uid"], "allowed": true, "patch": patch, "patchType": "JSONPatch" });
            let answer = json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response });
            Ok(if plain { strange.clone() } else { over(answer, &strange) })
        });
        let hook = super::stage::hook("h", json!({}));
        let configuration = [object(json!({ "metadata": { "name": "c" }, "webhooks": [hook] }))];
        let scene = scene("UPDATE v1/pods n/w");
        let hooks = Hooks::compile(&configuration, &configuration, &Unevaluated);
        let _ = play(&scene, &hooks, &caller, scene.object.clone().map(object));
    }

    #[test]
    fn no_webhook_is_too_strange(strange in tree(), list in tree()) {
        let hook = over(super::stage::hook("allow", json!({})), &strange);
        let configuration = [
            object(json!({ "metadata": { "name": "c" }, "webhooks": [hook] })),
            object(json!({ "webhooks": list })),
        ];
        let hooks = Hooks::compile(&configuration, &configuration, &Unevaluated);
        let (scene, caller) = (scene("CREATE v1/pods n/w"), Caller::new(super::stage::by_path));
        let _ = play(&scene, &hooks, &caller, scene.object.clone().map(object));
    }

    #[test]
    fn no_conversion_is_too_strange(strange in tree(), converted in tree(), original in tree()) {
        let caller = Caller::new(move |_, _| {
            let response = json!({ "uid": "U", "result": { "status": "Success" }, "convertedObjects": [converted, converted] });
            let answer = json!({ "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response });
            Ok(over(answer, &strange))
        });
        let to = Endpoint::read(&json!({ "url": "https://h/" })).unwrap();
        let versions = ["v1".to_owned()];
        let objects = vec![original.clone(), original];
        let _ = convert(&caller, &to, &versions, objects, "g/v2", "U".to_owned()).now_or_never();
    }
}

/// Requests are answered on any thread: this compiles only if waiting for hooks can move from one to another.
const _: fn(&Hooks, &Ask<'_>, &Object) = |hooks, ask, object| {
    fn is_send<T: Send>(_: T) {}
    is_send(hooks.round(ask, None, &mut Again::default()));
    is_send(hooks.validate(ask, Some(object)));
};
