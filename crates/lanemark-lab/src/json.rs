//! JSON for display: indented, and without control sequences that a terminal would interpret.

use lanemark_schema::text::is_shown;

use crate::error::LabError;

/// Returns a value as JSON that is safe to print on a terminal. Control characters are escaped, so no data is lost.
///
/// # Errors
/// Returns an error if the value cannot be written as JSON.
pub fn text<T: serde::Serialize>(value: &T) -> Result<String, LabError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| LabError::run(format!("the result can't be written as JSON: {error}")))?;
    if text.chars().all(|letter| is_shown(letter) || letter == '\n') {
        return Ok(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_shown(letter) || letter == '\n' {
            escaped.push(letter);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                escaped += &format!("\\u{unit:04x}");
            }
        }
    }
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_loses_nothing() {
        let names = vec!["a\u{202e}b\u{e0041}\u{1b}\n", "ü"];
        let text = text(&names).unwrap();
        assert!(text.chars().all(|letter| is_shown(letter) || letter == '\n'), "{text}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&text).unwrap(), names);
    }
}
