//! Leases: their holders choose among themselves.

use crate::object::Object;

/// Nobody here chooses a holder for others, so nobody is led to wait for it.
pub(super) fn drop_coordination(lease: &mut Object, old: Option<&Object>) {
    for field in ["strategy", "preferredHolder"] {
        if old.is_none_or(|old| old.pointer(&["spec", field]).is_none()) {
            lease.spec_mut().remove(field);
        }
    }
}
