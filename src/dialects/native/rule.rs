//! From a FederationRule to a [`Rule`].

use crate::apis;
use crate::apis::FieldPath;
use crate::apis::Kind;
use crate::dialects::karmada::overrides;
use crate::dialects::read;
use crate::dialects::read::DialectError;
use crate::dialects::read::wrong;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::affinity::CellLabel;
use crate::scheduler::affinity::Field;
use crate::scheduler::affinity::Join;
use crate::scheduler::affinity::ObjectValue;
use crate::scheduler::rule::CellChoice;
use crate::scheduler::rule::Division;
use crate::scheduler::rule::Failover;
use crate::scheduler::rule::Group;
use crate::scheduler::rule::Namespaces;
use crate::scheduler::rule::NothingFits;
use crate::scheduler::rule::ObjectSelector;
use crate::scheduler::rule::Preference;
use crate::scheduler::rule::Preferences;
use crate::scheduler::rule::Release;
use crate::scheduler::rule::Rule;
use crate::scheduler::rule::Spread;
use crate::scheduler::rule::SpreadBy;
use crate::scheduler::rule::StatusFlow;
use crate::scheduler::rule::StatusUp;
use crate::scheduler::rule::Strangers;
use crate::scheduler::rule::Suspension;
use crate::scheduler::rule::Ties;
use crate::scheduler::rule::Upsync;
use crate::scheduler::rule::Weight;
use serde_json::Value;
use std::collections::BTreeSet;

pub fn compile(object: &Value) -> Result<Rule, DialectError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let said = |key| apis::text(spec, &[key]);
    let flag = |key: &str| spec.get(key).and_then(Value::as_bool).unwrap_or(false);
    let part = |key: &str| spec.get(key).unwrap_or(&Value::Null);
    let rule = Rule {
        name: apis::text(object, &["metadata", "name"]).unwrap_or_default().to_owned(),
        objects: read::each(apis::list(spec, &["objects"]), |selector| objects(selector, spec))?,
        cells: cells(part("cells"))?,
        replicas: apis::at(spec, &["replicas"]).map(division).transpose()?,
        follow: flag("follow"),
        overrides: overrides::compile(&overriding(spec))?.overrides,
        retain: read::each(apis::list(spec, &["retain"]), field_path)?,
        status: StatusFlow { up: status_up(part("status")), down: part("status")["down"].as_bool().unwrap_or(false) },
        upsync: read::each(apis::list(spec, &["upsync"]), upsync)?,
        namespaces: said("namespaces").map(|said| if said == "Same" { Namespaces::Same } else { Namespaces::ByUid }),
        strangers: said("strangers").map(|said| if said == "Adopt" { Strangers::Adopt } else { Strangers::Leave }),
        suspension: suspension(part("suspend")),
        preserve_on_deletion: flag("preserveOnDeletion"),
        nothing_fits: if said("nothingFits") == Some("Withdraw") { NothingFits::Withdraw } else { NothingFits::Keep },
        failover: Failover { heeds_taints: true, ..Failover::default() },
        release: Release::Withdraw,
        unheeded: BTreeSet::new(),
    };
    if matches!(rule.replicas, Some(Division::Weighted(_))) && !rule.cells.spread.is_empty() {
        return Err(wrong("spec.cells.spread", "weights say how many cells share the replicas; nothing else can"));
    }
    Ok(rule)
}

/// Overrides are written as Karmada's are.
fn overriding(spec: &Value) -> Value {
    serde_json::json!({"spec": {"overrideRules": apis::list(spec, &["overrides"])}})
}

fn objects(selector: &Value, spec: &Value) -> Result<ObjectSelector, DialectError> {
    let said = |key| apis::text(selector, &[key]).filter(|text| !text.is_empty()).map(str::to_owned);
    let kind = match (said("apiVersion"), said("kind")) {
        (Some(api_version), Some(kind)) => Some(Kind::new(api_version, kind)),
        _ => return Err(wrong("spec.objects", "apiVersion and kind are needed")),
    };
    Ok(ObjectSelector {
        kind,
        workspaces: apis::texts(spec, &["workspaces"]),
        namespace: said("namespace"),
        name: said("name"),
        labels: read::label_selector(selector, "labelSelector")?,
    })
}

fn affinity(value: &Value) -> Result<Affinity, DialectError> {
    read::affinity(value, "names", "exclude")
}

fn cells(cells: &Value) -> Result<CellChoice, DialectError> {
    let groups = match apis::list(cells, &["groups"]) {
        [] if cells.is_object() => vec![Group { affinity: affinity(cells)?, ..Group::default() }],
        groups => read::each(groups, group)?,
    };
    let mut spread = read::each(apis::list(cells, &["spread"]), one_spread)?;
    if let Some(pick) = count(cells, "pick") {
        spread.retain(|spread| spread.by != SpreadBy::Cell);
        spread.push(Spread { by: SpreadBy::Cell, least: 1, most: Some(pick) });
    }
    Ok(CellChoice {
        groups,
        joins: read::each(apis::list(cells, &["joins"]), join)?,
        tolerations: read::tolerations(apis::list(cells, &["tolerations"]))?,
        spread,
        ties: Ties::Scattered,
    })
}

fn group(group: &Value) -> Result<Group, DialectError> {
    let name = apis::text(group, &["name"]).unwrap_or_default().to_owned();
    let overflow = read::each(apis::list(group, &["overflow"]), affinity)?;
    Ok(Group { name, affinity: affinity(group)?, overflow })
}

fn join(join: &Value) -> Result<Join, DialectError> {
    let said = |key| apis::text(join, &[key]).map(str::to_owned);
    let object = match (said("objectLabel"), said("objectAnnotation"), said("objectField")) {
        (Some(label), None, None) => ObjectValue::Label(label),
        (None, Some(annotation), None) => ObjectValue::Annotation(annotation),
        (None, None, Some(field)) => {
            ObjectValue::Field(FieldPath::parse(&field).map_err(|error| wrong("spec.cells.joins.objectField", error))?)
        }
        _ => return Err(wrong("spec.cells.joins", "one of objectLabel, objectAnnotation and objectField is needed")),
    };
    let cell = match (said("cellLabel"), said("cellLabelPrefix")) {
        (Some(label), None) => CellLabel::Is(label),
        (None, Some(prefix)) => CellLabel::Named { prefix, says: said("says").unwrap_or_else(|| "true".to_owned()) },
        _ => return Err(wrong("spec.cells.joins", "one of cellLabel and cellLabelPrefix is needed")),
    };
    Ok(Join { object, cell, optional: join["optional"].as_bool().unwrap_or(false) })
}

fn count(value: &Value, key: &str) -> Option<usize> {
    usize::try_from(apis::number(value, &[key])?).ok()
}

fn one_spread(spread: &Value) -> Result<Spread, DialectError> {
    let by = match (apis::text(spread, &["by"]).unwrap_or_default(), apis::text(spread, &["label"])) {
        ("cell", None) => SpreadBy::Cell,
        ("", Some(label)) => SpreadBy::Label(label.to_owned()),
        (field, None) => {
            let unknown = || wrong("spec.cells.spread.by", format!("{field:?} is not known"));
            SpreadBy::Field(Field::parse(field).ok_or_else(unknown)?)
        }
        _ => return Err(wrong("spec.cells.spread", "by and label exclude each other")),
    };
    Ok(Spread { by, least: count(spread, "min").unwrap_or(1).max(1), most: count(spread, "max") })
}

fn division(replicas: &Value) -> Result<Division, DialectError> {
    match apis::text(replicas, &["divide"]).unwrap_or("Duplicated") {
        "Duplicated" => Ok(Division::Duplicated),
        "Available" => Ok(Division::Available),
        "Aggregated" => Ok(Division::Aggregated),
        "Weighted" => Ok(Division::Weighted(read::each(apis::list(replicas, &["weights"]), weight)?)),
        "Preferred" => Ok(Division::Preferred(preferences(replicas))),
        other => Err(wrong("spec.replicas.divide", format!("{other:?} is not known"))),
    }
}

fn weight(entry: &Value) -> Result<Weight, DialectError> {
    Ok(Weight { cells: affinity(entry)?, weight: apis::number(entry, &["weight"]).unwrap_or(1) })
}

fn preferences(replicas: &Value) -> Preferences {
    let preference = |entry: &Value| {
        let number = |key| apis::number(entry, &[key]);
        let (least, weight) = (number("min").unwrap_or(0), number("weight").unwrap_or(0));
        let name = apis::text(entry, &["cell"]).unwrap_or("*").to_owned();
        (name, Preference { least, most: number("max"), weight })
    };
    Preferences {
        cells: apis::list(replicas, &["preferences"]).iter().map(preference).collect(),
        rebalance: replicas["rebalance"].as_bool().unwrap_or(false),
    }
}

fn field_path(value: &Value) -> Result<FieldPath, DialectError> {
    FieldPath::parse(value.as_str().unwrap_or_default()).map_err(|error| wrong("spec.retain", error))
}

fn status_up(status: &Value) -> StatusUp {
    if apis::text(status, &["up"]) == Some("Off") {
        return StatusUp::Off;
    }
    match apis::texts(status, &["sum"]) {
        fields if fields.is_empty() => StatusUp::Known,
        fields => StatusUp::Summed(fields.into_iter().collect()),
    }
}

fn upsync(entry: &Value) -> Result<Upsync, DialectError> {
    let said = |key| apis::text(entry, &[key]).unwrap_or_default();
    Ok(Upsync {
        kind: Kind::new(said("apiVersion"), said("kind")),
        labels: read::label_selector(entry, "labelSelector")?,
    })
}

fn suspension(suspend: &Value) -> Suspension {
    if suspend["everywhere"].as_bool() == Some(true) {
        return Suspension::Everywhere;
    }
    match apis::texts(suspend, &["cells"]) {
        cells if cells.is_empty() => Suspension::None,
        cells => Suspension::In(cells.into_iter().collect()),
    }
}
