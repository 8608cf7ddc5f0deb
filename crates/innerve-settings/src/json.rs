//! JSON with comments and trailing commas, with the line of every value.

use std::collections::BTreeMap;
use std::path::Path;

use jsonc_parser::ast::Value as Node;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value};

use crate::SettingsError;

/// A parsed settings text.
#[derive(Debug, Default)]
pub(crate) struct Parsed {
    /// The value: an object.
    pub(crate) value: Value,
    /// The line, from 1, of every value by its JSON pointer.
    pub(crate) lines: BTreeMap<String, u32>,
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
pub(crate) fn parse(text: &str, file: Option<&Path>) -> Result<Parsed, SettingsError> {
    let name = file.map_or_else(|| "--settings".to_owned(), |file| file.display().to_string());
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options()).map_err(|error| {
        SettingsError::Syntax {
            place: format!("{name}:{}", error.line_display()),
            problem: error.kind().to_string(),
        }
    })?;
    let mut reader = Reader { name, starts: line_starts(text), lines: BTreeMap::new() };
    let value = match &parsed.value {
        None => Value::Object(Map::new()),
        Some(node @ Node::Object(_)) => reader.read(node, "")?,
        Some(_) => {
            return Err(SettingsError::Syntax {
                place: reader.name,
                problem: "it is no object".to_owned(),
            });
        }
    };
    Ok(Parsed { value, lines: reader.lines })
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
