//! How something grows with something else: every row that is a point of a plot.

use crate::style::{GRID, INK, PAPER, WIDTH, colour, decades, file, text, tick};
use crate::{Failure, Reports};
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::path::Path;

const HEIGHT: u32 = 400;
/// Room above the highest point, for the names of the lines.
const LEGEND: f64 = 1.35;

#[derive(Clone, Copy, PartialEq)]
enum Scale {
    Linear,
    /// Powers of ten on both axes.
    Decades,
}

/// A plot that rows can be points of.
struct Plot {
    name: &'static str,
    title: &'static str,
    x: &'static str,
    y: &'static str,
    scale: Scale,
}

const PLOTS: [Plot; 5] = [
    Plot {
        name: "workspaces",
        title: "Memory by workspaces",
        x: "workspaces",
        y: "RSS of the server, MB",
        scale: Scale::Linear,
    },
    Plot { name: "cells", title: "Restart by cells", x: "cells", y: "seconds after exec", scale: Scale::Linear },
    Plot { name: "cells-memory", title: "Memory by cells", x: "cells", y: "RSS of the hub, MB", scale: Scale::Linear },
    Plot {
        name: "watchers",
        title: "Fan-out by watchers, over HTTP/2 and TLS",
        x: "watchers",
        y: "events delivered per second",
        scale: Scale::Decades,
    },
    Plot {
        name: "store-watchers",
        title: "Fan-out by watchers, of the store alone",
        x: "watchers",
        y: "events delivered per second",
        scale: Scale::Decades,
    },
];

/// A line: its name, and its points from left to right.
type Line = (String, Vec<(f64, f64)>);

pub fn draw(reports: &Reports, folder: &Path) -> Result<(), Failure> {
    for plot in &PLOTS {
        let lines = lines_of(reports, plot.name);
        if !lines.is_empty() {
            plot.draw(&lines, &file(folder, plot.name)).map_err(|error| format!("{}: {error}", plot.name))?;
        }
    }
    Ok(())
}

/// In the order in which they were measured.
fn lines_of(reports: &Reports, plot: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for figure in reports.values().flat_map(|report| &report.figures) {
        let Some(point) = figure.row.point.as_ref().filter(|point| point.plot == plot) else { continue };
        let name = if point.line.is_empty() { &figure.peer } else { &point.line };
        let place = lines.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            lines.push((name.clone(), Vec::new()));
            lines.len() - 1
        });
        lines[place].1.push((point.x, figure.row.value));
    }
    for (_, points) in &mut lines {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    lines
}

impl Plot {
    fn draw(&self, lines: &[Line], path: &Path) -> Result<(), Failure> {
        let points = || lines.iter().flat_map(|(_, points)| points);
        let most = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
        match self.scale {
            Scale::Linear => {
                let right = most(&mut points().map(|point| point.0));
                let top = most(&mut points().map(|point| point.1));
                self.draw_on(lines, path, 0.0..right * 1.03, 0.0..top * LEGEND)
            }
            Scale::Decades => {
                let across = decades(points().map(|point| point.0));
                let up = decades(points().map(|point| point.1));
                self.draw_on(lines, path, across.log_scale(), up.log_scale())
            }
        }
    }

    fn draw_on<X, Y>(
        &self,
        lines: &[Line],
        path: &Path,
        across: impl AsRangedCoord<CoordDescType = X, Value = f64>,
        up: impl AsRangedCoord<CoordDescType = Y, Value = f64>,
    ) -> Result<(), Failure>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let paper = SVGBackend::new(path, (WIDTH, HEIGHT)).into_drawing_area();
        paper.fill(&PAPER)?;
        let mut chart = ChartBuilder::on(&paper)
            .caption(self.title, text(19))
            .margin(14)
            .margin_right(36)
            .x_label_area_size(46)
            .y_label_area_size(84)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .x_labels(8)
            .y_labels(6)
            .x_label_formatter(&|x| tick(*x))
            .y_label_formatter(&|y| tick(*y))
            .label_style(text(13))
            .axis_desc_style(text(14))
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK)
            .draw()?;
        for (nth, (name, points)) in lines.iter().enumerate() {
            let shade = colour(nth);
            let line = LineSeries::new(points.iter().copied(), shade.stroke_width(2)).point_size(4);
            let drawn = chart.draw_series(line)?;
            drawn.label(name).legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], shade.stroke_width(3)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font(text(13))
            .background_style(PAPER)
            .border_style(GRID)
            .draw()?;
        paper.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{draw, lines_of};
    use crate::Reports;
    use bench::table::{Report, Row};

    fn reports() -> Reports {
        let mut report = Report::new(vec!["hanse", "kube-apiserver"]);
        let row = |watchers: f64, rate: f64| {
            Row::more(format!("{watchers} watchers"), rate, "events/s").point("watchers", "", watchers)
        };
        report.add("hanse", vec![row(100.0, 9_000.0), row(10.0, 4_000.0)]);
        report.add("kube-apiserver", vec![row(10.0, 400.0), Row::less("p50", 1.0, "ms")]);
        Reports::from([("api".to_owned(), report)])
    }

    #[test]
    fn every_peer_has_a_line() {
        let hanse = ("hanse".to_owned(), vec![(10.0, 4_000.0), (100.0, 9_000.0)]);
        let peer = ("kube-apiserver".to_owned(), vec![(10.0, 400.0)]);
        assert_eq!(lines_of(&reports(), "watchers"), [hanse, peer]);
    }

    #[test]
    fn a_plot_names_its_axes_and_lines() {
        let folder = tempfile::tempdir().unwrap();
        draw(&reports(), folder.path()).unwrap();
        let drawn = std::fs::read_to_string(folder.path().join("watchers.svg")).unwrap();
        for word in ["Fan-out by watchers", "events delivered per second", "hanse", "kube-apiserver"] {
            assert!(drawn.contains(word), "{word} is in the plot");
        }
        assert!(!folder.path().join("cells.svg").exists(), "nothing was measured for it");
    }
}
