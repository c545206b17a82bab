//! One table, ratios first; and the same as JSON, for whoever makes something else of it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Better {
    More,
    Less,
}

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

/// Where a figure is in a plot: on which of its lines, and above which number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub plot: String,
    pub line: String,
    pub x: f64,
}

/// One figure of one peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    pub what: String,
    pub value: f64,
    pub unit: String,
    pub better: Better,
    pub aim: Option<Aim>,
    pub point: Option<Point>,
}

impl Row {
    pub fn more(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { what: what.into(), value, unit: unit.to_owned(), better: Better::More, aim: None, point: None }
    }

    pub fn less(what: impl Into<String>, value: f64, unit: &str) -> Self {
        Self { better: Better::Less, ..Self::more(what, value, unit) }
    }

    pub fn aim(self, aim: Aim) -> Self {
        Self { aim: Some(aim), ..self }
    }

    /// It is a point of this plot, too. A line without a name is that of the peer.
    pub fn point(self, plot: &str, line: &str, x: f64) -> Self {
        Self { point: Some(Point { plot: plot.to_owned(), line: line.to_owned(), x }), ..self }
    }
}

/// A row, and whose it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub peer: String,
    pub row: Row,
}

/// The figures of several peers. The last of them is the one that the others are measured against.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    pub peers: Vec<String>,
    notes: Vec<String>,
    pub figures: Vec<Figure>,
}

impl Report {
    pub fn new(peers: Vec<&'static str>) -> Self {
        Self { peers: peers.into_iter().map(str::to_owned).collect(), notes: Vec::new(), figures: Vec::new() }
    }

    /// What another program has written.
    pub fn read(path: &Path) -> Result<Self, Box<dyn std::error::Error>> {
        Ok(serde_json::from_slice(&std::fs::read(path)?)?)
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    pub fn add(&mut self, peer: &'static str, rows: Vec<Row>) {
        for row in rows {
            eprintln!("  {peer:14} {:50} {} {}", row.what, readable(row.value), row.unit);
            self.figures.push(Figure { peer: peer.to_owned(), row });
        }
    }

    /// The last one, where something was measured twice.
    fn figure(&self, row: &Row, peer: &str) -> Option<f64> {
        let same = |figure: &&Figure| figure.peer == peer && figure.row.what == row.what;
        self.figures.iter().rev().find(same).map(|figure| figure.row.value)
    }

    /// A ratio above 1 says how many times better than the last peer, whichever way is better.
    fn ratio(&self, row: &Row, peer: &str) -> Option<f64> {
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

    /// One row for everything that was measured, in the order in which it was first.
    pub fn rows(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = Vec::new();
        for figure in &self.figures {
            if !rows.iter().any(|known| known.what == figure.row.what) {
                rows.push(&figure.row);
            }
        }
        rows
    }

    /// Prints it, and writes it to the file that `--json=` names.
    pub fn tell(&self) {
        println!("{self}");
        let named = std::env::args().find_map(|argument| argument.strip_prefix("--json=").map(str::to_owned));
        if let Some(path) = named {
            let text = serde_json::to_string_pretty(self).expect("JSON");
            std::fs::write(&path, text + "\n").unwrap_or_else(|error| panic!("{path}: {error}"));
        }
    }
}

/// Notes and table, in Markdown.
impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((last, others)) = self.peers.split_last() else { return Ok(()) };
        let rows = self.rows();
        let aims = rows.iter().any(|row| row.aim.is_some());
        for note in &self.notes {
            writeln!(out, "- {note}")?;
        }
        let mut head: Vec<_> = others.iter().map(|peer| format!("{peer} : {last}")).collect();
        head.extend(aims.then(|| "aim".to_owned()));
        head.extend(self.peers.iter().cloned());
        writeln!(out, "\n| measure | {} | unit |", head.join(" | "))?;
        writeln!(out, "|---|{}---|", "---:|".repeat(head.len()))?;
        for row in rows {
            let ratio =
                |peer: &String| self.ratio(row, peer).map_or("-".to_owned(), |ratio| format!("**{ratio:.1}x**"));
            let mut cells: Vec<_> = others.iter().map(ratio).collect();
            cells.extend(aims.then(|| self.aim(row)));
            cells.extend(self.peers.iter().map(|peer| self.figure(row, peer).map_or("-".to_owned(), readable)));
            writeln!(out, "| {} | {} | {} |", row.what, cells.join(" | "), row.unit)?;
        }
        Ok(())
    }
}

pub fn readable(value: f64) -> String {
    if value >= 100.0 {
        let digits = format!("{value:.0}");
        let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
        return groups.join(",");
    }
    format!("{value:.2}")
}
