//! `sed` scripts: printing, deleting from the output, substituting in it, and jumping about.
//!
//! What this reads as the text of `a`, `i` and `c` ends at the line end, and what it reads as a label is followed by
//! commands again, so that no implementation finds a command where this finds none.

/// Whether a script runs, writes and reads nothing but its input and output.
pub(crate) fn is_reading_sed(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '}']);
        if rest.is_empty() {
            return true;
        }
        match after_command(rest) {
            Some(after) => rest = after,
            None => return false,
        }
    }
}

/// Skips one command with its addresses; `None` when it is not on the list.
fn after_command(text: &str) -> Option<&str> {
    if let Some(comment) = text.strip_prefix('#') {
        return Some(after_line(comment));
    }
    let rest = addresses(text)?.trim_start_matches([' ', '\t', '!']);
    let command = rest.chars().next()?;
    let rest = rest.get(command.len_utf8()..)?;
    match command {
        '{' => Some(rest),
        '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
            ended(rest)
        }
        'l' | 'q' | 'Q' => ended(digits(rest.trim_start_matches(' '))),
        ':' | 'b' | 't' | 'T' => {
            let label = rest.trim_start_matches([' ', '\t']);
            ended(label.trim_start_matches(|character: char| {
                character.is_ascii_alphanumeric() || character == '_'
            }))
        }
        'a' | 'i' | 'c' => Some(after_line(rest)),
        's' | 'y' => ended(substitution(rest, command)?),
        _ => None,
    }
}

/// What may follow a command: the end, `;`, a line end, `}` or a comment.
fn ended(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches([' ', '\t']);
    (rest.is_empty() || rest.starts_with([';', '\n', '}', '#'])).then_some(rest)
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

fn digits(text: &str) -> &str {
    text.trim_start_matches(|character: char| character.is_ascii_digit())
}

/// Skips `10,$` or `/re/,+3`.
fn addresses(text: &str) -> Option<&str> {
    let rest = address(text)?.trim_start_matches(' ');
    match rest.strip_prefix(',') {
        Some(second) => {
            let second = second.trim_start_matches(' ');
            address(second.strip_prefix(['+', '~']).unwrap_or(second))
        }
        None => Some(rest),
    }
}

fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    let delimiter = match text.strip_prefix('\\') {
        Some(custom) => custom.chars().next().filter(|delimiter| is_delimiter(*delimiter))?,
        None => '/',
    };
    if let Some(rest) = text.trim_start_matches('\\').strip_prefix(delimiter) {
        return Some(after_expression(rest, delimiter)?.trim_start_matches(['I', 'M']));
    }
    let rest = digits(text);
    match rest.strip_prefix('~') {
        Some(step) if rest.len() < text.len() => Some(digits(step)),
        _ => Some(rest),
    }
}

fn is_delimiter(character: char) -> bool {
    !character.is_alphanumeric() && !matches!(character, '\\' | '\n' | ' ' | ';' | '{' | '}')
}

/// Skips `/re/text/flags` without the flags that write or execute.
fn substitution(text: &str, command: char) -> Option<&str> {
    let delimiter = text.chars().next().filter(|delimiter| is_delimiter(*delimiter))?;
    let rest = text.get(delimiter.len_utf8()..)?;
    if command == 'y' {
        return after_text(after_text(rest, delimiter)?, delimiter);
    }
    let rest = after_text(after_expression(rest, delimiter)?, delimiter)?;
    Some(rest.trim_start_matches(|flag: char| {
        flag.is_ascii_digit() || matches!(flag, 'g' | 'p' | 'i' | 'I' | 'm' | 'M')
    }))
}

/// Skips to behind the next `delimiter` that is not escaped.
fn after_text(text: &str, delimiter: char) -> Option<&str> {
    let mut escaped = false;
    for (index, character) in text.char_indices() {
        match character {
            '\n' => return None,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == delimiter => return text.get(index + character.len_utf8()..),
            _ => {}
        }
    }
    None
}

/// Skips to behind the `delimiter` that ends a regular expression: neither escaped nor inside brackets.
fn after_expression(text: &str, delimiter: char) -> Option<&str> {
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let tail = rest.get(character.len_utf8()..)?;
        rest = match character {
            '\n' => return None,
            '\\' => {
                let escaped = tail.chars().next().filter(|escaped| *escaped != '\n')?;
                tail.get(escaped.len_utf8()..)?
            }
            _ if character == delimiter => return Some(tail),
            '[' => after_brackets(tail)?,
            _ => tail,
        };
    }
    None
}

/// Skips the rest of a bracket expression, in which a delimiter stands for itself (POSIX, `sed`, "Regular Expressions in
/// sed"). An escaped `]` ends it for some implementations only and is refused.
fn after_brackets(text: &str) -> Option<&str> {
    let negated = text.strip_prefix('^').unwrap_or(text);
    // A `]` that comes first is a member.
    let mut rest = negated.strip_prefix(']').unwrap_or(negated);
    loop {
        let character = rest.chars().next().filter(|character| *character != '\n')?;
        let tail = rest.get(character.len_utf8()..)?;
        rest = match character {
            ']' => return Some(tail),
            '\\' if tail.starts_with(']') => return None,
            '[' if tail.starts_with([':', '.', '=']) => {
                let kind = tail.get(..1)?;
                let (class, after) = tail.get(1..)?.split_once(&format!("{kind}]"))?;
                if class.contains('\n') {
                    return None;
                }
                after
            }
            _ => tail,
        };
    }
}
