//! One table, ratios first.

use std::collections::BTreeMap;
use std::fmt;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Better {
    More,
    Less,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// So many times better than the last peer.
    Times(f64),
    /// Less than this, in the row's unit.
    Below(f64),
    /// More than this, in the row's unit.
    Above(f64),
}

impl fmt::Display for Aim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(times) => write!(out, ">= {times}x"),
            Self::Below(limit) => write!(out, "< {limit}"),
            Self::Above(limit) => write!(out, "> {limit}"),
        }
    }
}

/// One figure of one peer.
#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub value: f64,
    pub unit: &'static str,
    pub better: Better,
    pub aim: Option<Aim>,
}

impl Row {
    pub fn more(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, better: Better::More, aim: None }
    }

    pub fn less(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, better: Better::Less, aim: None }
    }

    pub fn aim(self, aim: Aim) -> Self {
        Self { aim: Some(aim), ..self }
    }
}

/// The figures of several peers. The last of them is the one that the others are measured against.
#[derive(Debug)]
pub struct Report {
    peers: Vec<&'static str>,
    notes: Vec<String>,
    order: Vec<Row>,
    figures: BTreeMap<(String, &'static str), f64>,
}

impl Report {
    pub fn new(peers: Vec<&'static str>) -> Self {
        Self { peers, notes: Vec::new(), order: Vec::new(), figures: BTreeMap::new() }
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub fn add(&mut self, peer: &'static str, rows: Vec<Row>) {
        for row in rows {
            eprintln!("  {peer:14} {:50} {} {}", row.what, readable(row.value), row.unit);
            self.figures.insert((row.what.clone(), peer), row.value);
            if !self.order.iter().any(|known| known.what == row.what) {
                self.order.push(row);
            }
        }
    }

    fn figure(&self, row: &Row, peer: &'static str) -> Option<f64> {
        self.figures.get(&(row.what.clone(), peer)).copied()
    }

    /// A ratio above 1 says how many times better than the last peer, whichever way is better.
    fn ratio(&self, row: &Row, peer: &'static str) -> Option<f64> {
        let ours = self.figure(row, peer)?;
        let theirs = self.figure(row, self.peers.last()?)?;
        Some(if row.better == Better::More { ours / theirs } else { theirs / ours })
    }

    /// What the first peer should reach, and whether it does.
    fn aim(&self, row: &Row) -> String {
        let (Some(aim), Some(peer)) = (row.aim, self.peers.first()) else { return String::new() };
        let reached = match aim {
            Aim::Times(times) => self.ratio(row, peer).is_some_and(|ratio| ratio >= times),
            Aim::Below(limit) => self.figure(row, peer).is_some_and(|figure| figure < limit),
            Aim::Above(limit) => self.figure(row, peer).is_some_and(|figure| figure > limit),
        };
        format!("{aim}{}", if reached { "" } else { ", missed" })
    }

    pub fn print(&self) {
        let Some((last, others)) = self.peers.split_last() else { return };
        let aims = self.order.iter().any(|row| row.aim.is_some());
        for note in &self.notes {
            println!("- {note}");
        }
        let mut head: Vec<_> = others.iter().map(|peer| format!("{peer} : {last}")).collect();
        head.extend(aims.then(|| "aim".to_owned()));
        head.extend(self.peers.iter().map(|peer| (*peer).to_owned()));
        println!("\n| measure | {} | unit |", head.join(" | "));
        println!("|---|{}---|", "---:|".repeat(head.len()));
        for row in &self.order {
            let ratio = |peer| self.ratio(row, peer).map_or("-".to_owned(), |ratio| format!("**{ratio:.1}x**"));
            let mut cells: Vec<_> = others.iter().map(|peer| ratio(peer)).collect();
            cells.extend(aims.then(|| self.aim(row)));
            cells.extend(self.peers.iter().map(|peer| self.figure(row, peer).map_or("-".to_owned(), readable)));
            println!("| {} | {} | {} |", row.what, cells.join(" | "), row.unit);
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
