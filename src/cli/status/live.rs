//! The picture on a terminal, drawn anew twice a second, with how far behind each cell was before.

use super::Failure;
use super::picture::{NO_CELLS, Picture, Row};
use super::scene::Scene;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Row as TableRow, Sparkline, Table, Wrap};
use ratatui::{DefaultTerminal, Frame};
use std::collections::{HashMap, VecDeque};
use std::io::{self, IsTerminal};
use std::time::Duration;
use tokio::runtime::Runtime;

const EVERY: Duration = Duration::from_millis(500);

/// Where there is more than this, it is looked at less often: what takes long to tell is not asked for all the time.
const COPIES_PER_LOOK: usize = 10_000;

/// How much of the past is drawn: two minutes.
const REMEMBERED: usize = 240;

/// Wide enough for a trend, and leaves room for the rest on 80 columns.
const TREND_WIDTH_MIN: u16 = 14;
/// Wider ones would say no more.
const TREND_WIDTH_MAX: u16 = 60;

/// Columns that hold numbers or one word, as wide as their headings.
const HEADINGS: [(&str, u16); 7] =
    [("CELL", 4), ("READY", 7), ("REGION", 6), ("DESIRED", 7), ("APPLIED", 7), ("FAILED", 6), ("PENDING", 7)];
const GAP: u16 = 2;

/// Lines that hold neither a cell nor a note: the headline and a blank, the headings, a blank, and the last line.
const AROUND: u16 = 5;

pub(super) fn watch(runtime: &Runtime, scene: &mut Scene) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return Err(Failure::NoTerminal);
    }
    let mut terminal = ratatui::try_init()?;
    let ended = follow(&mut terminal, runtime, scene);
    ratatui::restore();
    ended
}

fn follow(terminal: &mut DefaultTerminal, runtime: &Runtime, scene: &mut Scene) -> Result<(), Failure> {
    let mut screen = Screen::default();
    loop {
        match runtime.block_on(scene.look()) {
            Ok(picture) => screen.show(picture),
            Err(error) => screen.trouble = Some(crate::cli::in_one_line(&error)),
        }
        terminal.draw(|frame| screen.draw(frame))?;
        if event::poll(screen.rest())? && is_end(&event::read()?) {
            return Ok(());
        }
    }
}

fn is_end(event: &Event) -> bool {
    let Event::Key(key) = event else { return false };
    let interrupted = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    interrupted || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)
}

#[derive(Default)]
struct Screen {
    picture: Picture,
    /// How far behind each cell was, the newest last.
    lags: HashMap<String, VecDeque<u64>>,
    /// Why nothing new is known.
    trouble: Option<String>,
}

impl Screen {
    /// How long to wait before the next look.
    fn rest(&self) -> Duration {
        let copies: usize = self.picture.rows.iter().map(|row| row.desired).sum();
        EVERY * (1 + u32::try_from(copies / COPIES_PER_LOOK).unwrap_or(u32::MAX - 1))
    }

    fn show(&mut self, picture: Picture) {
        self.lags.retain(|name, _| picture.rows.iter().any(|row| row.name == *name));
        for row in &picture.rows {
            let lags = self.lags.entry(row.name.clone()).or_default();
            lags.push_back(row.pending() as u64);
            if lags.len() > REMEMBERED {
                lags.pop_front();
            }
        }
        (self.picture, self.trouble) = (picture, None);
    }

    fn draw(&self, frame: &mut Frame<'_>) {
        let notes = self.notes();
        let room = frame.area().height.saturating_sub(AROUND);
        let shown = self.shown(usize::from(room - height(&notes, frame.area().width).min(room / 3)));
        let rows = u16::try_from(shown.len()).unwrap_or(u16::MAX);
        let heights = [Constraint::Length(2), Constraint::Length(rows.saturating_add(2)), Constraint::Fill(1)];
        let [top, middle, below] = Layout::vertical(heights).areas(frame.area());
        let [below, bottom] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(below);
        frame.render_widget(Line::from(self.picture.headline()).bold(), top);
        let widths = self.widths();
        let wide = widths.iter().sum::<u16>() + GAP * 7;
        let trend = Constraint::Max(TREND_WIDTH_MAX);
        let table = Constraint::Length(wide.min(middle.width.saturating_sub(TREND_WIDTH_MIN)));
        let [table, trends] = Layout::horizontal([table, trend]).areas(middle);
        frame.render_widget(self.table(&shown, widths), table);
        self.draw_trends(frame, &shown, trends);
        frame.render_widget(Paragraph::new(notes).wrap(Wrap { trim: false }), below);
        let last = match (&self.trouble, self.picture.rows.len() - shown.len()) {
            (Some(trouble), _) => Line::from(trouble.as_str()).fg(Color::Red),
            (None, 0) => Line::from("q to quit").dim(),
            (None, hidden) => Line::from(format!("{hidden} more cells, none in a worse state; q to quit")).dim(),
        };
        frame.render_widget(Paragraph::new(last), bottom);
    }

    /// As many cells as there is room for. If that is not all, those that somebody should look at come first.
    fn shown(&self, room: usize) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.picture.rows.iter().collect();
        if rows.len() > room {
            rows.sort_by_key(|row| (row.ready == "True", row.failed == 0, row.pending() == 0));
            rows.truncate(room);
        }
        rows
    }

    /// What is not as it should be, below the table.
    fn notes(&self) -> String {
        if self.picture.rows.is_empty() { NO_CELLS.to_owned() } else { self.picture.notes().join("\n") }
    }

    /// As wide as what is in the columns.
    fn widths(&self) -> [u16; 7] {
        let mut widths = HEADINGS.map(|(_, width)| width);
        for row in &self.picture.rows {
            let wide = |text: &str| u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
            (widths[0], widths[2]) = (widths[0].max(wide(&row.name)), widths[2].max(wide(&row.region)));
        }
        widths
    }

    fn table<'a>(&self, shown: &[&'a Row], widths: [u16; 7]) -> Table<'a> {
        let header = TableRow::new(HEADINGS.map(|(name, _)| name)).dim();
        let widths = widths.map(Constraint::Length);
        Table::new(shown.iter().map(|row| line(row)), widths).header(header).column_spacing(GAP)
    }

    fn draw_trends(&self, frame: &mut Frame<'_>, shown: &[&Row], area: Rect) {
        frame.render_widget(Line::from("LAST 2 MINUTES").dim(), Rect { height: 1.min(area.height), ..area });
        for (row, at) in shown.iter().zip(area.y + 1..area.bottom()) {
            let lags: Vec<u64> = self.lags.get(&row.name).into_iter().flatten().copied().collect();
            let trend = Sparkline::default().data(trend(&lags, area.width)).style(Style::new().fg(Color::Cyan));
            frame.render_widget(trend, Rect { y: at, height: 1, ..area });
        }
    }
}

/// Lines that a text takes on so many columns.
fn height(text: &str, columns: u16) -> u16 {
    let lines =
        text.lines().map(|line| line.chars().count().div_ceil(usize::from(columns.max(1))).max(1)).sum::<usize>();
    u16::try_from(lines).unwrap_or(u16::MAX)
}

/// All of the past in so many columns: the most of each stretch of time, the newest last.
fn trend(lags: &[u64], width: u16) -> Vec<u64> {
    let stretch = REMEMBERED.div_ceil(usize::from(width.max(1)));
    let mut most: Vec<u64> = lags.rchunks(stretch).map(|some| some.iter().copied().max().unwrap_or_default()).collect();
    most.reverse();
    most
}

fn line(row: &Row) -> TableRow<'_> {
    let words = [row.name.clone(), row.ready.clone(), row.region.clone()];
    let colour = match row.ready.as_str() {
        "True" if row.failed == 0 => Color::Reset,
        "True" => Color::Yellow,
        _ => Color::Red,
    };
    TableRow::new(words.into_iter().chain(row.numbers())).fg(colour)
}

#[cfg(test)]
mod tests {
    use super::super::picture::tests::example;
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(width: u16) -> String {
        let mut screen = Screen::default();
        (0..3).for_each(|_| screen.show(example()));
        let mut terminal = Terminal::new(TestBackend::new(width, 10)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn cells_and_what_is_on_its_way_fit_on_narrow_and_on_wide_terminals() {
        for width in [80, 120] {
            let text = drawn(width);
            assert!(text.contains("1 of 2 cells ready") && text.contains("q to quit"), "{text}");
            let dfw = text.lines().find(|line| line.contains("dfw")).unwrap();
            let words: Vec<&str> = dfw.trim_matches('"').split_whitespace().collect();
            assert_eq!(words, ["dfw", "False", "eu", "2", "1", "0", "1+", "█"], "{text}");
            assert!(text.contains("dfw is not ready: no answer"), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_what_is_wrong_comes_first() {
        let mut screen = Screen::default();
        let mut picture = example();
        let well = picture.rows[0].clone();
        picture.rows = (0..30).map(|nth| Row { name: format!("cell-{nth}"), ..well.clone() }).collect();
        picture.rows.extend(example().rows);
        screen.show(picture);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        let text = terminal.backend().to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[3].contains("dfw") && lines[4].contains("cell-0"), "{text}");
        assert!(text.contains("dfw is not ready: no answer"), "{text}");
        assert!(lines[23].contains("14 more cells") && lines[23].contains("q to quit"), "{text}");
    }

    #[test]
    fn a_trend_shows_all_of_the_past_however_narrow() {
        let lags: Vec<u64> = (0..240).collect();
        assert_eq!(trend(&lags, 4), [59, 119, 179, 239]);
        assert_eq!(trend(&lags[..90], 4), [29, 89]);
        assert_eq!((trend(&lags, 240).len(), trend(&lags, 300).len(), trend(&[], 8).len()), (240, 240, 0));
    }

    #[test]
    fn the_past_is_forgotten_and_so_are_cells_that_left() {
        let mut screen = Screen::default();
        (0..=REMEMBERED).for_each(|_| screen.show(example()));
        assert_eq!(screen.lags["dfw"].len(), REMEMBERED);
        screen.show(Picture::default());
        assert!(screen.lags.is_empty());
    }

    #[test]
    fn a_large_federation_is_looked_at_less_often() {
        let mut screen = Screen::default();
        screen.show(example());
        assert_eq!(screen.rest(), EVERY);
        screen.picture.rows[0].desired = 100_000;
        assert_eq!(screen.rest(), EVERY * 11);
    }

    #[test]
    fn three_keys_end_it() {
        let key = |code, modifiers| Event::Key(event::KeyEvent::new(code, modifiers));
        assert!(is_end(&key(KeyCode::Char('q'), KeyModifiers::NONE)));
        assert!(is_end(&key(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!is_end(&key(KeyCode::Char('c'), KeyModifiers::NONE)));
    }
}
