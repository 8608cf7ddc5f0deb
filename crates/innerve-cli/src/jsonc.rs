//! Reads JSON with comments and trailing commas, with the line of every value.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

/// The largest file that is read, in bytes.
const MAX_SIZE: u64 = 8 * 1024 * 1024;

/// A text that was read.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) value: Value,
    /// The line, from 1, of every value by its JSON pointer.
    pub(crate) lines: BTreeMap<String, u32>,
}

/// Reads a file; the error is a sentence that names it.
pub(crate) fn read(path: &Path) -> Result<Parsed, String> {
    let name = path.display();
    let failed = |error: std::io::Error| format!("`{name}` cannot be read: {error}");
    // Looked at before it is opened: opening a pipe would wait for somebody to write.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(format!("`{name}` is not a regular file"));
    }
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(MAX_SIZE + 1).read_to_string(&mut text))
        .map_err(failed)?;
    if text.len() as u64 > MAX_SIZE {
        return Err(format!("`{name}` is larger than {MAX_SIZE} bytes"));
    }
    parse(&text).map_err(|problem| format!("`{name}` is not valid: {problem}"))
}

/// Parses a text.
pub(crate) fn parse(text: &str) -> Result<Parsed, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| error.to_string())?;
    let root = parsed.value.ok_or("it is empty")?;
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut reader = Reader { starts, lines: BTreeMap::new() };
    let value = reader.read(&root, "")?;
    Ok(Parsed { value, lines: reader.lines })
}

/// Turns the tree into a value and takes note of lines.
struct Reader {
    starts: Vec<usize>,
    lines: BTreeMap<String, u32>,
}

impl Reader {
    fn read(&mut self, node: &Node<'_>, pointer: &str) -> Result<Value, String> {
        let start = match node {
            Node::StringLit(it) => it.range.start,
            Node::NumberLit(it) => it.range.start,
            Node::BooleanLit(it) => it.range.start,
            Node::Object(it) => it.range.start,
            Node::Array(it) => it.range.start,
            Node::NullKeyword(it) => it.range.start,
        };
        let before = self.starts.partition_point(|line| *line <= start);
        let line = u32::try_from(before).unwrap_or(u32::MAX);
        self.lines.insert(pointer.to_owned(), line);
        Ok(match node {
            Node::StringLit(text) => Value::String(text.value.to_string()),
            Node::BooleanLit(flag) => Value::Bool(flag.value),
            Node::NullKeyword(_) => Value::Null,
            Node::NumberLit(number) => Value::Number(
                number.value.parse().map_err(|error| format!("{error} in line {line}"))?,
            ),
            Node::Array(array) => {
                let values = array
                    .elements
                    .iter()
                    .enumerate()
                    .map(|(index, element)| self.read(element, &format!("{pointer}/{index}")));
                Value::Array(values.collect::<Result<_, _>>()?)
            }
            Node::Object(object) => {
                let mut fields = Map::new();
                for property in &object.properties {
                    let name = property.name.as_str();
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    let value = self.read(&property.value, &format!("{pointer}/{escaped}"))?;
                    if fields.insert(name.to_owned(), value).is_some() {
                        return Err(format!("`{name}` stands twice in the object of line {line}"));
                    }
                }
                Value::Object(fields)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_are_fine_and_lines_are_known() {
        let parsed =
            parse("// cases\n[\n  {\"a/b\": 1}, /* x */\n  {\n \"c\": null,},\n]").unwrap();
        assert_eq!(parsed.value, json!([{"a/b": 1}, {"c": null}]));
        let line = |pointer: &str| parsed.lines.get(pointer).copied();
        assert_eq!(
            [line("/0"), line("/0/a~1b"), line("/1"), line("/1/c")],
            [Some(3), Some(3), Some(4), Some(5)]
        );
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in ["", "{", "[1 2]", "{'a': 1}", "{\"a\": 1, \"a\": 2}", "{a: 1}"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
