//! Text for values: the same for everybody, and made once.

use std::sync::LazyLock;

/// Far more than any cache of blocks that an engine compresses together.
const TEXT_BYTES: usize = 4 << 20;

/// `length` letters that differ from number to number, with about the redundancy of hexadecimal text. Cut out of a text
/// made once: whoever is measured should not have to share the processor with the making of values.
pub fn cut(number: u64, length: usize) -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| (1..TEXT_BYTES as u64 / 16).flat_map(hexadecimal).collect());
    let from = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % (TEXT.len() - length);
    &TEXT[from..from + length]
}

fn hexadecimal(seed: u64) -> [char; 16] {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^= state >> 32;
    std::array::from_fn(|nth| char::from(b"0123456789abcdef"[(state >> (4 * nth)) as usize & 15]))
}
