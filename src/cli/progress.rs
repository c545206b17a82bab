//! What long work shows of itself: on a terminal only, and gone when it is done, well or not.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use std::time::Duration;

/// How often a sign of life is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Work of unknown length.
pub(super) fn spinner(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_finish(ProgressFinish::AndClear).with_message(what.to_owned());
    bar.enable_steady_tick(TICK);
    bar
}

/// Bytes on their way, out of `total` if that is known. On 80 columns it is one line.
pub(super) fn bytes(what: &str, total: Option<u64>) -> ProgressBar {
    let (bar, template) = match total {
        Some(total) => (ProgressBar::new(total), "{msg} {bar:24} {bytes} of {total_bytes}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {msg} {bytes}, {bytes_per_sec}"),
    };
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.with_style(style).with_finish(ProgressFinish::AndClear).with_message(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_bytes_works_with_and_without_a_total() {
        for total in [Some(10), None] {
            let bar = bytes("copying", total);
            bar.inc(4);
            assert_eq!((bar.position(), bar.length()), (4, total));
        }
    }
}
