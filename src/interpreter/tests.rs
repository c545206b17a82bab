//! Scripts as people write them, and as nobody should.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::apis::interpret::{Customized, Interpreter, Operation};
use crate::apis::kinds::Health;
use serde_json::json;

const NOON: i64 = 1_800_000_000;

fn scripts() -> Scripts {
    Scripts::new(Arc::new(|| Instant { seconds: NOON, nanos: 0 }))
}

fn call(text: &str, arguments: &[Value]) -> Result<Vec<Value>, String> {
    scripts().compile(text).unwrap().call("F", arguments)
}

/// What `F` of a script makes of one argument.
#[track_caller]
fn check(text: &str, argument: Value, expect: Value) {
    assert_eq!(call(text, &[argument]).unwrap(), [expect]);
}

#[track_caller]
fn fails(text: &str, expect: &str) {
    let why = call(text, &[json!({})]).unwrap_err();
    assert!(why.contains(expect), "{why}");
}

#[test]
fn objects_come_back_as_they_went_in() {
    let object =
        json!({"spec": {"list": [], "map": {}, "deep": [{"a": []}, {}], "n": 3, "f": 1.5, "t": true, "s": "x"}});
    check("function F(o) return o end", object.clone(), object);
    check("function F(o) return {a = o.missing, b = 1} end", json!({"missing": null}), json!({"b": 1}));
    check("function F(o) o.l[1] = nil return o end", json!({"l": ["x"]}), json!({"l": []}));
    check("function F(o) o.new = {} o.l = {{}} return o end", json!({}), json!({"l": [{}]}));
    check("function F(o) return {o[1] / 2, o[1] / 4, -o[1], 2^60} end", json!([2]), json!([1, 0.5, -2, 1_i64 << 60]));
}

#[test]
fn what_is_no_object_is_refused() {
    fails("function F() return {1, x = 2} end", "both a list and a map");
    fails("function F() return {[1] = 1, [3] = 3} end", "holes");
    fails("function F() local t = {} t.t = t return t end", "in itself");
    fails("function F() return {f = function() end} end", "function");
    fails("function F() return {0 / 0} end", "a number that is none");
    fails("function F() return '\\255' end", "UTF-8");
    // Sixty tables, each twice in the next, are more than there is room for.
    fails("function F() local t = {1} for i = 1, 60 do t = {t, t} end return t end", "too much");
}

#[test]
fn scripts_have_what_karmada_gives_them_and_nothing_else() {
    for name in ["load", "loadstring", "dofile", "setmetatable", "getmetatable", "rawset", "getfenv", "collectgarbage"]
    {
        fails(&format!("function F() return {name}({{}}) end"), "not there for interpreters");
    }
    for name in ["io", "debug", "package", "coroutine", "buffer", "os.execute", "os.getenv", "os.exit"] {
        check(&format!("function F() return type({name}) end"), json!({}), json!("nil"));
    }
    fails("function F() return require('os') end", "there is no module");
    check(
        "function F() print('x') return os.date('!%Y-%m-%dT%H:%M:%SZ') end",
        json!({}),
        json!("2027-01-15T08:00:00Z"),
    );
    check("function F() return os.time() end", json!({}), json!(NOON));
    check("function F(o) return select(2, pcall(error, 'x')) end", json!({}), json!("x"));
    fails("function G() end", "there is no function F");
    fails("function F(o)\n return o.spec.x end", "script:2: attempt to index nil with 'x'");
}

#[test]
fn nothing_of_a_call_is_left_for_the_next() {
    let script =
        scripts().compile("function F() n = (n or 0) + 1 string.mine = n return {n, string.mine} end").unwrap();
    for _ in 0..2 {
        assert_eq!(script.call("F", &[]).unwrap(), [json!([1, 1])]);
    }
}

#[test]
fn whatever_goes_on_for_ever_is_ended() {
    let endless = [
        "function F() while true do end end",
        "function F() while true do pcall(function() while true do end end) end end",
        // Patterns that look for what is not there, in every way there is.
        "function F() return string.find(string.rep('a', 5000), '.-.-.-.-b') end",
        "while true do end",
        // Catches the end, and returns as if nothing had been.
        "function F() pcall(function() while true do end end) return {} end",
    ];
    for text in endless {
        fails(text, "too long");
    }
    for text in [
        "function F() local t = {} while true do t[#t + 1] = string.rep('x', 100000) .. #t end end",
        "function F() local s = 'x' while true do s = s .. s end end",
    ] {
        fails(text, "it needs more than 32 MiB");
    }
    fails("function F() return F() end", "stack overflow");
}

#[test]
fn a_second_is_enough_for_everybody() {
    let asked = std::sync::atomic::AtomicI64::new(0);
    let ticking = move || Instant { seconds: NOON + asked.fetch_add(1, Ordering::Relaxed) / 10, nanos: 0 };
    let scripts = Scripts::new(Arc::new(ticking));
    let text = "function F(times) for i = 1, times do end return true end";
    let script = scripts.compile(text).unwrap();
    assert_eq!(script.call("F", &[json!(50)]).unwrap(), [json!(true)]);
    let why = script.call("F", &[json!(5000)]).unwrap_err();
    assert!(why.contains("or a second"), "{why}");
}

#[test]
fn a_script_that_never_ends_is_not_run_for_every_object() {
    let scripts = scripts();
    let endless = scripts.compile("function F() while true do end end").unwrap();
    for _ in 0..EXHAUSTED_MAX {
        assert!(endless.call("F", &[]).unwrap_err().contains("too long"));
    }
    assert!(endless.call("F", &[]).unwrap_err().contains("not run until it is changed"));
    // Whoever has the same script elsewhere has a count of their own.
    let elsewhere = scripts.compile("function F() while true do end end").unwrap();
    assert!(elsewhere.call("F", &[]).unwrap_err().contains("too long"));
    let mistaken = scripts.compile("function F() error('no') end").unwrap();
    for _ in 0..5 {
        assert!(mistaken.call("F", &[]).unwrap_err().contains("no"));
    }
}

#[test]
fn equal_scripts_are_compiled_once_and_forgotten_with_the_last() {
    let scripts = scripts();
    let text = "function F() return 1 end";
    let all: Vec<_> = (0..100).map(|_| scripts.compile(text).unwrap()).collect();
    assert_eq!(scripts.number(), 1);
    assert_eq!(all[0].fingerprint(), all[99].fingerprint());
    let other = scripts.compile("function F() return 2 end").unwrap();
    assert_ne!(other.fingerprint(), all[0].fingerprint());
    drop((all, other));
    assert_eq!(scripts.number(), 0);
}

#[test]
fn what_cannot_be_compiled_says_where() {
    let why = check("function F()\n  retrun 1\nend").unwrap_err();
    assert!(why.contains("line 2:"), "{why}");
    assert_eq!(super::check("function F() end"), Ok(()));

    fn check(text: &str) -> Result<(), String> {
        super::check(text)
    }
}

#[test]
fn kube_reads_quantities_and_pods() {
    let kube = |text: &str| format!("local kube = require('kube') function F(o) return {text} end");
    check(&kube("kube.resourceAdd('100m', o.none, '1')"), json!({}), json!("1100m"));
    check(&kube("kube.getResourceQuantity('1500m')"), json!({}), json!(1.5));
    fails(&kube("kube.resourceAdd('much')"), "no quantities: much");
    fails(&kube("kube.getResourceQuantity('-1')"), "less than nothing");
    let pod = json!({"spec": {"nodeSelector": {"disk": "ssd"}, "serviceAccountName": "robot",
        "containers": [{"resources": {"requests": {"cpu": "100m", "memory": "1Gi"}},
            "envFrom": [{"configMapRef": {"name": "env"}}]}]}});
    let needs = json!({"nodeClaim": {"nodeSelector": {"disk": "ssd"}},
        "resourceRequest": {"cpu": "100m", "memory": "1Gi"}});
    check(&kube("kube.accuratePodRequirements(o)"), pod.clone(), needs);
    check(&kube("kube.accuratePodRequirements({spec = {}})"), json!({}), Value::Null);
    let named = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "name": name, "namespace": "n"});
    let both = json!([named("ConfigMap", "env"), named("ServiceAccount", "robot")]);
    check(&kube("kube.getPodDependencies(o, 'n')"), pod, both);
    fails(&kube("kube.getPodDependencies(o)"), "two arguments");
}

/// A set of pods as controllers outside of Kubernetes have them, with everything there is to say about it.
const SET: [(Operation, &str); 7] = [
    (
        Operation::Replicas,
        "local kube = require('kube')
         function GetReplicas(set) return set.spec.replicas, kube.accuratePodRequirements(set.spec.template) end",
    ),
    (Operation::Revise, "function ReviseReplica(set, number) set.spec.replicas = number return set end"),
    (
        Operation::Retain,
        "function Retain(wanted, there)
           if there.spec.paused ~= nil then wanted.spec.paused = there.spec.paused end
           return wanted
         end",
    ),
    (
        Operation::Reflect,
        "function ReflectStatus(there)
           local told = {}
           if there.status == nil then return told end
           told.ready = there.status.ready
           local annotations = there.metadata.annotations or {}
           told.of = tonumber(annotations['resourcetemplate.karmada.io/generation'])
           return told
         end",
    ),
    (
        Operation::Aggregate,
        "function AggregateStatus(set, items)
           local ready, current = 0, true
           if items == nil then items = {} end
           for i = 1, #items do
             local said = items[i].status
             if said ~= nil then
               ready = ready + (said.ready or 0)
               current = current and said.of == set.metadata.generation
             end
           end
           set.status = {ready = ready, conditions = {}}
           if current then set.status.observedGeneration = set.metadata.generation end
           return set
         end",
    ),
    (
        Operation::Health,
        "function InterpretHealth(there) return there.status ~= nil and there.status.ready >= there.spec.replicas end",
    ),
    (
        Operation::Dependencies,
        "local kube = require('kube')
         function GetDependencies(set) return kube.getPodDependencies(set.spec.template, set.metadata.namespace) end",
    ),
];

fn set() -> Interpreter {
    let scripts = scripts();
    let customized = |(operation, text): (Operation, &str)| Customized {
        by: "set".into(),
        operation,
        script: scripts.compile(text).unwrap(),
    };
    Interpreter::new(SET.map(customized))
}

fn one() -> Value {
    json!({"apiVersion": "apps.example.io/v1", "kind": "PodSet",
        "metadata": {"name": "s", "namespace": "n", "generation": 4, "annotations": {}},
        "spec": {"replicas": 5, "selector": {}, "template": {"spec": {"containers": [
            {"resources": {"requests": {"cpu": 1}}, "envFrom": [{"secretRef": {"name": "k"}}]}]}}}})
}

#[test]
fn a_kind_that_nobody_knows_is_divided_kept_and_watched_by_its_scripts() {
    let (set, mut object) = (set(), one());
    let replicas = set.replicas(&object).unwrap().unwrap();
    assert_eq!((replicas.number, replicas.request["cpu"]), (5, 1000));
    let needed = set.references(&object).unwrap();
    assert_eq!(needed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["k"]);
    set.revise(&mut object, 2).unwrap();
    let mut expect = one();
    expect["spec"]["replicas"] = json!(2);
    assert_eq!(object, expect, "empty maps are maps still");
    let mut there = expect.clone();
    there["spec"]["paused"] = json!(true);
    expect["spec"]["paused"] = json!(true);
    assert_eq!(set.retain(&object, &there).unwrap(), expect);
    assert_eq!(set.health(&there), Ok(Health::Unhealthy));
    there["status"] = json!({"ready": 2, "internal": "x"});
    there["metadata"]["annotations"]["resourcetemplate.karmada.io/generation"] = json!("4");
    assert_eq!(set.health(&there), Ok(Health::Healthy));
    assert_eq!(set.reflect(&there).unwrap(), Some(json!({"ready": 2, "of": 4})));
    let item = |status: Value| json!({"clusterName": "m", "status": status, "applied": true, "health": "Healthy"});
    let items = vec![item(json!({"ready": 2, "of": 4})), item(json!({"ready": 3, "of": 4}))];
    assert_eq!(set.aggregate(&one(), items).unwrap(), Some(json!({"ready": 5, "observedGeneration": 4})));
    assert_eq!(set.aggregate(&one(), Vec::new()).unwrap(), Some(json!({"ready": 0, "observedGeneration": 4})));
}
