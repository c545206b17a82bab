//! Places in a text that a program fills.
//!
//! A place is what is between `<!-- NAME -->` and `<!-- end of NAME -->`, each on a line of its own.

/// The text with something else in the place of this name.
pub fn fill(text: &str, name: &str, with: &str) -> Result<String, String> {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n"));
    let missing = |mark: &str| format!("there is no line {}", mark.trim_end());
    let (before, rest) = text.split_once(&begin).ok_or_else(|| missing(&begin))?;
    let (_, after) = rest.split_once(&end).ok_or_else(|| missing(&end))?;
    Ok(format!("{before}{begin}\n{}\n\n{end}{after}", with.trim()))
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let text = "# One\n<!-- a -->\nold\n<!-- end of a -->\nprose\n<!-- b -->\n<!-- end of b -->\n";
        let once = fill(text, "a", "new\n").unwrap();
        assert_eq!(once, "# One\n<!-- a -->\n\nnew\n\n<!-- end of a -->\nprose\n<!-- b -->\n<!-- end of b -->\n");
        assert_eq!(fill(&once, "a", "new").unwrap(), once);
        assert_eq!(fill(text, "c", "new").unwrap_err(), "there is no line <!-- c -->");
    }
}
