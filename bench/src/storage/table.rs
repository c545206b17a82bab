//! One table, ratios first.

use crate::Plan;
use crate::peers::Peer;
use std::collections::BTreeMap;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Better {
    More,
    Less,
}

/// One figure of one peer.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    pub better: Better,
}

impl Row {
    pub fn more(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, better: Better::More }
    }

    pub fn less(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, better: Better::Less }
    }
}

#[derive(Debug)]
pub struct Report {
    notes: Vec<String>,
    order: Vec<Row>,
    figures: BTreeMap<(String, &'static str), f64>,
}

impl Report {
    pub fn new(plan: &Plan) -> Self {
        let notes = vec![format!(
            "{} cores; keys of ~70 B, values of 1,536 B; {} objects, {} overwrites; {} s for each throughput figure",
            std::thread::available_parallelism().map_or(1, usize::from),
            plan.objects,
            plan.overwrites,
            plan.seconds
        )];
        Self { notes, order: Vec::new(), figures: BTreeMap::new() }
    }

    pub fn note(&mut self, note: &str) {
        self.notes.push(note.to_owned());
    }

    pub fn add(&mut self, peer: Peer, rows: Vec<Row>) {
        for row in rows {
            eprintln!("  {:6} {:50} {} {}", peer.name(), row.what, readable(row.value), row.unit);
            self.figures.insert((row.what.clone(), peer.name()), row.value);
            if !self.order.iter().any(|known| known.what == row.what) {
                self.order.push(row);
            }
        }
    }

    /// A ratio above 1 says how many times better than etcd, whichever way is better.
    fn ratio(&self, row: &Row, peer: Peer) -> Option<f64> {
        let ours = self.figures.get(&(row.what.clone(), peer.name()))?;
        let theirs = self.figures.get(&(row.what.clone(), Peer::Etcd.name()))?;
        Some(if row.better == Better::More { ours / theirs } else { theirs / ours })
    }

    pub fn print(&self) {
        for note in &self.notes {
            println!("- {note}");
        }
        println!("\n| measure | fjall : etcd | sled : etcd | fjall | sled | etcd | unit |");
        println!("|---|---:|---:|---:|---:|---:|---|");
        for row in &self.order {
            let ratio = |peer| self.ratio(row, peer).map_or("-".to_owned(), |ratio| format!("**{ratio:.1}x**"));
            let figure = |peer: Peer| {
                let figure = self.figures.get(&(row.what.clone(), peer.name()));
                figure.map_or("-".to_owned(), |figure| readable(*figure))
            };
            println!(
                "| {} | {} | {} | {} | {} | {} | {} |",
                row.what,
                ratio(Peer::Fjall),
                ratio(Peer::Sled),
                figure(Peer::Fjall),
                figure(Peer::Sled),
                figure(Peer::Etcd),
                row.unit
            );
        }
    }
}

fn readable(value: f64) -> String {
    if value >= 100.0 {
        let digits = format!("{value:.0}");
        let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
        return groups.join(",");
    }
    format!("{value:.2}")
}
