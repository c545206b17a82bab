//! What to do next about one object in one cell: a pure function of what is wanted, recorded and there.

use super::actual::{Actual, Known};

/// What the record of a copy says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Recorded {
    /// Of what was applied last; empty if nothing was, as far as is known.
    pub(super) hash: String,
    /// The UID that the object has in the cell; empty if it is not known to be there.
    pub(super) uid: String,
    pub(super) fields: String,
    /// The same of its status.
    pub(super) status_hash: String,
    pub(super) status_fields: String,
    /// The object was there before us and is not ours.
    pub(super) found: bool,
    /// It is about another object of the cell than what is wanted now.
    pub(super) elsewhere: bool,
    /// Somebody wants the record gone, and with it the object.
    pub(super) going: bool,
}

/// What is known.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Situation<'a> {
    pub(super) source: &'a str,
    /// The hash of what is wanted, if anything is.
    pub(super) wanted: Option<&'a str>,
    /// The same of the status that the cell gets to see, if it does.
    pub(super) status: Option<&'a str>,
    pub(super) recorded: Option<&'a Recorded>,
    pub(super) known: &'a Known,
    /// The namespace that it goes into is there.
    pub(super) has_namespace: bool,
    pub(super) suspended: bool,
    /// It can be made, and the cell serves its kind.
    pub(super) possible: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Nothing,
    /// Write down what is about to be put into the cell.
    Record,
    /// Let the cell tell of this kind of objects.
    Watch,
    /// See to the namespace first.
    Namespace,
    /// Nothing is known to be there: put it there, unless something is.
    Make,
    /// Ask the cell what is there, then apply unless it is somebody else's.
    LookAndApply,
    /// It is known to be ours.
    Apply,
    /// Only its status is not what it should be.
    ApplyStatus,
    /// It cannot be made: say why.
    Explain,
    /// Somebody deletes it there; when it is gone, it is made anew.
    AwaitEnd,
    /// Take it back.
    Withdraw,
    /// Nothing is there any more, or nothing that was ours.
    Forget,
}

pub(super) fn step(seen: &Situation<'_>) -> Step {
    let Some(recorded) = seen.recorded else {
        return if seen.wanted.is_some() { Step::Record } else { Step::Nothing };
    };
    match seen.wanted {
        None if recorded.found => Step::Forget,
        None => Step::Withdraw,
        Some(_) if recorded.going && recorded.found && !is_ours(seen) => Step::Forget,
        Some(_) if recorded.going || recorded.elsewhere => Step::Withdraw,
        Some(_) if recorded.found && !is_ours(seen) => Step::Nothing,
        Some(_) if seen.suspended => Step::Nothing,
        Some(_) if !seen.possible => Step::Explain,
        Some(_) if !seen.has_namespace => Step::Namespace,
        Some(hash) => towards(hash, recorded, seen),
    }
}

/// Whether what is there says that it is the copy of our source.
fn is_ours(seen: &Situation<'_>) -> bool {
    matches!(seen.known, Known::Present(actual) if actual.source == seen.source)
}

fn towards(hash: &str, recorded: &Recorded, seen: &Situation<'_>) -> Step {
    match seen.known {
        Known::Nothing => Step::Watch,
        Known::Present(actual) if actual.source == seen.source && actual.deleting => Step::AwaitEnd,
        Known::Present(actual) if actual.source == seen.source => {
            if !stands(hash, recorded, actual) {
                Step::Apply
            } else if seen.status.is_some_and(|hash| !status_stands(hash, recorded, actual)) {
                Step::ApplyStatus
            } else {
                Step::Nothing
            }
        }
        Known::Present(_) => Step::LookAndApply,
        // What others have put there is not told of.
        Known::Absent => Step::Make,
    }
}

/// Whether what is there is what was applied, and what was applied is what is wanted.
fn stands(hash: &str, recorded: &Recorded, actual: &Actual) -> bool {
    recorded.hash == hash && recorded.uid == actual.uid && recorded.fields == actual.fields
}

fn status_stands(hash: &str, recorded: &Recorded, actual: &Actual) -> bool {
    recorded.status_hash == hash && recorded.status_fields == actual.status_fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Recorded {
        Recorded { hash: "h".into(), uid: "u".into(), fields: "f".into(), ..Recorded::default() }
    }

    fn there() -> Actual {
        Actual {
            uid: "u".into(),
            source: "s".into(),
            fields: "f".into(),
            status_fields: String::new(),
            generation: 1,
            deleting: false,
            status: None,
        }
    }

    /// What follows when everything is as it should be, changed by `change`.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Option<&str>, &mut Option<Recorded>, &mut Known), expect: Step) {
        let (mut wanted, mut record, mut known) = (Some("h"), Some(recorded()), Known::Present(there()));
        change(&mut wanted, &mut record, &mut known);
        assert_eq!(step(&situation(wanted, record.as_ref(), &known)), expect);
    }

    fn situation<'a>(wanted: Option<&'a str>, recorded: Option<&'a Recorded>, known: &'a Known) -> Situation<'a> {
        let (has_namespace, suspended, possible) = (true, false, true);
        Situation { source: "s", wanted, status: None, recorded, known, has_namespace, suspended, possible }
    }

    #[test]
    fn a_status_is_told_when_all_else_stands() {
        let (mut recorded, known) = (recorded(), Known::Present(there()));
        let next = |status: &str, recorded: &Recorded| {
            step(&Situation { status: Some(status), ..situation(Some("h"), Some(recorded), &known) })
        };
        assert_eq!(next("t", &recorded), Step::ApplyStatus);
        recorded.status_hash = "t".into();
        assert_eq!(next("t", &recorded), Step::Nothing);
        recorded.status_fields = "what the cell has taken from us".into();
        assert_eq!(next("t", &recorded), Step::ApplyStatus);
        recorded.hash = "other".into();
        assert_eq!(next("t", &recorded), Step::Apply);
    }

    #[test]
    fn what_cannot_be_made_is_explained_and_still_taken_back() {
        let (recorded, known) = (recorded(), Known::Nothing);
        let impossible = |wanted| Situation { possible: false, ..situation(wanted, Some(&recorded), &known) };
        assert_eq!(step(&impossible(Some("h"))), Step::Explain);
        assert_eq!(step(&impossible(None)), Step::Withdraw);
    }

    fn present(change: impl FnOnce(&mut Actual)) -> Known {
        let mut actual = there();
        change(&mut actual);
        Known::Present(actual)
    }

    #[test]
    fn what_is_as_it_should_be_costs_nothing() {
        check(|_, _, _| {}, Step::Nothing);
        check(|wanted, record, _| (*wanted, *record) = (None, None), Step::Nothing);
    }

    #[test]
    fn nothing_is_put_into_a_cell_before_it_is_written_down() {
        check(|_, record, known| (*record, *known) = (None, Known::Absent), Step::Record);
        check(|_, record, known| (*record, *known) = (Some(Recorded::default()), Known::Nothing), Step::Watch);
        check(|_, record, known| (*record, *known) = (Some(Recorded::default()), Known::Absent), Step::Make);
    }

    #[test]
    fn what_changed_here_or_drifted_there_is_applied() {
        check(|wanted, _, _| *wanted = Some("other"), Step::Apply);
        check(|_, _, known| *known = present(|actual| actual.fields = "fewer".into()), Step::Apply);
        check(|_, _, known| *known = present(|actual| actual.uid = "made anew".into()), Step::Apply);
        check(|_, _, known| *known = Known::Absent, Step::Make);
        check(|_, _, known| *known = present(|actual| actual.deleting = true), Step::AwaitEnd);
    }

    #[test]
    fn the_copy_of_a_predecessor_is_looked_at_before_anything_is_done() {
        check(|_, _, known| *known = present(|actual| actual.source = "former".into()), Step::LookAndApply);
    }

    #[test]
    fn what_is_not_wanted_is_taken_back_but_never_what_was_found() {
        check(|wanted, _, _| *wanted = None, Step::Withdraw);
        check(|wanted, _, known| (*wanted, *known) = (None, Known::Nothing), Step::Withdraw);
        let found = |record: &mut Option<Recorded>| *record = Some(Recorded { found: true, ..recorded() });
        let other = || present(|actual| actual.source = "other".into());
        for there in [Known::Nothing, Known::Absent, other()] {
            check(|_, record, known| (*known = there, found(record)).1, Step::Nothing);
        }
        let became_ours = |record: &mut Option<Recorded>| {
            *record = Some(Recorded { found: true, ..Recorded::default() });
        };
        check(|_, record, _| became_ours(record), Step::Apply);
        check(|wanted, record, _| (*wanted, _) = (None, found(record)), Step::Forget);
        check(|_, record, _| *record = Some(Recorded { elsewhere: true, ..recorded() }), Step::Withdraw);
        check(|_, record, _| *record = Some(Recorded { going: true, ..recorded() }), Step::Withdraw);
        let found_and_going = Recorded { going: true, found: true, ..recorded() };
        check(|_, record, known| (*record, *known) = (Some(found_and_going), Known::Absent), Step::Forget);
    }
}
