//! JSON for people: in lines, and without anything that a terminal would obey.

use lanemark_core::text::is_shown;

use crate::error::LabError;

/// A value as JSON that a terminal may show: what a terminal would obey is escaped, so that nothing is lost.
///
/// # Errors
/// Where it cannot be written as JSON.
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
