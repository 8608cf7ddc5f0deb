//! JSON with comments and trailing commas, with the line of every value.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::SettingsError;
use crate::load::read_text;

/// JSON with comments and trailing commas, as settings are written in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The value.
    pub value: Value,
    /// The line, from 1, of every value by its JSON pointer.
    pub lines: BTreeMap<String, u32>,
}

impl Document {
    /// Reads a regular file of at most `most` bytes that holds one value of any kind.
    pub fn read(path: &Path, most: u64) -> Result<Self, SettingsError> {
        let text = read_text(path, most)?.ok_or_else(|| SettingsError::Read {
            path: path.to_path_buf(),
            source: io::ErrorKind::NotFound.into(),
        })?;
        let name = path.display().to_string();
        parse_any(&text, &name)?
            .ok_or_else(|| SettingsError::Syntax { place: name, problem: "it is empty".to_owned() })
    }
}

/// JSON, comments and trailing commas: nothing else that the parser could take.
pub(crate) fn options() -> ParseOptions {
    ParseOptions {
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
    }
}

/// Parses a settings text; an empty one is an empty object.
pub(crate) fn parse(text: &str, file: Option<&Path>) -> Result<Document, SettingsError> {
    let name = file.map_or_else(|| "--settings".to_owned(), |file| file.display().to_string());
    match parse_any(text, &name)? {
        None => Ok(Document { value: Value::Object(Map::new()), ..Document::default() }),
        Some(document) if document.value.is_object() => Ok(document),
        Some(_) => {
            Err(SettingsError::Syntax { place: name, problem: "it is no object".to_owned() })
        }
    }
}

/// The value in a text, if there is one.
fn parse_any(text: &str, name: &str) -> Result<Option<Document>, SettingsError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        SettingsError::Syntax {
            place: format!("{name}:{}", error.line_display()),
            problem: error.kind().to_string(),
        }
    })?;
    let Some(root) = &parsed.value else { return Ok(None) };
    let name = name.to_owned();
    let mut reader = Reader { name, starts: line_starts(text), lines: BTreeMap::new() };
    let value = reader.read(root, "")?;
    Ok(Some(Document { value, lines: reader.lines }))
}

/// Turns the tree into a value and takes note of lines.
struct Reader {
    name: String,
    starts: Vec<usize>,
    lines: BTreeMap<String, u32>,
}

impl Reader {
    fn read(&mut self, node: &Node<'_>, pointer: &str) -> Result<Value, SettingsError> {
        let start = match node {
            Node::StringLit(it) => it.range.start,
            Node::NumberLit(it) => it.range.start,
            Node::BooleanLit(it) => it.range.start,
            Node::Object(it) => it.range.start,
            Node::Array(it) => it.range.start,
            Node::NullKeyword(it) => it.range.start,
        };
        let line = self.line(start);
        self.lines.insert(pointer.to_owned(), line);
        Ok(match node {
            Node::StringLit(text) => Value::String(text.value.to_string()),
            Node::BooleanLit(flag) => Value::Bool(flag.value),
            Node::NullKeyword(_) => Value::Null,
            Node::NumberLit(number) => {
                number.value.parse::<Number>().map(Value::Number).map_err(|error| {
                    SettingsError::Syntax {
                        place: format!("{}:{line}", self.name),
                        problem: error.to_string(),
                    }
                })?
            }
            Node::Array(array) => {
                let elements = array.elements.iter().enumerate();
                let values = elements
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
                        let line = self.line(property.range.start);
                        return Err(SettingsError::Syntax {
                            place: format!("{}:{line}", self.name),
                            problem: format!("`{name}` stands twice in the same object"),
                        });
                    }
                }
                Value::Object(fields)
            }
        })
    }

    fn line(&self, offset: usize) -> u32 {
        let before = self.starts.partition_point(|start| *start <= offset);
        u32::try_from(before).unwrap_or(u32::MAX)
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_fine_and_lines_are_known() {
        let text = "\u{feff}{ // why\n  \"a\": [\n    1,\n    \"x/y\", /* z */\n  ],\n  \"b/c\": {\"d\": null,},\n}\n";
        let parsed = parse(text, None).unwrap();
        assert_eq!(parsed.value, json!({"a": [1, "x/y"], "b/c": {"d": null}}));
        let line = |pointer: &str| parsed.lines.get(pointer).copied();
        assert_eq!(
            [line(""), line("/a"), line("/a/0"), line("/a/1"), line("/b~1c/d")],
            [Some(1), Some(2), Some(3), Some(4), Some(6)]
        );
    }

    #[test]
    fn an_empty_text_is_an_empty_object() {
        for text in ["", " \n", "// nothing\n"] {
            assert_eq!(parse(text, None).unwrap().value, json!({}), "{text:?}");
        }
    }

    #[test]
    fn a_file_of_any_value_is_read_within_its_limit() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("cases.jsonc");
        std::fs::write(&file, "// cases\n[\n  {\"a\": 1}, // x\n]").unwrap();
        let document = Document::read(&file, 100).unwrap();
        assert_eq!(document.value, json!([{"a": 1}]));
        assert_eq!(document.lines.get("/0/a"), Some(&3));
        let code = |path: &Path, most| Document::read(path, most).unwrap_err().code();
        assert_eq!(code(&file, 10), "settings_too_large");
        assert_eq!(code(directory.path(), 10), "settings_not_regular");
        assert_eq!(code(&directory.path().join("gone"), 10), "settings_read");
        std::fs::write(&file, " // nothing\n").unwrap();
        assert_eq!(code(&file, 100), "settings_syntax");
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_line() {
        for (text, place, problem) in [
            ("{\n\"a\": }", "/f:2", ""),
            ("[]", "/f", "no object"),
            ("{\"a\":1,\n\"a\":2}", "/f:2", "twice"),
            ("{a: 1}", "/f:1", ""),
            ("{'a': 1}", "/f:1", ""),
            ("{\"a\": 1 \"b\": 2}", "/f:1", ""),
            ("{\"a\": +1}", "/f:1", ""),
            ("{} {}", "/f:1", ""),
        ] {
            let error = parse(text, Some(Path::new("/f"))).unwrap_err();
            assert_eq!(error.code(), "settings_syntax", "{text}");
            let message = error.to_string();
            assert!(
                message.starts_with(&format!("{place} ")) && message.contains(problem),
                "{text}: {message}"
            );
        }
    }

    #[test]
    fn deep_nesting_is_refused_and_does_not_overflow() {
        let text = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(parse(&text, None).is_err());
    }
}
