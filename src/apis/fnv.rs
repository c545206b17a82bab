//! FNV-1a and FNV-1 in 32 and 64 bits: hashes that others print into names, so ours have to be the same.

const BASIS_32: u32 = 0x811c_9dc5;
const PRIME_32: u32 = 0x0100_0193;
const BASIS_64: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME_64: u64 = 0x0000_0100_0000_01b3;

/// FNV-1a.
pub fn hash_32(bytes: &[u8]) -> u32 {
    bytes.iter().fold(BASIS_32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME_32))
}

/// FNV-1, which multiplies first.
pub fn hash_32_first(bytes: &[u8]) -> u32 {
    bytes.iter().fold(BASIS_32, |hash, byte| hash.wrapping_mul(PRIME_32) ^ u32::from(*byte))
}

/// FNV-1a.
pub fn hash_64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(BASIS_64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME_64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hashes_are_the_published_ones() {
        assert_eq!(hash_32(b"foobar"), 0xbf9c_f968);
        assert_eq!(hash_32_first(b"foobar"), 0x31f0_b262);
        assert_eq!(hash_64(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
