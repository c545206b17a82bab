//! The record, sent elsewhere: events are gathered and posted together, as a list. Nobody waits for it: what comes faster
//! than it can be sent, and what is refused again and again, is counted and lost.

use super::writer::Writer;
use crate::hooks::call::{CallError, HttpCaller};
use crate::hooks::{Endpoint, Later};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{sleep, timeout_at};

/// How long one attempt may take.
const WITHIN: Duration = Duration::from_secs(30);
/// Attempts for one batch, and how much longer is waited after each.
const TRIES: u32 = 5;
const LONGER: f64 = 1.5;

/// Takes a batch of events.
pub trait Receive: Send + Sync + 'static {
    fn receive(&self, events: Bytes) -> Later<'_, Result<(), CallError>>;
}

/// Somebody who is told over the network.
#[derive(Debug)]
pub struct Told {
    pub at: Endpoint,
    pub caller: HttpCaller,
}

impl Receive for Told {
    fn receive(&self, events: Bytes) -> Later<'_, Result<(), CallError>> {
        Box::pin(self.caller.tell(&self.at, events, WITHIN))
    }
}

/// How events are gathered.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Events that wait to be sent.
    pub waiting_max: usize,
    /// Events that are sent together at most.
    pub together_max: usize,
    /// How long the first of them waits for others.
    pub gather: Duration,
    /// How long nothing is sent after something was.
    pub between: Duration,
    /// How long is waited after the first attempt that failed.
    pub again: Duration,
}

impl Default for Pace {
    /// Kubernetes' own, for sending in batches.
    fn default() -> Self {
        Self {
            waiting_max: 10_000,
            together_max: 400,
            gather: Duration::from_secs(30),
            between: Duration::from_millis(100),
            again: Duration::from_secs(10),
        }
    }
}

/// Sends until nobody is left who could say anything.
pub fn send(to: impl Receive, pace: Pace) -> Writer {
    let (lines, mut waiting) = channel(pace.waiting_max);
    let lost = Arc::new(AtomicU64::new(0));
    let counted = lost.clone();
    tokio::spawn(async move {
        while let Some(batch) = gather(&mut waiting, &pace).await {
            if let Err(error) = deliver(&to, &batch, &pace).await {
                counted.fetch_add(batch.len() as u64, Ordering::Relaxed);
                tracing::error!(%error, events = batch.len(), "nobody takes the audit record");
            }
            sleep(pace.between).await;
        }
    });
    Writer::new(move |line| lines.try_send(line).is_ok(), lost)
}

/// What has come until there is enough of it, or the first has waited long enough.
async fn gather(waiting: &mut Receiver<String>, pace: &Pace) -> Option<Vec<String>> {
    let mut batch = vec![waiting.recv().await?];
    let ends = sleep(pace.gather).deadline();
    while batch.len() < pace.together_max {
        let room = pace.together_max - batch.len();
        match timeout_at(ends, waiting.recv_many(&mut batch, room)).await {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
    }
    Some(batch)
}

async fn deliver(to: &impl Receive, batch: &[String], pace: &Pace) -> Result<(), CallError> {
    let events = list(batch);
    let mut pause = pace.again;
    for _ in 1..TRIES {
        match to.receive(events.clone()).await {
            Ok(()) => return Ok(()),
            Err(error) => tracing::debug!(%error, "the audit record is sent again"),
        }
        sleep(pause).await;
        pause = pause.mul_f64(LONGER);
    }
    to.receive(events).await
}

/// Every line is an event already.
fn list(batch: &[String]) -> Bytes {
    let items = batch.join(",");
    format!(r#"{{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{{}},"items":[{items}]}}"#).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;
    use serde_json::Value;
    use tokio::sync::mpsc::{Sender, channel};
    use tokio::time::timeout;

    /// Refuses so many times, and then passes on what it is sent.
    struct Hook {
        refuses: Mutex<u32>,
        seen: Sender<Value>,
    }

    impl Receive for Hook {
        fn receive(&self, events: Bytes) -> Later<'_, Result<(), CallError>> {
            Box::pin(async move {
                {
                    let mut left = self.refuses.lock();
                    if *left > 0 {
                        *left -= 1;
                        return Err(CallError::Failed("not now".to_owned()));
                    }
                }
                self.seen.send(serde_json::from_slice(&events).unwrap()).await.unwrap();
                Ok(())
            })
        }
    }

    fn hook(refuses: u32, pace: Pace) -> (Writer, Receiver<Value>) {
        let (seen, told) = channel(10);
        (send(Hook { refuses: Mutex::new(refuses), seen }, pace), told)
    }

    fn numbers(list: &Value) -> Vec<u64> {
        list["items"].as_array().unwrap().iter().map(|item| item["n"].as_u64().unwrap()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn events_are_sent_together_and_in_order() {
        let (writer, mut told) = hook(0, Pace { together_max: 3, ..Pace::default() });
        for number in 0..7 {
            writer.write(format!(r#"{{"n":{number}}}"#));
        }
        let first = told.recv().await.unwrap();
        assert_eq!((&first["kind"], &first["apiVersion"]), (&"EventList".into(), &"audit.k8s.io/v1".into()));
        assert_eq!(numbers(&first), [0, 1, 2]);
        assert_eq!(numbers(&told.recv().await.unwrap()), [3, 4, 5]);
        // The last one waits for others, and not for ever.
        assert!(timeout(Duration::from_secs(29), told.recv()).await.is_err());
        assert_eq!(numbers(&told.recv().await.unwrap()), [6]);
        assert_eq!(writer.lost(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_refused_is_sent_again_and_not_for_ever() {
        let pace = Pace { together_max: 1, ..Pace::default() };
        let (writer, mut told) = hook(TRIES - 1, pace);
        writer.write(r#"{"n":1}"#.to_owned());
        assert_eq!(numbers(&told.recv().await.unwrap()), [1]);
        assert_eq!(writer.lost(), 0);
        let (writer, mut told) = hook(TRIES, pace);
        writer.write(r#"{"n":1}"#.to_owned());
        writer.write(r#"{"n":2}"#.to_owned());
        assert_eq!(numbers(&told.recv().await.unwrap()), [2]);
        assert_eq!(writer.lost(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_hook_that_is_too_slow() {
        let (writer, _told) = hook(u32::MAX, Pace { waiting_max: 2, ..Pace::default() });
        for _ in 0..5 {
            writer.write("{}".to_owned());
        }
        assert_eq!(writer.lost(), 3);
    }
}
