//! Characters into tokens.

use std::ops::Range;

/// What a token is. Punctuation and operators are their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Symbol(&'static str),
    Identifier,
    /// In backticks.
    Escaped,
    Int,
    Uint,
    Float,
    String,
    Bytes,
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) form: Form,
    /// In characters.
    pub(crate) place: Range<usize>,
}

/// Longer ones first, so that `<=` is not `<`.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":", "+", "*",
    "/", "%",
];

const WORDS: [&str; 4] = ["in", "true", "false", "null"];

pub(crate) struct Lexer<'a> {
    characters: &'a [char],
    at: usize,
}

/// Tokens up to and including the end, and the places of what is none.
pub(crate) fn tokens(characters: &[char]) -> (Vec<Token>, Vec<Range<usize>>) {
    let mut lexer = Lexer { characters, at: 0 };
    let (mut tokens, mut unknown) = (Vec::new(), Vec::new());
    loop {
        lexer.skip_blanks();
        let start = lexer.at;
        if start >= characters.len() {
            tokens.push(Token { form: Form::End, place: start..start });
            return (tokens, unknown);
        }
        match lexer.next() {
            Some(form) => tokens.push(Token { form, place: start..lexer.at }),
            None => {
                lexer.at = lexer.at.max(start + 1);
                unknown.push(start..lexer.at);
            }
        }
    }
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(index, character)| self.peek(index) == Some(character))
    }

    fn skip_blanks(&mut self) {
        loop {
            if self.peek(0).is_some_and(|next| matches!(next, '\t' | ' ' | '\r' | '\n' | '\u{c}')) {
                self.at += 1;
            } else if self.starts_with("//") {
                self.skip_while(|next| next != '\n');
            } else {
                return;
            }
        }
    }

    fn skip_while(&mut self, wanted: impl Fn(char) -> bool) -> usize {
        let start = self.at;
        while self.peek(0).is_some_and(&wanted) {
            self.at += 1;
        }
        self.at - start
    }

    fn next(&mut self) -> Option<Form> {
        let first = self.peek(0)?;
        if let Some(form) = self.quoted() {
            return form;
        }
        if first.is_ascii_digit() || (first == '.' && self.peek(1).is_some_and(|next| next.is_ascii_digit())) {
            return Some(self.number());
        }
        if first.is_ascii_alphabetic() || first == '_' {
            return Some(self.word());
        }
        if first == '`' {
            return self.escaped();
        }
        let Some(symbol) = SYMBOLS.iter().find(|symbol| self.starts_with(symbol)) else {
            // Half of an operator is told with what should have been the other half.
            self.at += if matches!(first, '|' | '&' | '=') { 2 } else { 1 };
            self.at = self.at.min(self.characters.len());
            return None;
        };
        self.at += symbol.chars().count();
        Some(Form::Symbol(symbol))
    }

    fn word(&mut self) -> Form {
        let start = self.at;
        self.skip_while(|next| next.is_ascii_alphanumeric() || next == '_');
        let word: String = self.characters[start..self.at].iter().collect();
        WORDS.iter().find(|known| **known == word).map_or(Form::Identifier, |known| Form::Symbol(known))
    }

    fn escaped(&mut self) -> Option<Form> {
        let length = {
            let body = &self.characters[self.at + 1..];
            body.iter().take_while(|next| next.is_ascii_alphanumeric() || "_.-/ ".contains(**next)).count()
        };
        if length == 0 || self.peek(length + 1) != Some('`') {
            self.at = (self.at + length + 2).min(self.characters.len());
            return None;
        }
        self.at += length + 2;
        Some(Form::Escaped)
    }

    fn number(&mut self) -> Form {
        let suffixed = |lexer: &mut Self| {
            let unsigned = matches!(lexer.peek(0), Some('u' | 'U'));
            lexer.at += usize::from(unsigned);
            if unsigned { Form::Uint } else { Form::Int }
        };
        if self.starts_with("0x") && self.peek(2).is_some_and(|next| next.is_ascii_hexdigit()) {
            self.at += 2;
            self.skip_while(|next| next.is_ascii_hexdigit());
            return suffixed(self);
        }
        let whole = self.skip_while(|next| next.is_ascii_digit());
        let decimals = self.peek(0) == Some('.') && self.peek(1).is_some_and(|next| next.is_ascii_digit());
        if decimals {
            self.at += 1;
            self.skip_while(|next| next.is_ascii_digit());
        }
        let exponent = self.exponent();
        if decimals || exponent || whole == 0 { Form::Float } else { suffixed(self) }
    }

    fn exponent(&mut self) -> bool {
        if !matches!(self.peek(0), Some('e' | 'E')) {
            return false;
        }
        let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if !self.peek(1 + signed).is_some_and(|next| next.is_ascii_digit()) {
            return false;
        }
        self.at += 1 + signed;
        self.skip_while(|next| next.is_ascii_digit());
        true
    }

    /// A string or bytes, if one begins here; `Some(None)` if it does not end.
    fn quoted(&mut self) -> Option<Option<Form>> {
        let mut ahead = 0;
        let bytes = matches!(self.peek(0), Some('b' | 'B'));
        ahead += usize::from(bytes);
        let raw = matches!(self.peek(ahead), Some('r' | 'R'));
        ahead += usize::from(raw);
        let quote = self.peek(ahead).filter(|next| matches!(next, '"' | '\''))?;
        let start = self.at;
        self.at += ahead;
        let triple = self.peek(1) == Some(quote) && self.peek(2) == Some(quote);
        let closed = if triple { self.triple_body(quote, raw) } else { self.body(quote, raw) };
        if !closed && ahead > 0 {
            // The letters before the quote are a name then.
            self.at = start;
            return None;
        }
        Some(closed.then_some(if bytes { Form::Bytes } else { Form::String }))
    }

    fn body(&mut self, quote: char, raw: bool) -> bool {
        self.at += 1;
        while let Some(next) = self.peek(0) {
            match next {
                '\n' | '\r' => {
                    self.at += 1;
                    return false;
                }
                '\\' if !raw => {
                    if !self.escape() {
                        return false;
                    }
                }
                _ => self.at += 1,
            }
            if next == quote {
                return true;
            }
        }
        false
    }

    fn triple_body(&mut self, quote: char, raw: bool) -> bool {
        let end: String = [quote; 3].iter().collect();
        let start = self.at;
        self.at += 3;
        while let Some(next) = self.peek(0) {
            if self.starts_with(&end) {
                self.at += 3;
                return true;
            }
            if next == '\\' && !raw {
                if !self.escape() {
                    break;
                }
            } else {
                self.at += 1;
            }
        }
        // What looked like three quotes is an empty string and the beginning of another.
        self.at = start + 2;
        true
    }

    /// Steps over an escape sequence, if it is one; otherwise over what looked like one, up to what did not.
    fn escape(&mut self) -> bool {
        let (skipped, length, radix) = match self.peek(1) {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => (2, 0, 16),
            Some('x' | 'X') => (2, 2, 16),
            Some('u') => (2, 4, 16),
            Some('U') => (2, 8, 16),
            Some('0'..='3') => (2, 2, 8),
            _ => {
                self.at = (self.at + 2).min(self.characters.len());
                return false;
            }
        };
        self.at += skipped;
        for _ in 0..length {
            let fits = self.peek(0).is_some_and(|next| next.is_digit(radix));
            self.at = (self.at + 1).min(self.characters.len());
            if !fits {
                return false;
            }
        }
        true
    }
}

/// The content of a string token, escapes resolved. Bytes for both: only `\x` in bytes makes any that are not UTF-8.
pub(crate) fn unquote(token: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let token = token.replace("\r\n", "\n").replace('\r', "\n");
    let token = if bytes { &token[1..] } else { &token[..] };
    let (raw, token) = match token.strip_prefix(['r', 'R']) {
        Some(token) => (true, token),
        None => (false, token),
    };
    let triple = token.len() >= 6 && (token.starts_with("'''") || token.starts_with("\"\"\""));
    let quotes = if triple { 3 } else { 1 };
    let body = token.get(quotes..token.len().saturating_sub(quotes)).ok_or("unable to unescape string")?;
    if raw {
        return Ok(body.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = unescape(&rest[at + 1..], bytes, &mut out)?;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// One escape sequence, the backslash already taken. The rest of the text.
fn unescape<'a>(text: &'a str, bytes: bool, out: &mut Vec<u8>) -> Result<&'a str, &'static str> {
    let first = text.chars().next().ok_or("unable to unescape string, found '\\' as last character")?;
    let plain = match first {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => first as u8,
        _ => 0,
    };
    if plain != 0 {
        out.push(plain);
        return Ok(&text[1..]);
    }
    let (start, count, radix) = match first {
        'x' | 'X' => (1, 2, 16),
        'u' if !bytes => (1, 4, 16),
        'U' if !bytes => (1, 8, 16),
        '0'..='3' => (0, 3, 8),
        _ => return Err("unable to unescape string"),
    };
    let digits = text.get(start..start + count).ok_or("unable to unescape string")?;
    let code = u32::from_str_radix(digits, radix).map_err(|_| "unable to unescape string")?;
    if bytes {
        out.push(u8::try_from(code).map_err(|_| "unable to unescape string")?);
    } else {
        let character = char::from_u32(code).ok_or("invalid unicode code point")?;
        out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(&text[start + count..])
}
