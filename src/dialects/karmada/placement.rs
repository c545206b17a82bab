//! The placement of a policy: which clusters, and how replicas are divided.

use super::Compat;
use crate::apis;
use crate::dialects::read;
use crate::dialects::read::DialectError;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::affinity::Field;
use crate::scheduler::rule::CellChoice;
use crate::scheduler::rule::Division;
use crate::scheduler::rule::Group;
use crate::scheduler::rule::Spread;
use crate::scheduler::rule::SpreadBy;
use crate::scheduler::rule::Ties;
use crate::scheduler::rule::Weight;
use serde_json::Value;

pub(super) fn compile(placement: &Value, compat: Compat) -> Result<(CellChoice, Division), DialectError> {
    let groups = match apis::at(placement, &["clusterAffinity"]) {
        Some(one) => vec![Group { affinity: affinity(one)?, ..Group::default() }],
        None => read::each(apis::list(placement, &["clusterAffinities"]), group)?,
    };
    let choice = CellChoice {
        groups,
        joins: Vec::new(),
        tolerations: read::tolerations(apis::list(placement, &["clusterTolerations"]))?,
        spread: spread(apis::list(placement, &["spreadConstraints"]), compat)?,
        ties: Ties::ByName,
    };
    Ok((choice, division(placement.get("replicaScheduling").unwrap_or(&Value::Null))?))
}

pub(super) fn affinity(value: &Value) -> Result<Affinity, DialectError> {
    read::affinity(value, "clusterNames", "exclude")
}

fn group(term: &Value) -> Result<Group, DialectError> {
    let name = apis::text(term, &["affinityName"]).unwrap_or_default().to_owned();
    let overflow = read::each(apis::list(term, &["overflowAffinities"]), affinity)?;
    Ok(Group { name, affinity: affinity(term)?, overflow })
}

fn spread(constraints: &[Value], compat: Compat) -> Result<Vec<Spread>, DialectError> {
    let by_cell = constraints.iter().any(|one| apis::text(one, &["spreadByField"]) == Some("cluster"));
    let mut read = Vec::new();
    for constraint in constraints {
        read.extend(one_spread(constraint, by_cell, compat)?);
    }
    Ok(read)
}

fn one_spread(constraint: &Value, by_cell: bool, compat: Compat) -> Result<Option<Spread>, DialectError> {
    let groups = |key| apis::number(constraint, &[key]).and_then(|groups| usize::try_from(groups).ok());
    let faithful = compat == Compat::Karmada118;
    let most =
        if faithful { Some(groups("maxGroups").unwrap_or(0)) } else { groups("maxGroups").filter(|most| *most > 0) };
    let least = groups("minGroups").unwrap_or(1).max(1);
    let label = apis::text(constraint, &["spreadByLabel"]).filter(|label| !label.is_empty());
    let by = match (label, apis::text(constraint, &["spreadByField"]).unwrap_or_default()) {
        // Karmada cannot spread by labels: beside a number of clusters it does not try, otherwise it fails.
        (Some(_), _) if faithful && by_cell => return Ok(None),
        (Some(label), _) if faithful => {
            let by = SpreadBy::Label(label.to_owned());
            return Ok(Some(Spread { by, least: usize::MAX, most: Some(0) }));
        }
        (Some(label), _) => SpreadBy::Label(label.to_owned()),
        // What says neither is about clusters.
        (None, "cluster" | "") => SpreadBy::Cell,
        (None, field) => {
            let unknown = || read::wrong("spreadConstraints.spreadByField", format!("{field:?} is not known"));
            let field = Field::parse(field).ok_or_else(unknown)?;
            if faithful && field != Field::Region { SpreadBy::Known(field) } else { SpreadBy::Field(field) }
        }
    };
    Ok(Some(Spread { by, least, most }))
}

/// Left out, everything is duplicated; given without a type, it is divided; without a preference, by weight.
fn division(scheduling: &Value) -> Result<Division, DialectError> {
    if scheduling.is_null() || apis::text(scheduling, &["replicaSchedulingType"]) == Some("Duplicated") {
        return Ok(Division::Duplicated);
    }
    if apis::text(scheduling, &["replicaDivisionPreference"]) == Some("Aggregated") {
        return Ok(Division::Aggregated);
    }
    let preference = scheduling.get("weightPreference").unwrap_or(&Value::Null);
    if apis::text(preference, &["dynamicWeight"]).is_some_and(|factor| !factor.is_empty()) {
        return Ok(Division::Available);
    }
    let weight = |entry: &Value| {
        let cells = affinity(entry.get("targetCluster").unwrap_or(&Value::Null))?;
        Ok(Weight { cells, weight: apis::number(entry, &["weight"]).unwrap_or(0) })
    };
    Ok(Division::Weighted(read::each(apis::list(preference, &["staticWeightList"]), weight)?))
}
