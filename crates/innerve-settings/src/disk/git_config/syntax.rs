//! The syntax of git's configuration files (git-config, "Syntax"): doubt is no reading.

/// One `name = value` of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// In lower case.
    pub(super) section: String,
    pub(super) subsection: Option<String>,
    /// In lower case.
    pub(super) name: String,
    pub(super) value: String,
}

impl Entry {
    pub(super) fn key(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{subsection}.{}", self.section, self.name),
            None => format!("{}.{}", self.section, self.name),
        }
    }

    /// The key with any subsection.
    pub(super) fn pattern(&self) -> String {
        let any = if self.subsection.is_some() { ".*" } else { "" };
        format!("{}{any}.{}", self.section, self.name)
    }
}

/// The entries of a configuration text; `None` if it is not certain how git reads it.
pub(super) fn entries(text: &str) -> Option<Vec<Entry>> {
    let mut entries = Vec::new();
    let mut section: Option<(String, Option<String>)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let mut lines = text.split('\n');
    while let Some(line) = lines.next() {
        let mut rest = line.trim_matches([' ', '\t']);
        if let Some(header) = rest.strip_prefix('[') {
            let (parsed, after) = header_of(header)?;
            section = Some(parsed);
            rest = after.trim_start_matches([' ', '\t']);
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (section, subsection) = section.clone()?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(end)?;
        if name.is_empty() {
            return None;
        }
        let after = after.trim_start_matches([' ', '\t']);
        let value = match after.strip_prefix('=') {
            Some(value) => value_of(value, &mut lines)?,
            // A name alone is a flag that is set.
            None if after.is_empty() || after.starts_with(['#', ';']) => "true".to_owned(),
            None => return None,
        };
        entries.push(Entry { section, subsection, name: name.to_ascii_lowercase(), value });
    }
    Some(entries)
}

/// A section's lower-case name and its subsection.
type Section = (String, Option<String>);

/// Reads `section "subsection"]` or `section.subsection]`, and gives what follows.
fn header_of(header: &str) -> Option<(Section, &str)> {
    let end = header.find([']', '"'])?;
    let (name, rest) = header.split_at_checked(end)?;
    let name = name.trim_end_matches([' ', '\t']);
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.') {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    if let Some(rest) = rest.strip_prefix(']') {
        return Some(match lower.split_once('.') {
            Some((section, subsection)) => {
                ((section.to_owned(), Some(subsection.to_owned())), rest)
            }
            None => ((lower, None), rest),
        });
    }
    let mut subsection = String::new();
    let mut characters = rest.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '\\' => subsection.push(characters.next()?),
            '"' => break,
            other => subsection.push(other),
        }
    }
    let rest = characters.as_str().strip_prefix(']')?;
    Some(((lower, Some(subsection)), rest))
}

/// Reads a value: quotes, escapes, comments, and lines that go on.
fn value_of<'a>(first: &str, lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let mut value = String::new();
    let mut quoted = false;
    let mut line = first.trim_start_matches([' ', '\t']).to_owned();
    'lines: loop {
        let mut characters = line.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => quoted = !quoted,
                '#' | ';' if !quoted => break 'lines,
                '\\' => match characters.next() {
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('b') => {
                        value.pop();
                    }
                    Some(literal @ ('\\' | '"')) => value.push(literal),
                    Some(_) => return None,
                    None => {
                        lines.next()?.clone_into(&mut line);
                        continue 'lines;
                    }
                },
                other => value.push(other),
            }
        }
        break;
    }
    (!quoted).then(|| value.trim_end_matches([' ', '\t']).to_owned())
}
