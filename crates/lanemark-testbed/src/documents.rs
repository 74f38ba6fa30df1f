//! Commands and output lines as documents show them.

/// Splits a command line at spaces outside double quotes.
pub fn words(text: &str) -> Vec<String> {
    let mut quoted = false;
    let mut words = vec![String::new()];
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("there is a first word").push(other),
        }
    }
    words
}

/// Returns a line in which single spaces replace runs of spaces.
pub fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
