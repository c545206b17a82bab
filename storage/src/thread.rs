//! Threads of the store. They work for a moment at a time, and all who write wait for them: on processors that others keep
//! busy they go first, where the system permits it.

use std::thread::{Builder, JoinHandle};

/// How much they go first. Without it a thread that is woken waits for whoever runs to have had their turn, which is
/// milliseconds on a busy processor, at each of the steps of a commit.
const NICENESS: i32 = -10;

pub(crate) fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    let first = || {
        // Of the calling thread alone. Whoever may not ask for it is served in turn.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        body();
    };
    let thread = Builder::new().name(name.into()).spawn(first);
    thread.unwrap_or_else(|error| panic!("cannot start a thread: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    #[test]
    fn a_thread_goes_first_where_it_may_and_nobody_else_does() {
        let before = getpriority_process(None).unwrap();
        let (tell, told) = crossbeam_channel::bounded(1);
        spawn("tested", move || tell.send(getpriority_process(None).unwrap()).unwrap()).join().unwrap();
        let there = told.recv().unwrap();
        assert!(there == NICENESS || there == before, "{there}");
        assert_eq!(getpriority_process(None).unwrap(), before, "it is the thread that goes first, not the process");
    }
}
