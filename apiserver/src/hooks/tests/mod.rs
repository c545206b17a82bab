//! Webhooks that are asked: in memory, by a script, and over the network, by servers of every sort.

mod calling;
mod converting;
mod garbage;
mod matching;
mod mutating;
pub(crate) mod stage;
mod tls;
mod validating;
mod vectors;
