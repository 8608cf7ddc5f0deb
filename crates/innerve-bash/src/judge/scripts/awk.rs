//! `awk` programs: those that only print what they were given.
//!
//! No pipes, files, calls of other than known functions, and none of the variables that reach outside. `>` is taken for a
//! comparison only where it cannot send the output of `print` to a file.

/// Functions, statements and patterns of the language that stay inside the program.
const KNOWN: &[&str] = &[
    "BEGIN", "END", "print", "printf", "if", "else", "for", "in", "while", "do", "next", "exit",
    "break", "continue", "delete", "length", "substr", "index", "split", "sub", "gsub", "match",
    "sprintf", "tolower", "toupper", "int", "sqrt", "log", "exp", "sin", "cos", "atan2", "rand",
    "srand", "gensub", "strftime", "systime", "mktime", "strtonum", "and", "or", "xor", "lshift",
    "rshift", "compl", "asort", "asorti", "patsplit",
];

/// Words that run, read or write elsewhere, or change which files are read.
const REFUSED: &[&str] = &[
    "getline",
    "system",
    "close",
    "fflush",
    "func",
    "function",
    "nextfile",
    "switch",
    "case",
    "default",
    "return",
    "BEGINFILE",
    "ENDFILE",
    "ARGV",
    "ARGC",
    "ARGIND",
    "ENVIRON",
    "PROCINFO",
    "SYMTAB",
    "FUNCTAB",
    "LINT",
    "TEXTDOMAIN",
    "BINMODE",
];

/// Files behind `>` that are no files.
const DESCRIPTORS: [&str; 3] = ["\"/dev/stderr\"", "\"/dev/stdout\"", "\"/dev/null\""];

/// What a `/` means at some place of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    /// It starts a regular expression.
    Expression,
    Division,
    Doubt,
}

/// Whether a program only prints what it was given.
pub(crate) fn is_reading_awk(program: &str) -> bool {
    let mut rest = program;
    let mut slash = Slash::Expression;
    // Whether a `print` may still take a redirection.
    let mut printing = false;
    // For each open parenthesis or bracket, whether a statement follows what it encloses.
    let mut open: Vec<bool> = Vec::new();
    let mut before_statement = false;
    while let Some(character) = rest.chars().next() {
        let mut length = character.len_utf8();
        let was_before_statement = std::mem::take(&mut before_statement);
        match character {
            ' ' | '\t' => before_statement = was_before_statement,
            '#' => length = rest.find('\n').unwrap_or(rest.len()),
            '\n' | ';' | '{' | '}' => {
                slash = Slash::Expression;
                printing = false;
                if !open.is_empty() && character != ';' {
                    return false;
                }
            }
            '"' => {
                let Some(end) = text_end(rest, '"') else { return false };
                length = end;
                slash = Slash::Division;
            }
            '/' => match slash {
                Slash::Division => slash = Slash::Expression,
                Slash::Doubt => return false,
                Slash::Expression => {
                    let Some(end) = text_end(rest, '/') else { return false };
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
                let tail = rest.get(length..).unwrap_or_default();
                let known = KNOWN.contains(&word);
                let called = tail.trim_start_matches([' ', '\t']).starts_with('(');
                // A name and a blank before `(` is a concatenation, but only if it is no function.
                if REFUSED.contains(&word) || !known && called {
                    return false;
                }
                if matches!(word, "print" | "printf") {
                    // `for (print > "f"; …)`: the parenthesis does not end where the output goes.
                    if !open.is_empty() {
                        return false;
                    }
                    printing = true;
                }
                before_statement = matches!(word, "if" | "while" | "for");
                slash = match word {
                    "print" | "printf" | "else" | "in" | "do" | "BEGIN" | "END" => {
                        Slash::Expression
                    }
                    _ if known => Slash::Doubt,
                    _ => Slash::Division,
                };
            }
            '(' | '[' => {
                open.push(character == '(' && was_before_statement);
                slash = Slash::Expression;
            }
            ')' | ']' => {
                let Some(statement_follows) = open.pop() else { return false };
                slash = if statement_follows { Slash::Expression } else { Slash::Division };
            }
            '>' if printing && open.is_empty() => {
                let Some(end) = descriptor_end(rest) else { return false };
                length = end;
                slash = Slash::Doubt;
            }
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
    open.is_empty()
}

/// The length of `> "/dev/stderr"` and the like, when nothing is joined to the name.
fn descriptor_end(text: &str) -> Option<usize> {
    let name = text.trim_start_matches('>').trim_start_matches([' ', '\t']);
    let descriptor = DESCRIPTORS.iter().find(|descriptor| name.starts_with(**descriptor))?;
    let behind = name.get(descriptor.len()..)?.trim_start_matches([' ', '\t']);
    let ends = behind.is_empty() || behind.starts_with([';', '\n', '}']);
    ends.then_some(text.len() - behind.len())
}

/// The length of a text or expression in `delimiter`s at the start of `rest`.
fn text_end(rest: &str, delimiter: char) -> Option<usize> {
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
