//! When an indexed Job has succeeded before all of its pods have.

use super::tree::{Errors, Node};

const RULES_MAX: usize = 20;
const INDEXES_BYTES_MAX: usize = 64 * 1024;

pub(super) fn success_policy(errors: &mut Errors, spec: &Node) {
    let rules = spec.at("successPolicy").at("rules");
    let completions = spec.at("completions").int();
    if rules.is_empty() {
        errors.required(&rules, "at least one rules must be specified when the successPolicy is specified");
    }
    if rules.len() > RULES_MAX {
        errors.too_many(&rules, RULES_MAX);
    }
    for rule in rules.items() {
        self::rule(errors, &rule, completions);
    }
}

fn rule(errors: &mut Errors, rule: &Node, completions: i64) {
    let (count, indexes) = (rule.at("succeededCount"), rule.at("succeededIndexes"));
    if !count.exists() && !indexes.exists() {
        errors.required(rule, "at least one of succeededCount or succeededIndexes must be specified");
    }
    if indexes.len() > INDEXES_BYTES_MAX {
        errors.too_long(&indexes, INDEXES_BYTES_MAX);
    }
    let total = total(indexes.text(), completions);
    if let Err(problem) = &total {
        errors.invalid(&indexes, format!("error parsing succeededIndexes: {problem}"));
    }
    if !count.exists() {
        return;
    }
    errors.negative(&count);
    if count.int() > completions {
        errors.invalid(
            &count,
            format!("must be less than or equal to {completions} (the number of specified completions)"),
        );
    }
    let total = total.unwrap_or(0);
    if indexes.exists() && count.int() > total {
        let what = "(the number of indexes in the specified succeededIndexes field)";
        errors.invalid(&count, format!("must be less than or equal to {total} {what}"));
    }
}

/// How many indexes a text such as `1,3-5,7` names.
fn total(text: &str, completions: i64) -> Result<i64, String> {
    let (mut total, mut last) = (0, None);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let (start, end) = interval(part, completions)?;
        if let Some(last) = last.filter(|last| *last >= start) {
            return Err(format!("non-increasing order, previous: {last}, current: {start}"));
        }
        total += end - start + 1;
        last = Some(end);
    }
    Ok(total)
}

fn interval(text: &str, completions: i64) -> Result<(i64, i64), String> {
    let bounds: Vec<&str> = text.split('-').collect();
    if bounds.len() > 2 {
        let rule = "violates the requirement that an index interval can have at most two parts separated by '-'";
        return Err(format!("the fragment {text:?} {rule}"));
    }
    let index = |text: &str| match text.parse::<i64>() {
        Err(_) => Err(format!("cannot convert string to integer for index: {text:?}")),
        Ok(index) if index >= completions => Err(format!("too large index: {text:?}")),
        Ok(index) => Ok(index),
    };
    let start = index(bounds[0])?;
    let end = bounds.get(1).map_or(Ok(start), |end| index(end))?;
    if bounds.len() == 2 && start >= end {
        return Err(format!("non-increasing order, previous: {start}, current: {end}"));
    }
    Ok((start, end))
}
