//! The outer grammar of a rule: `Name` or `Name(specifier)`.

use super::tools;

/// Splits a rule into its name and its unescaped specifier; the error says what is wrong and what to write instead.
pub(super) fn split(text: &str) -> Result<(&str, Option<String>), String> {
    let Some((name, rest)) = text.split_once('(') else {
        check_name(text)?;
        return Ok((text, None));
    };
    check_name(name)?;
    let spec = rest
        .strip_suffix(')')
        .filter(|spec| !ends_in_escape(spec))
        .ok_or_else(|| format!("does not end with `)`; write `{name}(…)`"))?;
    if spec.trim().is_empty() {
        return Err(format!("has an empty specifier; write `{name}` for the whole tool"));
    }
    if !is_balanced(spec) {
        return Err("has parentheses that do not balance; write `\\(` and `\\)` for literal ones"
            .to_owned());
    }
    Ok((name, Some(unescape(spec))))
}

/// Escapes a specifier so that [`split`] gives it back.
pub(crate) fn escape(spec: &str) -> String {
    let mut escaped = String::with_capacity(spec.len());
    for character in spec.chars() {
        if matches!(character, '(' | ')' | '\\') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("names no tool; write `Tool` or `Tool(specifier)`".to_owned());
    }
    if let Some(odd) = name.chars().find(|c| c.is_control() || "[]{})\\\"'`,;=".contains(*c)) {
        return Err(format!(
            "has `{}` in the tool's name; write `Tool(specifier)`",
            odd.escape_default()
        ));
    }
    // A forgotten parenthesis: the rule would wait for a tool of that long name.
    if let Some((tool, rest)) = name.split_once(char::is_whitespace)
        && tools::is_known(tools::canonical(tool))
    {
        return Err(format!("lacks parentheses; write `{tool}({})`", rest.trim()));
    }
    Ok(())
}

fn ends_in_escape(text: &str) -> bool {
    text.chars().rev().take_while(|character| *character == '\\').count() % 2 == 1
}

fn is_balanced(spec: &str) -> bool {
    let mut depth = 0_usize;
    let mut characters = spec.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    depth == 0
}

fn unescape(spec: &str) -> String {
    let mut plain = String::with_capacity(spec.len());
    let mut characters = spec.chars().peekable();
    while let Some(character) = characters.next() {
        let escaped = character == '\\' && matches!(characters.peek(), Some('(' | ')' | '\\'));
        plain.push(if escaped { characters.next().unwrap_or(character) } else { character });
    }
    plain
}
