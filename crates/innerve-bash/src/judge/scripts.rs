//! Programs inside arguments: the small parts of `sed` and `awk` that only read.

/// Whether a `sed` script only prints, deletes lines from the output, or substitutes in it.
pub(crate) fn is_reading_sed(script: &str) -> bool {
    let mut rest = script.trim_matches([' ', '\n']);
    loop {
        rest = rest.trim_start_matches([' ', ';', '\n', '\t']);
        if rest.is_empty() {
            return true;
        }
        let Some(after) = sed_addresses(rest) else { return false };
        let after = after.trim_start_matches([' ', '!']);
        let Some(command) = after.chars().next() else { return false };
        let Some(tail) = after.get(command.len_utf8()..) else { return false };
        rest = match command {
            'p' | 'd' | 'q' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'P' | 'D' | 'l' => {
                tail
            }
            's' | 'y' => match sed_substitution(tail, command) {
                Some(tail) => tail,
                None => return false,
            },
            _ => return false,
        };
        let rest_of_command = rest.trim_start_matches(' ');
        if !rest_of_command.is_empty() && !rest_of_command.starts_with([';', '\n']) {
            return false;
        }
    }
}

/// Skips `10,$` or `/re/,+3`.
fn sed_addresses(text: &str) -> Option<&str> {
    let mut rest = sed_address(text)?;
    if let Some(second) = rest.strip_prefix(',') {
        let second = second.trim_start_matches(' ');
        rest = sed_address(second.strip_prefix(['+', '~']).unwrap_or(second))?;
    }
    Some(rest.trim_start_matches(' '))
}

fn sed_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix('/') {
        let (_, rest) = delimited(rest, '/')?;
        return Some(rest.strip_prefix('I').unwrap_or(rest));
    }
    let digits = text.trim_start_matches(|character: char| character.is_ascii_digit());
    match digits.strip_prefix('~') {
        Some(step) if digits.len() < text.len() => {
            Some(step.trim_start_matches(|character: char| character.is_ascii_digit()))
        }
        _ => Some(digits),
    }
}

/// Skips `/re/text/flags` without the flags that write or execute.
fn sed_substitution(text: &str, command: char) -> Option<&str> {
    let delimiter = text.chars().next().filter(|delimiter| {
        !delimiter.is_alphanumeric() && !matches!(delimiter, '\\' | '\n' | ' ')
    })?;
    let rest = text.get(delimiter.len_utf8()..)?;
    let (_, rest) = delimited(rest, delimiter)?;
    let (_, rest) = delimited(rest, delimiter)?;
    if command == 'y' {
        return Some(rest);
    }
    Some(rest.trim_start_matches(|flag: char| {
        flag.is_ascii_digit() || matches!(flag, 'g' | 'p' | 'i' | 'I')
    }))
}

/// Splits at the next `delimiter` that is not escaped; brackets are refused where they could hide one.
fn delimited(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut escaped = false;
    let mut in_brackets = false;
    for (index, character) in text.char_indices() {
        if character == '\n' {
            return None;
        }
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == delimiter {
            // Whether a delimiter inside brackets ends the expression depends on the implementation.
            return if in_brackets {
                None
            } else {
                text.split_at_checked(index)
                    .and_then(|(left, right)| Some((left, right.strip_prefix(delimiter)?)))
            };
        } else if character == '[' {
            in_brackets = true;
        } else if character == ']' {
            in_brackets = false;
        }
    }
    None
}

/// Words that an `awk` program may hold: everything else may run, write or read elsewhere.
const AWK_WORDS: &[&str] = &[
    "BEGIN", "END", "NR", "NF", "FNR", "FS", "OFS", "RS", "ORS", "FILENAME", "RSTART", "RLENGTH",
    "SUBSEP", "print", "printf", "if", "else", "for", "in", "while", "do", "next", "exit", "break",
    "continue", "delete", "length", "substr", "index", "split", "sub", "gsub", "match", "sprintf",
    "tolower", "toupper", "int", "sqrt", "log", "exp", "gensub",
];

/// Words that look like variables but run, write or read elsewhere.
const AWK_REFUSED: &[&str] = &[
    "getline", "system", "close", "fflush", "func", "function", "nextfile", "switch", "case",
    "default",
];

/// What a `/` means at some place of an `awk` program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Expression,
    Division,
    Doubt,
}

/// Whether an `awk` program only prints what it was given.
///
/// No `>`, `|`, `@` or backslash outside texts, no calls and no words but the known ones and short lower-case variables
/// that are no functions: `>` is taken for a comparison only outside of `print` arguments.
pub(crate) fn is_reading_awk(program: &str) -> bool {
    let mut rest = program;
    // What a `/` would be here: the start of an expression, a division, or in doubt.
    let mut slash = Slash::Expression;
    // Whether a `print` may still take a redirection.
    let mut printing = false;
    let mut parentheses = 0_i32;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        match character {
            ' ' | '\t' => {}
            '\n' | ';' | '{' | '}' => {
                slash = Slash::Expression;
                printing = false;
                if parentheses != 0 && character != ';' {
                    return false;
                }
            }
            '"' => {
                let Some(end) = awk_text_end(rest, '"') else { return false };
                length = end;
                slash = Slash::Doubt;
            }
            '/' => match slash {
                Slash::Division => slash = Slash::Expression,
                Slash::Doubt => return false,
                Slash::Expression => {
                    let Some(end) = awk_text_end(rest, '/') else { return false };
                    length = end;
                    slash = Slash::Doubt;
                }
            },
            '0'..='9' | '.' => slash = Slash::Division,
            'a'..='z' | 'A'..='Z' | '_' => {
                length = rest
                    .bytes()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
                    .count();
                let word = rest.get(..length).unwrap_or_default();
                let known = AWK_WORDS.contains(&word);
                let is_variable = word.len() <= 12
                    && word.bytes().all(|byte| {
                        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
                    });
                let called = rest
                    .get(length..)
                    .is_some_and(|tail| tail.trim_start_matches([' ', '\t']).starts_with('('));
                if !known && (!is_variable || called || AWK_REFUSED.contains(&word)) {
                    return false;
                }
                printing |= matches!(word, "print" | "printf");
                slash = match word {
                    "print" | "printf" | "else" | "in" | "do" | "BEGIN" | "END" => {
                        Slash::Expression
                    }
                    "NR" | "NF" | "FNR" => Slash::Division,
                    _ if known => Slash::Doubt,
                    _ => Slash::Division,
                };
            }
            '(' | '[' => {
                parentheses += 1;
                slash = Slash::Expression;
            }
            ')' | ']' => {
                parentheses -= 1;
                slash = Slash::Doubt;
            }
            '>' if printing => return false,
            '+' | '-' if rest.starts_with("++") || rest.starts_with("--") => {
                length = 2;
                slash = Slash::Doubt;
            }
            '|' if rest.starts_with("||") => {
                length = 2;
                slash = Slash::Expression;
            }
            '&' if rest.starts_with("&&") => {
                length = 2;
                slash = Slash::Expression;
            }
            '$' | '>' | '<' | '=' | '!' | '~' | '+' | '-' | '*' | '%' | '^' | ',' | '?' | ':' => {
                slash = Slash::Expression;
            }
            _ => return false,
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    parentheses == 0
}

/// The length of a text or expression in `delimiter`s at the start of `rest`.
fn awk_text_end(rest: &str, delimiter: char) -> Option<usize> {
    let mut escaped = false;
    let mut in_brackets = false;
    for (index, character) in rest.char_indices().skip(1) {
        if character == '\n' {
            return None;
        }
        if escaped {
            escaped = false;
        } else if character == '\\' {
            escaped = true;
        } else if character == delimiter {
            return if in_brackets { None } else { Some(index + delimiter.len_utf8()) };
        } else if delimiter == '/' && character == '[' {
            in_brackets = true;
        } else if delimiter == '/' && character == ']' {
            in_brackets = false;
        }
    }
    None
}
