//! The bytes of a file as text, and their hash.

use sha2::{Digest, Sha256};

/// Returns bytes as text, UTF-8 or UTF-16 with a byte order mark.
///
/// # Errors
/// Returns the reason why the bytes are not text.
pub fn decoded(bytes: Vec<u8>) -> Result<String, String> {
    let mark = bytes.get(..2).map(|mark| (mark[0], mark[1]));
    if let Some((0xff, 0xfe) | (0xfe, 0xff)) = mark {
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            match mark {
                Some((0xff, _)) => u16::from_le_bytes(pair),
                _ => u16::from_be_bytes(pair),
            }
        };
        let units = bytes[2..].chunks_exact(2);
        let is_whole = units.remainder().is_empty();
        let text = char::decode_utf16(units.map(unit)).collect::<Result<String, _>>();
        return text
            .ok()
            .filter(|_| is_whole)
            .ok_or_else(|| "is not text: it is not valid UTF-16".to_owned());
    }
    if [&b"\x89PNG"[..], b"\xff\xd8\xff", b"GIF8", b"BM"].iter().any(|mark| bytes.starts_with(mark))
        && std::str::from_utf8(&bytes).is_err()
    {
        return Err("is a picture".to_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("is not text: byte {at} is not valid UTF-8")
    })
}

/// Returns the SHA-256 of `bytes`, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_powershell_is_decoded_and_a_picture_is_named() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        let marked = [&[0xff, 0xfe][..], &wide("total: 1 µs\r\n")].concat();
        assert_eq!(decoded(marked).unwrap(), "total: 1 µs\r\n");
        let big = [0xfe, 0xff, 0x00, b'a', 0x20, 0xac];
        assert_eq!(decoded(big.to_vec()).unwrap(), "a€");
        assert!(decoded(vec![0xfe, 0xff, 0x00]).unwrap_err().contains("UTF-16"));
        // The text ends with half of a surrogate pair.
        assert!(decoded(vec![0xff, 0xfe, 0x00, 0xd8]).unwrap_err().contains("UTF-16"));
        assert_eq!(decoded(b"\x89PNG\r\n\x1a\n".to_vec()).unwrap_err(), "is a picture");
        assert_eq!(decoded(b"BM is text".to_vec()).unwrap(), "BM is text");
        assert!(decoded(vec![b'a', 0xff]).unwrap_err().contains("byte 1"));
    }
}
