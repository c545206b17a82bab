//! Texts in quotes, as Go writes them, except that single quotes hold texts, too.

/// What a text in quotes says. `None` if there is something in it that Go would not read.
pub(super) fn unquote(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    // Escapes can spell bytes that are no text together.
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escaped(&mut rest, quote, &mut bytes)?,
            c if c == quote => return None,
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// What stands behind a backslash.
fn escaped(rest: &mut std::str::Chars<'_>, quote: char, bytes: &mut Vec<u8>) -> Option<()> {
    let byte = match rest.next()? {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        c if c == quote => u8::try_from(c).ok()?,
        'x' => u8::try_from(digits(rest, 0, 2, 16)?).ok()?,
        c @ '0'..='7' => u8::try_from(digits(rest, c.to_digit(8)?, 2, 8)?).ok()?,
        c @ ('u' | 'U') => {
            let code = digits(rest, 0, if c == 'u' { 4 } else { 8 }, 16)?;
            bytes.extend(char::from_u32(code)?.encode_utf8(&mut [0; 4]).bytes());
            return Some(());
        }
        _ => return None,
    };
    bytes.push(byte);
    Some(())
}

fn digits(rest: &mut std::str::Chars<'_>, first: u32, count: usize, radix: u32) -> Option<u32> {
    let add = |sum: u32, _| sum.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?);
    (0..count).try_fold(first, add)
}
