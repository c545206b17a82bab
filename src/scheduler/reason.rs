//! Why a cell was not chosen, and why an object is not where it should be, in words a user can act on.

use super::cell::Taint;
use crate::apis::Kind;
use std::fmt;

/// A cell and why it does not get the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub cell: String,
    /// Which rule asked.
    pub rule: String,
    pub reason: Reason,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    Leaving,
    Excluded,
    NotNamed,
    LabelsDiffer(String),
    FieldDiffers(&'static str),
    ObjectSaysNothing(String),
    JoinDiffers { object: String, wanted: String, label: String, found: Option<String> },
    NotServed(Kind),
    Tainted(Taint),
    NotReady,
    Evicted,
    NoTopology(String),
    GroupNotChosen { by: String, group: String },
    EnoughCells(usize),
    NoWeight,
    NoReplica,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaving => write!(f, "the cell is being removed"),
            Self::Excluded => write!(f, "the rule excludes it by name"),
            Self::NotNamed => write!(f, "the rule names other cells"),
            Self::LabelsDiffer(selector) => write!(f, "its labels do not match {selector:?}"),
            Self::FieldDiffers(field) => write!(f, "the rule asks for another {field}"),
            Self::ObjectSaysNothing(what) => write!(f, "the object has no {what}, and the rule matches cells by it"),
            Self::JoinDiffers { object, wanted, label, found } => match found {
                None => write!(f, "the object's {object} is {wanted:?}, the cell has no label {label}"),
                Some(found) if *object == format!("label {label}") => {
                    write!(f, "{object} is {wanted:?} on the object, {found:?} on the cell")
                }
                Some(found) => {
                    write!(f, "the object's {object} is {wanted:?}, the cell's label {label} is {found:?}")
                }
            },
            Self::NotServed(kind) => write!(f, "it does not serve {kind}"),
            Self::Tainted(taint) => write!(f, "taint {taint} is not tolerated"),
            Self::NotReady => write!(f, "it is not ready"),
            Self::Evicted => write!(f, "the object was evicted from it"),
            Self::NoTopology(what) => write!(f, "its {what} is not known, and the rule spreads by it"),
            Self::GroupNotChosen { by, group } => write!(f, "{by} {group:?} was not chosen"),
            Self::EnoughCells(number) => write!(f, "{number} other cells are enough"),
            Self::NoWeight => write!(f, "the rule gives it no weight"),
            Self::NoReplica => write!(f, "no replica is left for it"),
        }
    }
}

/// Why an object is not, or not only, where its rules want it.
#[derive(Clone, Debug, PartialEq)]
pub enum Trouble {
    /// No cell passes; `kept` says how many cells hold on to what they have.
    NothingFits { rule: String, asked: usize, kept: usize },
    /// There is not room for all replicas; what was decided before stays.
    Short { rule: String, available: i64, wanted: i64 },
    /// The cells cannot be spread as the rule asks; what was decided before stays.
    CannotSpread { rule: String, by: String, found: usize, least: usize },
    /// Rules that cannot hold at the same time; what was decided before stays.
    Conflict { rules: Vec<String>, about: String },
    /// The object should leave a cell, and stays because there is nowhere else for it.
    CannotEvict { cell: String, why: String },
    /// A script did not say what the object asks for; what was decided before stays.
    Unclear(String),
}

impl Trouble {
    /// One word for a condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NothingFits { .. } => "NoCellFits",
            Self::Short { .. } => "NotEnoughCapacity",
            Self::CannotSpread { .. } => "CannotSpread",
            Self::Conflict { .. } => "RulesConflict",
            Self::CannotEvict { .. } => "CannotEvict",
            Self::Unclear(_) => "CannotInterpret",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingFits { rule, asked, kept: 0 } => write!(f, "none of {asked} cells fits rule {rule}"),
            Self::NothingFits { rule, asked, kept } => {
                write!(f, "none of {asked} cells fits rule {rule}; the copies in {kept} are kept")
            }
            Self::Short { rule, available, wanted } => {
                write!(f, "the cells of rule {rule} have room for {available} of {wanted} replicas")
            }
            Self::CannotSpread { rule, by, found, least } => {
                write!(f, "rule {rule} needs at least {least} of {by}, only {found} available")
            }
            Self::CannotEvict { cell, why } => write!(f, "it should leave cell {cell}, but stays: {why}"),
            Self::Unclear(why) => f.write_str(why),
            Self::Conflict { rules, about } => write!(f, "rules {} disagree about {about}", rules.join(", ")),
        }
    }
}
