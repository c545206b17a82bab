//! Where rules come from, as far as the scheduler cares.

use crate::apis::Kind;
use crate::apis::interpret::Interpreter;
use crate::scheduler::Cell;
use crate::scheduler::rule::Rule;
use apiserver::object::Object;
use apiserver::place::Workspace;
use serde_json::Value;
use tokio::sync::watch;

/// A rule and the workspace it is kept in: its cells are those of the same workspace.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub home: Workspace,
    pub rule: Rule,
}

/// What a change of a rule concerns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Concern {
    /// Objects of these kinds; with the version that the rule names.
    pub kinds: Vec<(String, String)>,
    /// In all workspaces, or only in that of the rule.
    pub everywhere: bool,
}

/// All rules there are, of whatever dialect. Asked for often: answers come from memory.
pub trait Rulebook: Send + Sync + 'static {
    /// Everything will be told anew. Until all of it was, the answers are those of before.
    fn forget(&self);

    /// Everything there was has been told.
    fn caught_up(&self);

    /// Whether everything was told at least once. Before that there are rules that nobody knows of.
    fn whole(&self) -> watch::Receiver<bool>;

    /// Another number whenever something else may be answered than before; it is there before the other answer.
    fn edition(&self) -> u64;

    /// Whether rules are made of this resource.
    fn reads(&self, group: &str, resource: &str) -> bool;

    /// Learns of a change of such a resource.
    fn learn(&self, workspace: &Workspace, before: Option<&Object>, now: Option<&Object>) -> Concern;

    /// Whether any rule speaks for objects of this kind, anywhere.
    fn selects(&self, group: &str, kind: &str) -> bool;

    /// What all rules of a workspace concern.
    fn concerns_of(&self, workspace: &Workspace) -> Concern;

    /// The rules that speak for an object. `placed` is what was decided last: some rules keep what they have.
    fn rules_for(&self, workspace: &Workspace, object: &Value, placed: Option<&Object>) -> Vec<Bound>;

    /// Who knows what objects of a kind mean in a workspace.
    fn interpreter(&self, workspace: &Workspace, kind: &Kind) -> Interpreter;

    /// What people call a workspace; its id, if it has no other name.
    fn path_of(&self, workspace: &Workspace) -> String;

    /// Why a rule cannot be followed, if it cannot.
    fn problem(&self, rule: &Object) -> Option<String>;

    /// What is known of a cell, read from its object.
    fn cell(&self, object: &Object) -> Cell;
}
