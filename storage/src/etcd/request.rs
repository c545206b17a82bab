//! A transaction in etcd's words, and what etcd's answer says of it.

use super::envelope;
use super::prefix::Prefix;
use crate::seal::Seal;
use crate::txn::{Expect, Revision, Txn, Write};
use etcd_client::proto::{PbTxnOpResponse, PbTxnResponse};
use etcd_client::{Compare, CompareOp, GetOptions, TxnOp};

/// No key was ever changed at it: what cannot be is asked for by this.
const NEVER: i64 = -1;

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// `changed` says of each write whether it did something.
    Committed { revision: Revision, changed: Vec<bool> },
    /// Its conditions hold, and it had nothing to change.
    Nothing,
    /// The condition at this place among the transaction's does not hold.
    Conflict { nth: usize, found: Option<Revision> },
}

/// Conditions, writes, and for the case that the conditions do not hold, a look at every key they name.
pub(super) fn request(prefix: &Prefix, txn: &Txn, seal: &Seal) -> etcd_client::Txn {
    let conditions: Vec<_> = txn
        .expects
        .iter()
        .map(|(key, expect)| {
            let revision = match expect {
                Expect::Absent => 0,
                // Zero is etcd's word for absence, and no commit's number.
                Expect::At(Revision::ZERO) => NEVER,
                Expect::At(revision) => i64::try_from(revision.0).unwrap_or(NEVER),
            };
            Compare::mod_revision(prefix.key(key), CompareOp::Equal, revision)
        })
        .collect();
    let writes: Vec<_> = txn
        .writes
        .iter()
        .map(|(key, write)| match write {
            Write::Put(draft) => TxnOp::put(prefix.key(key), envelope::encode(key, draft, seal), None),
            Write::Delete => TxnOp::delete(prefix.key(key), None),
        })
        .collect();
    let look = GetOptions::new().with_keys_only();
    let looks: Vec<_> = txn.expects.iter().map(|(key, _)| TxnOp::get(prefix.key(key), Some(look.clone()))).collect();
    etcd_client::Txn::new().when(conditions).and_then(writes).or_else(looks)
}

/// `None` if the answer does not fit the question.
pub(super) fn outcome(txn: &Txn, answer: PbTxnResponse) -> Option<Outcome> {
    let operations = answer.responses.into_iter().map(|operation| operation.response);
    if answer.succeeded {
        let changed = operations.map(|operation| match operation {
            Some(PbTxnOpResponse::ResponsePut(_)) => true,
            Some(PbTxnOpResponse::ResponseDeleteRange(deleted)) => deleted.deleted > 0,
            _ => false,
        });
        let changed: Vec<_> = changed.collect();
        if !changed.contains(&true) {
            return Some(Outcome::Nothing);
        }
        return Some(Outcome::Committed { revision: revision(answer.header?.revision)?, changed });
    }
    let found = operations.map(|operation| match operation {
        Some(PbTxnOpResponse::ResponseRange(range)) => Some(range.kvs.first().and_then(|kv| revision(kv.mod_revision))),
        _ => None,
    });
    for (nth, ((_, expect), found)) in txn.expects.iter().zip(found).enumerate() {
        let found = found?;
        let holds = match expect {
            Expect::Absent => found.is_none(),
            Expect::At(revision) => found == Some(*revision),
        };
        if !holds {
            return Some(Outcome::Conflict { nth, found });
        }
    }
    None
}

/// etcd's numbers are signed, and positive.
pub(super) fn revision(number: i64) -> Option<Revision> {
    u64::try_from(number).ok().map(Revision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use etcd_client::proto::{
        PbDeleteResponse, PbKeyValue, PbPutResponse, PbRangeResponse, PbResponseHeader, PbResponseOp,
    };

    fn answer(succeeded: bool, operations: Vec<PbTxnOpResponse>) -> PbTxnResponse {
        let responses = operations.into_iter().map(|operation| PbResponseOp { response: Some(operation) }).collect();
        let header = PbResponseHeader { revision: 9, ..PbResponseHeader::default() };
        PbTxnResponse { header: Some(header), succeeded, responses }
    }

    fn deleted(deleted: i64) -> PbTxnOpResponse {
        PbTxnOpResponse::ResponseDeleteRange(PbDeleteResponse { deleted, ..PbDeleteResponse::default() })
    }

    fn seen(mod_revision: Option<i64>) -> PbTxnOpResponse {
        let kvs = mod_revision.map(|mod_revision| PbKeyValue { mod_revision, ..PbKeyValue::default() });
        PbTxnOpResponse::ResponseRange(PbRangeResponse { kvs: kvs.into_iter().collect(), ..PbRangeResponse::default() })
    }

    #[test]
    fn only_what_changed_something_is_a_commit() {
        let txn = Txn::new().delete("a").delete("b");
        let check = |operations, expected| assert_eq!(outcome(&txn, answer(true, operations)), Some(expected));
        check(vec![deleted(0), deleted(0)], Outcome::Nothing);
        let committed = |changed: &[bool]| Outcome::Committed { revision: Revision(9), changed: changed.to_vec() };
        check(vec![deleted(0), deleted(1)], committed(&[false, true]));
        check(vec![PbTxnOpResponse::ResponsePut(PbPutResponse::default())], committed(&[true]));
        check(vec![], Outcome::Nothing);
    }

    #[test]
    fn the_first_condition_that_does_not_hold_is_the_conflict() {
        let txn =
            Txn::new().expect("a", Expect::Absent).expect("b", Expect::At(Revision(4))).expect("c", Expect::Absent);
        let check = |operations, expected| assert_eq!(outcome(&txn, answer(false, operations)), expected);
        let conflict = |nth, found: Option<u64>| Some(Outcome::Conflict { nth, found: found.map(Revision) });
        check(vec![seen(None), seen(Some(5)), seen(Some(6))], conflict(1, Some(5)));
        check(vec![seen(None), seen(None), seen(None)], conflict(1, None));
        check(vec![seen(Some(2)), seen(Some(4)), seen(None)], conflict(0, Some(2)));
        check(vec![seen(None), seen(Some(4)), seen(None)], None);
        check(vec![seen(None)], None);
    }

    #[test]
    fn no_key_is_at_revision_zero() {
        let txn = Txn::new().expect("a", Expect::At(Revision::ZERO));
        assert_eq!(outcome(&txn, answer(false, vec![seen(None)])), Some(Outcome::Conflict { nth: 0, found: None }));
    }
}
