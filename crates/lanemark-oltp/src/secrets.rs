//! Names of databases without their passwords. Every name and message that is printed or saved passes through this
//! file.
//!
//! A password can be in a URL (`scheme://user:password@host`, or `?password=…`), or in a list of settings
//! (`host=… password=…`). A text that is not valid may still contain one, so the text is not parsed: everything that
//! could be a password is removed.

/// Text in place of a password.
const HIDDEN: &str = "***";
/// Names of settings that contain a password, in lower case. A name may be the end of a longer name, such as
/// `PGPASSWORD`.
const SETTINGS: [&str; 3] = ["password", "passwd", "pwd"];

/// Returns a database's name without its password. The name is one URL or one list of settings.
pub fn without_password(name: &str) -> String {
    let Some((scheme, rest)) = name.split_once("://") else { return without_settings(name) };
    // A password may contain any letter, so it ends at the last `@`.
    let (user, host) = match rest.rsplit_once('@') {
        Some((account, host)) => (account.split([':', '/', '?', '@']).next(), host),
        None => (None, rest),
    };
    // The text after `?` may also contain a password, and is not needed for printing.
    let host = host.split('?').next().unwrap_or(host);
    let user = user.map_or(String::new(), |user| format!("{user}@"));
    without_settings(&format!("{scheme}://{user}{host}"))
}

/// Returns a message without the passwords of the database names in it. A name ends at a space or a quotation mark.
pub fn redacted(message: &str) -> String {
    let is_end = |letter: char| letter.is_whitespace() || "'\"`".contains(letter);
    let hide = |piece: &str| {
        let name = piece.strip_suffix(is_end).unwrap_or(piece);
        let has_account = name.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
        if has_account { without_password(name) + &piece[name.len()..] } else { piece.to_owned() }
    };
    without_settings(&message.split_inclusive(is_end).map(hide).collect::<String>())
}

/// Returns the text with the values of settings such as `password=…` hidden.
fn without_settings(text: &str) -> String {
    // Only ASCII letters change, so positions in both texts are equal.
    let lower = text.to_ascii_lowercase();
    let mut hidden = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(value) = next_value(&lower, from) {
        hidden += &text[from..value.start];
        hidden += HIDDEN;
        from = value.end;
    }
    hidden + &text[from..]
}

/// Returns the range of the first value of a password setting that begins at `from` or later.
fn next_value(lower: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let ends = SETTINGS.iter().flat_map(|name| {
        lower[from..].match_indices(name).map(move |(at, _)| from + at + name.len())
    });
    let value = |end: usize| {
        let rest = lower[end..].trim_start().strip_prefix('=')?.trim_start();
        let start = lower.len() - rest.len();
        let length = match rest.strip_prefix('\'') {
            // A quoted value may contain spaces.
            Some(quoted) => quoted.find('\'').map_or(rest.len(), |at| at + 2),
            None => rest
                .find(|letter: char| letter.is_whitespace() || "&'\"`".contains(letter))
                .unwrap_or(rest.len()),
        };
        (length > 0).then(|| start..start + length)
    };
    ends.filter_map(value).min_by_key(|range| range.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_passwords() {
        for (given, expected) in [
            ("postgres://me:secret@host:5432/db?password=x", "postgres://me@host:5432/db"),
            ("postgres://me:se@c/r?et@host/db", "postgres://me@host/db"),
            ("postgres://me:a secret@host/db", "postgres://me@host/db"),
            ("postgres://host/db?user=a@b&password=secret", "postgres://host@b&password=***"),
            ("postgres://host/db", "postgres://host/db"),
            ("host=h password=secret dbname=d", "host=h password=*** dbname=d"),
            ("host=h PASSWORD = 'a secret' dbname=d", "host=h PASSWORD = *** dbname=d"),
            ("pgpassword=secret", "pgpassword=***"),
            ("sqlite:a.db", "sqlite:a.db"),
        ] {
            assert_eq!(without_password(given), expected);
        }
    }

    #[test]
    fn messages_are_shown_without_passwords() {
        for (given, expected) in [
            (
                "invalid value 'postgres://me:secret@host:x/db' for '--database'",
                "invalid value 'postgres://me@host:x/db' for '--database'",
            ),
            ("mysql://a:secret@h and pwd=secret, again", "mysql://a@h and pwd=*** again"),
            ("see http://127.0.0.1:80/x?y=z", "see http://127.0.0.1:80/x?y=z"),
            (
                "the password is wrong\nhint: use another",
                "the password is wrong\nhint: use another",
            ),
            ("über passwd='é secret'!", "über passwd=***!"),
        ] {
            assert_eq!(redacted(given), expected);
        }
    }
}
