//! The head of a definition file: the small part of YAML that such files use. What is more is told, never guessed.

/// A definition file in its two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatter<'a> {
    /// The fields in order.
    pub(super) fields: Vec<(String, Value)>,
    /// What follows.
    pub(super) body: &'a str,
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// One text.
    Text(String),
    /// Several.
    List(Vec<String>),
    /// Something nested, which no field that counts has.
    Nested,
}

impl Value {
    pub(super) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::List(items) => items.join(", "),
            Self::Nested => String::new(),
        }
    }

    /// The items of a list, however it is written.
    pub(super) fn words(self) -> Vec<String> {
        let items = match self {
            Self::Text(text) => text.split(',').map(str::to_owned).collect(),
            Self::List(items) => items,
            Self::Nested => Vec::new(),
        };
        items.iter().map(|item| item.trim().to_owned()).filter(|item| !item.is_empty()).collect()
    }
}

impl<'a> FrontMatter<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = Lines { rest: text };
        if lines.next().map(str::trim_end) != Some("---") {
            return Err("it does not begin with a line `---`".to_owned());
        }
        let mut head = Vec::new();
        loop {
            match lines.next().map(str::trim_end) {
                Some("---") => break,
                Some(line) => head.push(line),
                None => return Err("the front matter has no closing line `---`".to_owned()),
            }
        }
        let mut fields: Vec<(String, Value)> = Vec::new();
        let mut head = head.into_iter().peekable();
        while let Some(line) = head.next() {
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let Some((key, value)) = line.split_once(':').filter(|_| !is_indented(line)) else {
                return Err(format!("the line `{}` is no `key: value`", short(line)));
            };
            let (key, value) = (key.trim().trim_matches('"').to_owned(), value.trim());
            let mut below = Vec::new();
            while let Some(next) = head.peek() {
                let belongs = next.trim().is_empty() || is_indented(next) || next.starts_with("- ");
                if !belongs {
                    break;
                }
                below.extend(head.next());
            }
            if fields.iter().any(|(there, _)| *there == key) {
                return Err(format!("`{}` is there twice", short(&key)));
            }
            fields.push((key, read(value, &below)));
        }
        Ok(Self { fields, body: lines.rest })
    }
}

fn read(value: &str, below: &[&str]) -> Value {
    let lines = || below.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let block = value.trim_end_matches(['+', '-']);
    if matches!(block, "|" | ">") {
        let separator = if block == "|" { "\n" } else { " " };
        return Value::Text(lines().collect::<Vec<_>>().join(separator));
    }
    let items: Option<Vec<String>> =
        lines().map(|line| line.strip_prefix('-').map(|item| scalar(item.trim()))).collect();
    match (value.is_empty(), items) {
        (true, Some(items)) if items.is_empty() => Value::Text(String::new()),
        (true, Some(items)) => Value::List(items),
        (true, None) => Value::Nested,
        (false, _) => {
            if let Some(inner) = value.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                return Value::List(inner.split(',').map(|item| scalar(item.trim())).collect());
            }
            // A plain text goes on in indented lines.
            let whole: Vec<&str> = std::iter::once(value).chain(lines()).collect();
            Value::Text(scalar(&whole.join(" ")))
        }
    }
}

/// A text with or without quotes, and without a comment behind it.
fn scalar(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    if text.len() > 1 && text.starts_with('"') && text.ends_with('"') {
        // YAML's double quotes are those of JSON, but for escapes that nobody needs here.
        if let Ok(inner) = serde_json::from_str(text) {
            return inner;
        }
    }
    text.split(" #").next().unwrap_or_default().trim_end().to_owned()
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

fn short(text: &str) -> String {
    text.chars().take(60).collect()
}

/// Lines, and what is left after them.
struct Lines<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line)
    }
}
