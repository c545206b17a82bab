//! All rules there are, of whatever dialect, found by the workspaces and kinds that they speak of.

use super::karmada::customization::{self, CUSTOMIZATIONS, Customization};
use super::karmada::namespaces;
use super::karmada::overrides::{self, OverridePolicy};
use super::karmada::policy::{self, Policy};
use super::karmada::{Compat, claim};
use super::native;
use crate::apis::Kind;
use crate::apis::interpret::Interpreter;
use crate::interpreter::Scripts;
use crate::scheduler::Cell;
use crate::scheduler::Rule;
use crate::scheduler::controller::{Bound, Concern, Rulebook, rules_of};
use crate::scheduler::rule::Namespaces;
use apiserver::object::Object;
use apiserver::place::Workspace;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use tokio::sync::watch;

/// The workspace whose rules may speak for the objects of others.
const ROOT: &str = "root";

const KARMADA: &str = "policy.karmada.io";

/// The names of schedulers under which policies are for us to carry out.
const DECIDERS: [&str; 2] = ["", "default-scheduler"];

/// Resources that rules are made of.
const READ: [(&str, &str); 6] = [
    (CUSTOMIZATIONS.0, CUSTOMIZATIONS.2),
    (native::definitions::GROUP, "federationrules"),
    (KARMADA, "propagationpolicies"),
    (KARMADA, "clusterpropagationpolicies"),
    (KARMADA, "overridepolicies"),
    (KARMADA, "clusteroverridepolicies"),
];

/// The path of a workspace, if there is one.
pub type Paths = Box<dyn Fn(&Workspace) -> Option<String> + Send + Sync>;

/// It holds as much as there are rules.
pub struct Book {
    /// Guards nothing but itself, and is held for one question.
    volumes: Mutex<Volumes>,
    /// Everything was told once.
    whole: watch::Sender<bool>,
    paths: Paths,
    scripts: Scripts,
    compat: Compat,
}

impl Book {
    pub fn new(paths: Paths, scripts: Scripts, compat: Compat) -> Self {
        Self { volumes: Mutex::default(), whole: watch::Sender::new(false), paths, scripts, compat }
    }

    /// The policy of Karmada's that speaks for an object, which was placed like that.
    pub fn policy_of(&self, workspace: &Workspace, object: &Value, placed: Option<&Object>) -> Option<Policy> {
        let volumes = self.volumes.lock();
        volumes.told.workspaces.get(workspace)?.policy_of(object, &held(placed, workspace)).cloned()
    }
}

/// Where workspaces are known by their ids alone.
impl Default for Book {
    fn default() -> Self {
        Self::new(Box::new(|_| None), Scripts::default(), Compat::default())
    }
}

impl fmt::Debug for Book {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Book").field("volumes", &self.volumes).finish_non_exhaustive()
    }
}

/// What questions are answered from, and what is told anew. Whoever decides or sends by rules never sees half of them: it
/// would take back what the other half wants.
#[derive(Debug, Default)]
struct Volumes {
    told: Pages,
    draft: Option<Pages>,
    /// Counted with each change of what is answered.
    edition: u64,
}

impl Volumes {
    fn learn(&mut self, workspace: &Workspace, entry: Entry) -> Concern {
        self.edition += 1;
        self.draft.as_mut().unwrap_or(&mut self.told).learn(workspace, entry)
    }

    fn close(&mut self) {
        self.told = self.draft.take().unwrap_or_else(|| std::mem::take(&mut self.told));
        self.edition += 1;
    }
}

#[derive(Debug, Default)]
struct Pages {
    workspaces: HashMap<Workspace, Page>,
    /// How many rules speak of a group and kind.
    kinds: HashMap<(String, String), usize>,
}

/// The rules of one workspace. Objects without a namespace have an empty one.
#[derive(Debug, Default)]
struct Page {
    rules: BTreeMap<String, Rule>,
    policies: BTreeMap<(String, String), Policy>,
    /// What goes everywhere without being selected, where there are policies.
    namespaces: Option<Rule>,
    overrides: BTreeMap<(String, String), OverridePolicy>,
    customizations: BTreeMap<String, Customization>,
    /// Made of the customizations.
    interpreters: HashMap<Kind, Interpreter>,
}

impl Page {
    /// Every rule that says where something goes.
    fn placing(&self) -> impl Iterator<Item = &Rule> {
        self.rules.values().chain(self.policies.values().map(|policy| &policy.rule)).chain(&self.namespaces)
    }

    /// Whoever has policies has their namespaces everywhere. Answers with that rule, if it came or went.
    fn learn_policy(&mut self, key: (String, String), now: Option<Policy>) -> (Option<Policy>, Option<Rule>) {
        let before = put(&mut self.policies, key, now);
        let has_some = !self.policies.is_empty();
        if has_some == self.namespaces.is_some() {
            return (before, None);
        }
        let rule = namespaces::rule();
        self.namespaces = has_some.then(|| rule.clone());
        (before, Some(rule))
    }

    /// Of several that say something of one thing, the first by name counts.
    fn learn_customization(&mut self, name: String, now: Option<Customization>) -> Concern {
        let before = put(&mut self.customizations, name, now.clone());
        if before == now {
            return Concern::default();
        }
        let kinds: BTreeSet<Kind> = before.into_iter().chain(now).map(|found| found.kind).collect();
        for kind in &kinds {
            let ours = self.customizations.values().filter(|found| found.kind == *kind);
            let interpreter = Interpreter::new(ours.flat_map(|found| found.scripts.clone()));
            if interpreter.is_scripted() {
                self.interpreters.insert(kind.clone(), interpreter);
            } else {
                self.interpreters.remove(kind);
            }
        }
        let kinds = kinds.into_iter().map(|kind| (kind.api_version, kind.kind)).collect();
        Concern { kinds, everywhere: false }
    }

    /// The policy that speaks for an object: not one that somebody else decides by, or that still waits for others.
    /// `held` are the names of rules that had the object before.
    fn policy_of(&self, object: &Value, held: &[&str]) -> Option<&Policy> {
        let there = |policy: &&Policy| {
            let namespace = policy.namespace.clone().unwrap_or_default();
            policy.waits_for.iter().all(|name| self.overrides.contains_key(&(namespace.clone(), name.clone())))
        };
        let ours = |policy: &&Policy| DECIDERS.contains(&policy.scheduler.as_str());
        claim(object, self.policies.values().filter(ours).filter(there), held)
    }

    /// What Karmada's policies say of an object: one of them speaks for it, and all overrides that concern it.
    fn claimed(&self, object: &Value, held: &[&str]) -> Option<Rule> {
        let everywhere = || self.namespaces.clone().filter(|_| namespaces::goes_everywhere(object));
        let mut rule = self.policy_of(object, held).map(|policy| policy.rule_for(object)).or_else(everywhere)?;
        let concerning = overrides::concerning(object, self.overrides.values());
        rule.overrides.extend(concerning.into_iter().flat_map(|policy| policy.overrides.clone()));
        Some(rule)
    }
}

/// One thing that was written, read.
enum Entry {
    Rule(String, Option<Rule>),
    Policy((String, String), Option<Policy>),
    Override((String, String), Option<OverridePolicy>),
    Customization(String, Option<Customization>),
}

/// What cannot be read is as if it were not there; whoever wrote it is told when it is written.
fn read(before: Option<&Object>, now: Option<&Object>, scripts: &Scripts, compat: Compat) -> Option<Entry> {
    let object = now.or(before)?;
    let standing = now.filter(|now| !now.is_deleting()).map(|now| Value::from(now.clone()));
    let key = (object.namespace().to_owned(), object.name().to_owned());
    match object.kind() {
        "FederationRule" => {
            let rule = standing.and_then(|tree| told(native::compile(&tree), &key));
            Some(Entry::Rule(key.1, rule))
        }
        "PropagationPolicy" | "ClusterPropagationPolicy" => {
            let compiled = |tree: Value| told(policy::compile(&tree, Namespaces::Same, compat), &key);
            let policy = standing.and_then(compiled);
            Some(Entry::Policy(key, policy))
        }
        "ResourceInterpreterCustomization" => {
            let compiled = |tree: Value| told(customization::compile(&tree, scripts), &key);
            let customization = standing.and_then(compiled);
            Some(Entry::Customization(key.1, customization))
        }
        _ => {
            let policy = standing.and_then(|tree| told(overrides::compile(&tree), &key));
            Some(Entry::Override(key, policy))
        }
    }
}

fn told<T, E: std::fmt::Display>(compiled: Result<T, E>, (namespace, name): &(String, String)) -> Option<T> {
    compiled.inspect_err(|error| tracing::warn!(namespace, name, %error, "a rule cannot be read")).ok()
}

/// The rules of a workspace that had an object when it was placed.
fn held<'a>(placed: Option<&'a Object>, home: &'a Workspace) -> Vec<&'a str> {
    placed.into_iter().flat_map(|record| rules_of(record, home)).collect()
}

fn put<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) -> Option<V> {
    match value {
        Some(value) => map.insert(key, value),
        None => map.remove(&key),
    }
}

impl Pages {
    fn learn(&mut self, workspace: &Workspace, entry: Entry) -> Concern {
        let page = self.workspaces.entry(workspace.clone()).or_default();
        let (before, now) = match entry {
            Entry::Rule(key, now) => (put(&mut page.rules, key, now.clone()), now),
            Entry::Policy(key, now) => {
                let (before, namespaces) = page.learn_policy(key, now.clone());
                // What a lazy policy comes to say, or says from the start, waits until its objects change.
                let lazy = now.as_ref().is_some_and(|policy| policy.lazy);
                let (before, now) = (before.map(|policy| policy.rule), now.map(|policy| policy.rule));
                return self.learn_policy(workspace, (before, now), namespaces.as_ref(), lazy);
            }
            // Those of the root workspace say what objects mean wherever nobody says otherwise.
            Entry::Customization(name, now) => {
                let concern = page.learn_customization(name, now);
                return Concern { everywhere: workspace.as_str() == ROOT, ..concern };
            }
            // It may concern whatever any policy speaks for.
            Entry::Override(key, now) => {
                put(&mut page.overrides, key, now);
                return concern(workspace, page.placing());
            }
        };
        if before == now {
            return Concern::default();
        }
        self.count(before.as_ref(), now.as_ref());
        concern(workspace, before.iter().chain(&now))
    }

    /// `namespaces` is the rule that came or went with the policy.
    fn learn_policy(
        &mut self,
        workspace: &Workspace,
        (before, now): (Option<Rule>, Option<Rule>),
        namespaces: Option<&Rule>,
        lazy: bool,
    ) -> Concern {
        match (now.is_some(), namespaces) {
            (true, came) => self.count(None, came),
            (false, went) => self.count(went, None),
        }
        if before == now {
            return Concern::default();
        }
        self.count(before.as_ref(), now.as_ref());
        let policies = before.iter().chain(&now).filter(|_| !lazy);
        concern(workspace, policies.chain(namespaces))
    }

    fn count(&mut self, before: Option<&Rule>, now: Option<&Rule>) {
        for kind in before.into_iter().flat_map(kinds) {
            if let Some(count) = self.kinds.get_mut(&kind) {
                *count = count.saturating_sub(1);
            }
        }
        self.kinds.retain(|_, count| *count > 0);
        for kind in now.into_iter().flat_map(kinds) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }
}

/// Group and kind of everything that a rule selects.
fn kinds(rule: &Rule) -> BTreeSet<(String, String)> {
    let kinds = rule.objects.iter().filter_map(|selector| selector.kind.as_ref());
    kinds.map(|kind| (kind.group().to_owned(), kind.kind.clone())).collect()
}

fn concern<'a>(workspace: &Workspace, rules: impl Iterator<Item = &'a Rule>) -> Concern {
    let mut concern = Concern::default();
    let mut named = BTreeSet::new();
    for selector in rules.flat_map(|rule| &rule.objects) {
        named.extend(selector.kind.as_ref().map(|kind| (kind.api_version.clone(), kind.kind.clone())));
        concern.everywhere |= workspace.as_str() == ROOT && !selector.workspaces.is_empty();
    }
    concern.kinds = named.into_iter().collect();
    concern
}

/// Whether a rule of `home` speaks for an object of `workspace`, which is at `path`. Those of the root workspace may
/// name others.
fn speaks(rule: &Rule, home: &Workspace, (workspace, path): (&Workspace, &str), object: &Value) -> bool {
    let reaches = |workspaces: &[String]| home == workspace || (home.as_str() == ROOT && !workspaces.is_empty());
    let mut selectors = rule.objects.iter().filter(|selector| reaches(&selector.workspaces));
    selectors.any(|selector| selector.strength(object, path).is_some()) && native::speaks_for(rule, object, path)
}

impl Rulebook for Book {
    fn forget(&self) {
        self.volumes.lock().draft = Some(Pages::default());
    }

    fn caught_up(&self) {
        self.volumes.lock().close();
        self.whole.send_replace(true);
    }

    fn whole(&self) -> watch::Receiver<bool> {
        self.whole.subscribe()
    }

    fn edition(&self) -> u64 {
        self.volumes.lock().edition
    }

    fn reads(&self, group: &str, resource: &str) -> bool {
        READ.contains(&(group, resource))
    }

    fn learn(&self, workspace: &Workspace, before: Option<&Object>, now: Option<&Object>) -> Concern {
        let Some(entry) = read(before, now, &self.scripts, self.compat) else { return Concern::default() };
        self.volumes.lock().learn(workspace, entry)
    }

    fn selects(&self, group: &str, kind: &str) -> bool {
        let (volumes, kind) = (self.volumes.lock(), (group.to_owned(), kind.to_owned()));
        volumes.told.kinds.contains_key(&kind)
            || volumes.draft.as_ref().is_some_and(|draft| draft.kinds.contains_key(&kind))
    }

    fn concerns_of(&self, workspace: &Workspace) -> Concern {
        let volumes = self.volumes.lock();
        let pages = volumes.draft.as_ref().unwrap_or(&volumes.told);
        pages.workspaces.get(workspace).map(|page| concern(workspace, page.placing())).unwrap_or_default()
    }

    fn rules_for(&self, workspace: &Workspace, object: &Value, placed: Option<&Object>) -> Vec<Bound> {
        let path = self.path_of(workspace);
        let pages = &self.volumes.lock().told;
        let mut bound = Vec::new();
        let root = Workspace::new(ROOT);
        let above = Some(&root).filter(|root| *root != workspace);
        for home in std::iter::once(workspace).chain(above) {
            let Some(page) = pages.workspaces.get(home) else { continue };
            let native = page.rules.values().filter(|rule| speaks(rule, home, (workspace, &path), object)).cloned();
            let claimed = if home == workspace { page.claimed(object, &held(placed, home)) } else { None };
            bound.extend(native.chain(claimed).map(|rule| Bound { home: home.clone(), rule }));
        }
        bound
    }

    fn interpreter(&self, workspace: &Workspace, kind: &Kind) -> Interpreter {
        let pages = &self.volumes.lock().told;
        let of = |workspace: &Workspace| pages.workspaces.get(workspace)?.interpreters.get(kind);
        let own = of(workspace).cloned().unwrap_or_default();
        of(&Workspace::new(ROOT)).map_or(own.clone(), |above| own.or(above))
    }

    fn path_of(&self, workspace: &Workspace) -> String {
        (self.paths)(workspace).unwrap_or_else(|| workspace.to_string())
    }

    fn problem(&self, rule: &Object) -> Option<String> {
        native::compile(&Value::from(rule.clone())).err().map(|error| error.to_string())
    }

    fn cell(&self, object: &Object) -> Cell {
        native::cell(&Value::from(object.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(tree: Value) -> Object {
        tree.try_into().unwrap()
    }

    fn rule(name: &str, workspaces: &[&str]) -> Object {
        object(json!({
            "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "FederationRule", "metadata": { "name": name },
            "spec": { "objects": [{ "apiVersion": "v1", "kind": "ConfigMap" }], "workspaces": workspaces },
        }))
    }

    fn policy(name: &str, priority: i64) -> Object {
        let selector = json!([{ "apiVersion": "v1", "kind": "ConfigMap" }]);
        object(json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": { "name": name, "namespace": "n" },
            "spec": { "priority": priority, "resourceSelectors": selector, "placement": {} },
        }))
    }

    fn names(book: &Book, workspace: &str) -> Vec<String> {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "n" } });
        book.rules_for(&Workspace::new(workspace), &map, None).into_iter().map(|bound| bound.rule.name).collect()
    }

    #[test]
    fn rules_speak_for_their_own_workspace_and_those_of_the_root_for_whom_they_name() {
        let book = Book::default();
        book.learn(&Workspace::new("w"), None, Some(&rule("own", &[])));
        book.learn(&Workspace::new("v"), None, Some(&rule("reaching", &["w"])));
        book.learn(&Workspace::new("root"), None, Some(&rule("provided", &["w"])));
        let mut found = names(&book, "w");
        found.sort();
        assert_eq!(found, ["own", "provided"]);
        assert!(names(&book, "v").is_empty(), "it names another workspace than its own");
        assert!(names(&book, "root").is_empty());
    }

    #[test]
    fn what_is_told_anew_is_answered_as_before_until_all_of_it_was_told() {
        let (book, workspace) = (Book::default(), Workspace::new("w"));
        book.forget();
        book.learn(&workspace, None, Some(&rule("one", &[])));
        assert!(names(&book, "w").is_empty() && !*book.whole().borrow() && book.selects("", "ConfigMap"));
        book.caught_up();
        assert!(*book.whole().borrow());
        let edition = book.edition();
        book.forget();
        assert_eq!(
            (names(&book, "w"), *book.whole().borrow(), book.edition()),
            (vec!["one".to_owned()], true, edition)
        );
        book.learn(&workspace, None, Some(&rule("two", &[])));
        assert_eq!(names(&book, "w"), ["one"]);
        book.caught_up();
        assert_eq!(names(&book, "w"), ["two"], "what is no more was not told");
        assert!(book.edition() > edition);
        book.learn(&workspace, None, Some(&rule("three", &[])));
        assert_eq!(names(&book, "w"), ["three", "two"]);
    }

    #[test]
    fn workspaces_are_named_by_their_paths() {
        let book = Book::new(
            Box::new(|workspace| Some(format!("root:projects:{workspace}"))),
            Scripts::default(),
            Compat::Mended,
        );
        book.learn(&Workspace::new("root"), None, Some(&rule("below", &["root:projects:*"])));
        book.learn(&Workspace::new("root"), None, Some(&rule("elsewhere", &["root:others:*"])));
        assert_eq!(names(&book, "w"), ["below"]);
    }

    #[test]
    fn one_policy_of_karmada_speaks_for_an_object_with_the_overrides_that_concern_it() {
        let (book, workspace) = (Book::default(), Workspace::new("w"));
        book.learn(&workspace, None, Some(&policy("low", 1)));
        book.learn(&workspace, None, Some(&policy("high", 2)));
        let labels = json!([{ "operator": "add", "value": { "a": "b" } }]);
        let overriding = json!({
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy",
            "metadata": { "name": "o", "namespace": "n" },
            "spec": { "overrideRules": [{ "overriders": { "labelsOverrider": labels } }] },
        });
        let concern = book.learn(&workspace, None, Some(&object(overriding)));
        assert!(concern.kinds.contains(&("v1".to_owned(), "ConfigMap".to_owned())));
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "n" } });
        let bound = book.rules_for(&workspace, &map, None);
        assert_eq!(bound.len(), 1);
        assert_eq!((bound[0].rule.name.as_str(), bound[0].rule.overrides.len()), ("n/high", 1));
    }

    #[test]
    fn a_policy_keeps_what_it_has_until_it_goes() {
        let (book, workspace) = (Book::default(), Workspace::new("w"));
        book.learn(&workspace, None, Some(&policy("low", 1)));
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "n" } });
        let rules = json!([{ "workspace": "w", "name": "n/low" }]);
        let placed = object(json!({ "metadata": { "name": "u" }, "spec": { "rules": rules } }));
        let found = |placed: Option<&Object>| book.rules_for(&workspace, &map, placed)[0].rule.name.clone();
        book.learn(&workspace, None, Some(&policy("high", 2)));
        assert_eq!((found(Some(&placed)), found(None)), ("n/low".to_owned(), "n/high".to_owned()));
        book.learn(&workspace, Some(&policy("low", 1)), None);
        assert_eq!(found(Some(&placed)), "n/high");
    }

    #[test]
    fn namespaces_go_everywhere_where_there_are_policies() {
        let (book, workspace) = (Book::default(), Workspace::new("w"));
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
        let rules = || book.rules_for(&workspace, &namespace, None).len();
        book.learn(&workspace, None, Some(&rule("own", &[])));
        assert_eq!((rules(), book.selects("", "Namespace")), (0, false));
        let kind = ("v1".to_owned(), "Namespace".to_owned());
        let concern = book.learn(&workspace, None, Some(&policy("low", 1)));
        assert!(concern.kinds.contains(&kind) && book.selects("", "Namespace"));
        assert_eq!(rules(), 1);
        assert!(!book.learn(&workspace, None, Some(&policy("high", 1))).kinds.contains(&kind), "it is there already");
        assert!(book.concerns_of(&workspace).kinds.contains(&kind), "a new cell gets them");
        book.learn(&workspace, Some(&policy("low", 1)), None);
        assert_eq!(rules(), 1);
        assert!(book.learn(&workspace, Some(&policy("high", 1)), None).kinds.contains(&kind));
        assert_eq!((rules(), book.selects("", "Namespace")), (0, false));
    }

    #[test]
    fn scripts_of_a_workspace_count_there_and_those_of_the_root_everywhere_else() {
        let book = Book::default();
        let customization = |name: &str, field: &str, script: &str| {
            object(json!({
                "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
                "metadata": { "name": name },
                "spec": { "target": { "apiVersion": "example.io/v1", "kind": "Set" },
                    "customizations": { field: { "luaScript": script } } },
            }))
        };
        let says = |truth: &str| format!("function InterpretHealth() return {truth} end");
        let own = customization("own", "healthInterpretation", &says("true"));
        let concern = book.learn(&Workspace::new("w"), None, Some(&own));
        assert_eq!(concern.kinds, [("example.io/v1".to_owned(), "Set".to_owned())]);
        let again = book.learn(&Workspace::new("w"), Some(&own), Some(&own));
        assert_eq!(again, Concern::default(), "nothing changed");
        let above = customization("above", "healthInterpretation", &says("false"));
        assert!(book.learn(&Workspace::new("root"), None, Some(&above)).everywhere);
        let kind = Kind::new("example.io/v1", "Set");
        let health = |workspace: &str| book.interpreter(&Workspace::new(workspace), &kind).health(&json!({})).unwrap();
        assert_eq!((health("w").name(), health("v").name()), ("Healthy", "Unhealthy"));
        let other = Kind::new("example.io/v2", "Set");
        assert!(!book.interpreter(&Workspace::new("w"), &other).is_scripted(), "another version is another kind");
        book.learn(&Workspace::new("w"), Some(&own), None);
        assert_eq!(health("w").name(), "Unhealthy");
    }

    #[test]
    fn what_no_rule_speaks_of_any_more_is_not_looked_at() {
        let (book, workspace, own) = (Book::default(), Workspace::new("w"), rule("own", &[]));
        book.learn(&workspace, None, Some(&own));
        assert!(book.selects("", "ConfigMap") && !book.selects("", "Secret"));
        let concern = book.learn(&workspace, Some(&own), None);
        assert_eq!(concern.kinds.len(), 1, "what it spoke for is looked at once more");
        assert!(!book.selects("", "ConfigMap"));
    }
}
