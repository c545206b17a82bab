//! What all plots look like.

use bench::table::readable;
use plotters::prelude::*;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub const WIDTH: u32 = 760;
/// Whoever reads at night sees the same.
pub const PAPER: RGBColor = WHITE;
pub const INK: RGBColor = RGBColor(51, 51, 51);
pub const GRID: RGBColor = RGBColor(221, 221, 221);
/// Hanse first. Told apart by those who see few colours, too.
const COLOURS: [RGBColor; 4] =
    [RGBColor(0, 95, 175), RGBColor(213, 94, 0), RGBColor(0, 140, 100), RGBColor(150, 80, 160)];

pub fn colour(nth: usize) -> RGBColor {
    COLOURS[nth % COLOURS.len()]
}

pub fn text(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK)
}

pub fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.svg"))
}

/// The number as axes show it: in as few digits as say it.
pub fn tick(value: f64) -> String {
    if value >= 1_000.0 {
        return readable(value);
    }
    let rounded = format!("{value:.3}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Powers of ten around all of the values, which are above zero.
pub fn decades(values: impl Iterator<Item = f64> + Clone) -> Range<f64> {
    let (least, most) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    let from = 10f64.powf(least.log10().floor());
    from..10f64.powf(most.log10().ceil()).max(from * 10.0)
}

#[cfg(test)]
mod tests {
    use super::{decades, tick};

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.1, 1.0, 2.5, 1000.0, 100_000.0].map(tick), ["0.1", "1", "2.5", "1,000", "100,000"]);
    }

    #[test]
    fn all_values_are_within_their_decades() {
        assert_eq!(decades([0.22, 3.0, 70.0].into_iter()), 0.1..100.0);
        assert_eq!(decades([100.0].into_iter()), 100.0..1_000.0);
    }
}
