//! UIDs in less room: as text they are more than twice as long as what they say.

/// How long a UID is as text.
const TEXT_BYTES: usize = 36;
/// Where its dashes are.
const DASHES: [usize; 4] = [8, 13, 18, 23];
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The number that a UID is. `None` for one that is not written as all are by convention: whoever gives UIDs may give any
/// text.
pub fn packed(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; TEXT_BYTES] = text.as_bytes().try_into().ok()?;
    if DASHES.iter().any(|dash| text[*dash] != b'-') {
        return None;
    }
    let mut digits = text.iter().enumerate().filter(|(at, _)| !DASHES.contains(at)).map(|(_, digit)| digit_of(*digit));
    let mut packed = [0; 16];
    for byte in &mut packed {
        *byte = (digits.next()?? << 4) | digits.next()??;
    }
    Some(packed)
}

/// The text that was packed.
pub fn text(packed: [u8; 16]) -> String {
    let mut text = String::with_capacity(TEXT_BYTES);
    for byte in packed {
        if DASHES.contains(&text.len()) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 0xf] {
            text.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    text
}

/// Small letters only: what is packed is to be the same text again.
fn digit_of(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: &str = "0f8fad5b-d9cb-469f-a165-70867728950e";

    #[test]
    fn what_is_packed_is_the_same_text_again() {
        assert_eq!(packed(USUAL).map(text).as_deref(), Some(USUAL));
        for seed in 0..1000u128 {
            let bytes = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834).to_be_bytes();
            assert_eq!(packed(&text(bytes)), Some(bytes));
        }
    }

    #[test]
    fn what_would_not_be_the_same_text_again_is_not_packed() {
        assert_eq!(packed(""), None);
        assert_eq!(packed(&USUAL.to_uppercase()), None);
        assert_eq!(packed(&USUAL[1..]), None);
        assert_eq!(packed(&format!("{USUAL}0")), None);
        // Each place in turn, with what does not belong there, and with what is more than one byte.
        for at in 0..TEXT_BYTES {
            for odd in [b'-', b'0', b'g', b' ', b'F'] {
                let mut bytes = USUAL.as_bytes().to_vec();
                bytes[at] = odd;
                let odd = String::from_utf8(bytes).unwrap();
                assert!(packed(&odd).is_none_or(|bytes| text(bytes) == odd), "{odd}");
            }
        }
        assert_eq!(packed(&USUAL.replacen("0f", "é", 1)), None);
    }
}
