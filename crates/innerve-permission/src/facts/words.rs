//! Words of shell commands: what the place where a command runs tells about them.

use innerve_bash::{DynamicWord, Word, WordPart};

use super::Place;
use std::path::Path;

/// Variables that a session sets and that hold no blanks a user could slip words into.
const SESSION_VARIABLES: &[&str] = &["HOME", "PWD", "OLDPWD", "USER", "TMPDIR"];

/// The word's only value, as far as the place tells it: literal text, `~`, `$HOME` and `$PWD`.
pub(super) fn value(word: &Word, cwd: Option<&Path>, place: Place<'_>) -> Option<String> {
    match word {
        Word::Literal(text) => Some(text.clone()),
        Word::Dynamic(dynamic) => {
            let mut value = String::new();
            for part in &dynamic.parts {
                match part {
                    WordPart::Literal(text) => value.push_str(text),
                    WordPart::Tilde(user) if user.is_empty() => {
                        value.push_str(place.home.to_str()?);
                    }
                    WordPart::Variable(name) if name == "HOME" => {
                        value.push_str(place.home.to_str()?);
                    }
                    WordPart::Variable(name) if name == "PWD" => value.push_str(cwd?.to_str()?),
                    WordPart::Tilde(_)
                    | WordPart::Variable(_)
                    | WordPart::Glob(_)
                    | WordPart::Other(_) => {
                        return None;
                    }
                }
            }
            // An unquoted expansion is split at blanks.
            (dynamic.one_word || !value.contains(char::is_whitespace)).then_some(value)
        }
    }
}

/// Whether the word holds an expansion whose value nothing tells, so that a prefix rule does not cover it.
///
/// Globs name files, and a quoted substitution is one argument whose commands are judged on their own.
pub(super) fn expands(word: &Word) -> bool {
    let Word::Dynamic(DynamicWord { parts, one_word, .. }) = word else { return false };
    parts.iter().any(|part| match part {
        WordPart::Literal(_) | WordPart::Glob(_) => false,
        WordPart::Tilde(user) => !user.is_empty(),
        WordPart::Variable(name) => !SESSION_VARIABLES.contains(&name.as_str()),
        // What `xargs` appends are more arguments, as a star stands for.
        WordPart::Other(text) if text == "…" => false,
        WordPart::Other(text) => !(*one_word && (text.starts_with("$(") || text.starts_with('`'))),
    })
}

/// The word with what the place tells filled in, globs as written and other expansions as `$name`: for recognizing
/// patterns such as `$HOME/*`. A relative glob is made absolute.
pub(super) fn shape(word: &Word, cwd: Option<&Path>, place: Place<'_>) -> String {
    let Word::Dynamic(dynamic) = word else { return word.literal().unwrap_or_default().to_owned() };
    let parts = dynamic.parts.iter().map(|part| match part {
        WordPart::Literal(text) | WordPart::Glob(text) | WordPart::Other(text) => text.clone(),
        WordPart::Variable(name) if name == "HOME" => place.home.to_string_lossy().into_owned(),
        WordPart::Tilde(user) if user.is_empty() => place.home.to_string_lossy().into_owned(),
        WordPart::Variable(name) => format!("${name}"),
        WordPart::Tilde(user) => format!("~{user}"),
    });
    let shape: String = parts.collect();
    let is_glob =
        dynamic.parts.iter().all(|part| matches!(part, WordPart::Literal(_) | WordPart::Glob(_)));
    match cwd {
        Some(cwd) if is_glob && !shape.starts_with('/') => format!("{}/{shape}", cwd.display()),
        Some(_) | None => shape,
    }
}

/// The text as one word for a shell.
pub(super) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
