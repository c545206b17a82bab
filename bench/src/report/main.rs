//! `make bench`, its end: makes tables and plots of what the measurements have written down.
//!
//!     bench-report FOLDER README [--when=DATE]
//!
//! Every `NAME.json` of the folder becomes the table between the marks of that name in the README, and the plots beside it
//! in `plots/`. What is around the marks stays.

mod bars;
mod lines;
mod marks;
mod style;

use bench::table::Report;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

type Failure = Box<dyn Error>;
/// By the name of the measurement.
type Reports = BTreeMap<String, Report>;

fn main() -> ExitCode {
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let [folder, readme] = paths.as_slice() else {
        eprintln!("bench-report FOLDER README [--when=DATE]");
        return ExitCode::FAILURE;
    };
    let when = flags.iter().find_map(|flag| flag.strip_prefix("--when="));
    match report(Path::new(folder), Path::new(readme), when) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-report: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(folder: &Path, readme: &Path, when: Option<&str>) -> Result<(), Failure> {
    let reports = read(folder)?;
    let plots = readme.with_file_name("plots");
    std::fs::create_dir_all(&plots)?;
    lines::draw(&reports, &plots)?;
    bars::draw(&reports, &plots)?;
    let mut text = std::fs::read_to_string(readme)?;
    for (name, report) in &reports {
        let head = when.map(|when| format!("- measured {when}\n")).unwrap_or_default();
        text = marks::fill(&text, name, &format!("{head}{report}"))?;
    }
    std::fs::write(readme, text)?;
    println!("{}: tables of {}; plots in {}", readme.display(), names(&reports), plots.display());
    Ok(())
}

fn names(reports: &Reports) -> String {
    reports.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn read(folder: &Path) -> Result<Reports, Failure> {
    let mut reports = Reports::new();
    let files: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    for path in files.iter().filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        reports.insert(name, Report::read(path).map_err(|error| format!("{}: {error}", path.display()))?);
    }
    if reports.is_empty() {
        return Err(format!("no measurement has written anything to {}", folder.display()).into());
    }
    Ok(reports)
}
