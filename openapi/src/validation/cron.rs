//! Schedules of a CronJob, as the parser that Kubernetes uses reads them.

/// A field of a schedule: its bounds and the names that stand for numbers.
struct Field {
    min: u32,
    max: u32,
    names: &'static [&'static str],
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const FIELDS: [Field; 5] = [
    Field { min: 0, max: 59, names: &[] },
    Field { min: 0, max: 23, names: &[] },
    Field { min: 1, max: 31, names: &[] },
    Field { min: 1, max: 12, names: &MONTHS },
    Field { min: 0, max: 6, names: &DAYS },
];
const DESCRIPTORS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// What is wrong with a schedule.
pub(super) fn parse(schedule: &str) -> Result<(), String> {
    let text = match schedule.strip_prefix("TZ=").or(schedule.strip_prefix("CRON_TZ=")) {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest.trim()),
        None => schedule,
    };
    if text.starts_with('@') {
        let known = DESCRIPTORS.contains(&text) || text.starts_with("@every ");
        return if known { Ok(()) } else { Err(format!("unrecognized descriptor: {text}")) };
    }
    let fields: Vec<&str> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (text, field) in fields.iter().zip(&FIELDS) {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            field.range(part)?;
        }
    }
    Ok(())
}

impl Field {
    /// `*`, `3`, `1-5`, each with `/2` or without.
    fn range(&self, text: &str) -> Result<(), String> {
        let steps: Vec<&str> = text.split('/').collect();
        let bounds: Vec<&str> = steps[0].split('-').collect();
        let (start, end) = match bounds[..] {
            ["*" | "?", ..] => (self.min, self.max),
            [one] => {
                let one = self.number(one)?;
                (one, if steps.len() > 1 { self.max } else { one })
            }
            [low, high] => (self.number(low)?, self.number(high)?),
            _ => return Err(format!("too many hyphens: {text}")),
        };
        let step = match steps[..] {
            [_] => 1,
            [_, step] => integer(step)?,
            _ => return Err(format!("too many slashes: {text}")),
        };
        let wrong = if start < self.min {
            format!("beginning of range ({start}) below minimum ({})", self.min)
        } else if end > self.max {
            format!("end of range ({end}) above maximum ({})", self.max)
        } else if start > end {
            format!("beginning of range ({start}) beyond end of range ({end})")
        } else if step == 0 {
            "step of range should be a positive number".to_owned()
        } else {
            return Ok(());
        };
        Err(format!("{wrong}: {text}"))
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let name = text.to_lowercase();
        match self.names.iter().position(|known| *known == name) {
            Some(at) => Ok(self.min + u32::try_from(at).unwrap_or(0)),
            None => integer(text),
        }
    }
}

fn integer(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
        Err(_) => {
            let reason = format!("strconv.Atoi: parsing {text:?}: invalid syntax");
            Err(format!("failed to parse int from {text}: {reason}"))
        }
    }
}
