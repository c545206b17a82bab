//! How long something takes, half of the times and nearly always: every measure that has a p50 and a p99.

use crate::style::{GRID, INK, PAPER, WIDTH, colour, decades, file, text, tick};
use crate::{Failure, Reports};
use bench::table::{Report, readable};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

/// Of one bar, and of the space between measures, in pixels.
const BAR: i32 = 13;
const GAP: i32 = 12;
const LEFT: i32 = 330;
const RIGHT: i32 = 60;
const TOP: i32 = 78;
const BOTTOM: i32 = 52;

struct Plot {
    name: &'static str,
    title: &'static str,
    /// The measurements that are in it.
    of: &'static [&'static str],
}

const PLOTS: [Plot; 2] = [
    Plot { name: "latency", title: "Latency, against kube-apiserver", of: &["api", "extend"] },
    Plot { name: "federation", title: "Latency of the federation", of: &["federation"] },
];

/// What was measured, and the two times of each peer.
#[derive(Debug, PartialEq)]
struct Measure {
    what: String,
    bars: Vec<(usize, [f64; 2])>,
}

pub fn draw(reports: &Reports, folder: &Path) -> Result<(), Failure> {
    for plot in &PLOTS {
        let chosen: Vec<&Report> = plot.of.iter().filter_map(|name| reports.get(*name)).collect();
        let measures: Vec<Measure> = chosen.iter().flat_map(|report| measures(report)).collect();
        let Some(first) = chosen.first().filter(|_| !measures.is_empty()) else { continue };
        plot.draw(&first.peers, &measures, &file(folder, plot.name))
            .map_err(|error| format!("{}: {error}", plot.name))?;
    }
    Ok(())
}

fn measures(report: &Report) -> Vec<Measure> {
    let value = |peer: &String, what: &str| {
        let found = report.figures.iter().find(|figure| figure.peer == *peer && figure.row.what == what);
        found.filter(|figure| figure.row.unit == "ms" && figure.row.value > 0.0).map(|figure| figure.row.value)
    };
    let rows = report.rows();
    let names = rows.iter().filter_map(|row| row.what.strip_suffix(": p50"));
    let bars = |what: &str| {
        let times = |peer| Some([value(peer, &format!("{what}: p50"))?, value(peer, &format!("{what}: p99"))?]);
        let peers = report.peers.iter().enumerate();
        peers.filter_map(|(nth, peer)| times(peer).map(|times| (nth, times))).collect::<Vec<_>>()
    };
    let measures = names.map(|what| Measure { what: what.to_owned(), bars: bars(what) });
    measures.filter(|measure| !measure.bars.is_empty()).collect()
}

/// From milliseconds to pixels, by powers of ten.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn at(&self, value: f64) -> i32 {
        let share = (value / self.least).log10() / (self.most / self.least).log10();
        let width = f64::from(WIDTH as i32 - LEFT - RIGHT);
        LEFT + (share * width).round() as i32
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let most = self.most * 1.001;
        std::iter::successors(Some(self.least), |tick| Some(tick * 10.0)).take_while(move |tick| *tick <= most)
    }
}

fn height(measure: &Measure) -> i32 {
    measure.bars.len() as i32 * BAR
}

impl Plot {
    fn draw(&self, peers: &[String], measures: &[Measure], path: &Path) -> Result<(), Failure> {
        let times = measures.iter().flat_map(|measure| measure.bars.iter().flat_map(|(_, times)| *times));
        let range = decades(times);
        let scale = Scale { least: range.start, most: range.end };
        let bottom = TOP + measures.iter().map(|measure| height(measure) + GAP).sum::<i32>();
        let paper = SVGBackend::new(path, (WIDTH, (bottom + BOTTOM) as u32)).into_drawing_area();
        paper.fill(&PAPER)?;
        let centred = text(13).pos(Pos::new(HPos::Center, VPos::Top));
        paper.draw(&Text::new(self.title, (14, 14), text(19)))?;
        for tick_at in scale.ticks() {
            let x = scale.at(tick_at);
            paper.draw(&PathElement::new([(x, TOP - 6), (x, bottom)], GRID))?;
            paper.draw(&Text::new(tick(tick_at), (x, bottom + 6), centred.clone()))?;
        }
        paper.draw(&PathElement::new([(LEFT, TOP - 6), (LEFT, bottom)], INK))?;
        let middle = (LEFT + WIDTH as i32 - RIGHT) / 2;
        paper.draw(&Text::new("milliseconds, each step ten times as long", (middle, bottom + 26), centred))?;
        for (nth, peer) in peers.iter().enumerate() {
            let (x, y) = (14 + nth as i32 * 260, 46);
            for (place, (share, name)) in [(0, (1.0, "p50")), (1, (0.4, "p99"))] {
                let left = x + place * 50;
                paper.draw(&Rectangle::new([(left, y), (left + 14, y + 12)], colour(nth).mix(share).filled()))?;
                paper.draw(&Text::new(name, (left + 18, y), text(13)))?;
            }
            paper.draw(&Text::new(format!("of {peer}"), (x + 98, y), text(13)))?;
        }
        let mut y = TOP;
        for measure in measures {
            self.draw_measure(&paper, &scale, measure, y)?;
            y += height(measure) + GAP;
        }
        paper.present()?;
        Ok(())
    }

    /// The shorter time before the longer one.
    fn draw_measure(
        &self,
        paper: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
        scale: &Scale,
        measure: &Measure,
        top: i32,
    ) -> Result<(), Failure> {
        let name = text(13).pos(Pos::new(HPos::Right, VPos::Center));
        paper.draw(&Text::new(measure.what.as_str(), (LEFT - 10, top + height(measure) / 2), name))?;
        for (row, (peer, [half, nearly_all])) in measure.bars.iter().enumerate() {
            let y = top + row as i32 * BAR;
            let bar = |to: f64, share: f64| {
                Rectangle::new([(LEFT, y), (scale.at(to), y + BAR - 2)], colour(*peer).mix(share).filled())
            };
            paper.draw(&bar(*nearly_all, 0.4))?;
            paper.draw(&bar(*half, 1.0))?;
            let said = text(11).pos(Pos::new(HPos::Left, VPos::Center));
            let end = (scale.at(*nearly_all) + 4, y + BAR / 2);
            paper.draw(&Text::new(format!("{} / {}", readable(*half), readable(*nearly_all)), end, said))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Measure, measures};
    use bench::table::{Report, Row};

    #[test]
    fn a_measure_has_two_times_of_each_peer() {
        let mut report = Report::new(vec!["hanse", "kube-apiserver"]);
        let rows = |half, nearly_all| {
            vec![
                Row::more("gets: rate", 1.0, "/s"),
                Row::less("gets: p50", half, "ms"),
                Row::less("gets: p99", nearly_all, "ms"),
                Row::less("lists: p50", half, "ms"),
            ]
        };
        report.add("hanse", rows(1.0, 4.0));
        report.add("kube-apiserver", rows(9.0, 28.0));
        let gets = Measure { what: "gets".to_owned(), bars: vec![(0, [1.0, 4.0]), (1, [9.0, 28.0])] };
        assert_eq!(measures(&report), [gets]);
    }
}
