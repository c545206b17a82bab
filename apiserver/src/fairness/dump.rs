//! What goes on in the lines of a workspace, for its administrators: the tables that a Kubernetes API server prints.

use super::flow::Flows;
use super::lines::Ticket;
use super::room::{Room, Told};
use super::{Seat, Seats};
use crate::place::Workspace;
use crate::target::Dump;
use openapi::scalar::time::Precision;
use std::fmt::Write;
use tokio::sync::oneshot;

const LEVELS: &str = "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, \
                      DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests";
const QUEUES: &str = "PriorityLevelName, Index, PendingRequests, SeatsGiven";
const REQUESTS: &str = "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, \
                        ArriveTime, InitialSeats, UserName";

impl Dump {
    /// All seats of a workspace, of whatever sort they are.
    pub fn text(self, all: &[&Seats], workspace: &Workspace, flows: &Flows) -> String {
        let mut text = match self {
            Self::Levels => LEVELS,
            Self::Queues => QUEUES,
            Self::Requests => REQUESTS,
        }
        .to_owned();
        text.push('\n');
        for level in flows.levels() {
            match self {
                Self::Levels => text.push_str(&row_of_level(all, workspace, &level.name)),
                _ => all.iter().for_each(|seats| {
                    let lines = seats.lines.lock();
                    let room = lines.house(workspace).and_then(|house| house.rooms.get(&level.name));
                    room.into_iter().for_each(|room| self.rows(room, &level.name, &mut text));
                }),
            }
        }
        text
    }

    fn rows(self, room: &Room<oneshot::Sender<Seat>>, level: &str, text: &mut String) {
        for (index, queue) in room.queues.iter().filter(|(_, queue)| !queue.waiting.is_empty()) {
            if self == Self::Queues {
                let _ = writeln!(text, "{level}, {index}, {}, {}", queue.waiting.len(), queue.given);
                continue;
            }
            for (nth, waiting) in queue.waiting.iter().enumerate() {
                row_of_request(text, level, (i64::from(*index), nth as i64), &waiting.ticket);
            }
        }
        if self == Self::Requests {
            room.sitting.values().for_each(|ticket| row_of_request(text, level, (-1, -1), ticket));
        }
    }
}

/// Writing to a string does not fail.
fn row_of_request(text: &mut String, level: &str, (queue, nth): (i64, i64), ticket: &Ticket) {
    let Ticket { class, user, width, arrived, .. } = ticket;
    let (schema, flow, name) = (&class.schema.name, &class.distinguisher, &user.name);
    let arrived = arrived.text(Precision::Micros).unwrap_or_default();
    let _ = writeln!(text, "{level}, {schema}, {queue}, {nth}, {flow}, {arrived}, {width}, {name}");
}

fn row_of_level(all: &[&Seats], workspace: &Workspace, level: &str) -> String {
    let (mut queues, mut waiting, mut sitting, mut told) = (0, 0, 0, Told::default());
    for seats in all {
        let lines = seats.lines.lock();
        let Some(room) = lines.house(workspace).and_then(|house| house.rooms.get(level)) else { continue };
        queues += room.queues.values().filter(|queue| !queue.waiting.is_empty()).count();
        waiting += room.waiting;
        sitting += room.sitting.len();
        told.dispatched += room.told.dispatched;
        told.rejected += room.told.rejected;
        told.late += room.told.late;
        told.left += room.told.left;
    }
    let (idle, Told { dispatched, rejected, late, left }) = (waiting + sitting == 0, told);
    format!("{level}, {queues}, {idle}, false, {waiting}, {sitting}, {dispatched}, {rejected}, {late}, {left}\n")
}
