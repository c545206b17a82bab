//! Whether a cell is there, judged from what its probes said: one bad answer is no failure, and one good one no return.

use super::api::CellError;
use std::time::Duration;

/// Failures in a row after which a cell that was ready is not any more.
const FAILURES: u32 = 3;
/// Successes in a row after which a cell that was lost is ready again.
const SUCCESSES: u32 = 2;
/// How often cells are asked.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// When all is well.
    pub every: Duration,
    /// While it is not clear how it is.
    pub soon: Duration,
    /// A cell that is away is asked less and less often, up to this.
    pub away: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { every: seconds(10), soon: seconds(1), away: seconds(15) }
    }
}

/// What a cell is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ready,
    /// It answers, and says no.
    NotReady {
        reason: String,
        message: String,
    },
    /// It does not answer.
    Unreachable {
        message: String,
    },
}

/// What is known of a cell's health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    pub verdict: Option<Verdict>,
    failures: u32,
    successes: u32,
}

impl Standing {
    pub(super) fn is_ready(&self) -> bool {
        self.verdict == Some(Verdict::Ready)
    }

    /// What is known after one more answer. The first counts at once: nobody was told anything before.
    #[must_use]
    pub(super) fn after(&self, answer: Result<(), &CellError>) -> Self {
        let (failures, successes) = match answer {
            Ok(()) => (0, self.successes.saturating_add(1)),
            Err(_) => (self.failures.saturating_add(1), 0),
        };
        let settled = match (&self.verdict, answer) {
            (None, _) => true,
            (Some(Verdict::Ready), Ok(())) => true,
            (Some(Verdict::Ready), Err(_)) => failures >= FAILURES,
            (Some(_), Ok(())) => successes >= SUCCESSES,
            (Some(_), Err(_)) => true,
        };
        let verdict = if settled { Some(verdict(answer)) } else { self.verdict.clone() };
        Self { verdict, failures, successes }
    }

    /// When to ask again; `chance`, a number below 100, spreads cells over time.
    pub(super) fn next(&self, pace: Pace, chance: u64) -> Duration {
        let doubtful = match self.verdict {
            Some(Verdict::Ready) => self.failures > 0,
            Some(_) => self.successes > 0,
            None => true,
        };
        let base = match self.verdict {
            _ if doubtful => pace.soon,
            Some(Verdict::Ready) => pace.every,
            _ => pace.soon.saturating_mul(self.failures.max(1)).min(pace.away),
        };
        base + base.mul_f64(chance.min(100) as f64 / 500.0)
    }
}

fn verdict(answer: Result<(), &CellError>) -> Verdict {
    match answer {
        Ok(()) => Verdict::Ready,
        Err(error) if error.is_unreachable() => Verdict::Unreachable { message: error.to_string() },
        Err(error) => Verdict::NotReady { reason: error.word().to_owned(), message: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `+` a good answer, `-` silence, `!` a refusal; what it is taken for after each.
    fn check(answers: &str, expect: &str) {
        let (silence, refusal) = (CellError::Unreachable("x".into()), CellError::Unusable("y".into()));
        let mut standing = Standing::default();
        let mut told = String::new();
        for answer in answers.chars() {
            standing = standing.after(match answer {
                '+' => Ok(()),
                '-' => Err(&silence),
                _ => Err(&refusal),
            });
            told.push(match standing.verdict.as_ref().unwrap() {
                Verdict::Ready => 'R',
                Verdict::Unreachable { .. } => 'U',
                Verdict::NotReady { .. } => 'N',
            });
        }
        assert_eq!(told, expect, "{answers}");
    }

    #[test]
    fn a_cell_is_lost_after_three_failures_and_back_after_two_answers() {
        check("+", "R");
        check("-", "U");
        check("+--+", "RRRR");
        check("+---", "RRRU");
        check("---++", "UUUUR");
        check("+---+-++", "RRRUUUUR");
        check("!-+", "NUU");
    }

    #[test]
    fn doubt_is_settled_soon_and_probes_are_spread() {
        let (pace, ready) = (Pace::default(), Standing::default().after(Ok(())));
        assert_eq!(ready.next(pace, 0), pace.every);
        assert!(ready.next(pace, 99) > pace.every && ready.next(pace, 99) < pace.every.mul_f64(1.2));
        let doubtful = ready.after(Err(&CellError::Unreachable(String::new())));
        assert_eq!(doubtful.next(pace, 0), pace.soon);
    }
}
