//! Watching a range: every later change once, in order.
//!
//! Watchers of the same range share one bounded channel, filed under the range's prefix (`hub`). A watcher that is
//! new, or too slow for its channel, reads what it missed from history and joins again (`watcher`); one that is too
//! slow even for history is told so. Nobody waits for a watcher.

mod hub;
mod watcher;

pub(crate) use hub::{Hub, dispatch};
pub use watcher::Watcher;
