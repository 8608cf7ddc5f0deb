//! Input schemas: compiled once, every issue told in words that a model can act on.

use std::fmt;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::DefinitionError;

/// A schema of more bytes is refused: a hostile server must not be able to keep the compiler busy.
const MAX_SCHEMA_BYTES: usize = 256 * 1024;
/// An input with more problems is told only of the first ones.
const MAX_ISSUES: usize = 20;

/// A compiled JSON Schema of a tool's input.
pub struct InputSchema {
    value: Value,
    validator: Validator,
}

/// One thing that is wrong with an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaIssue {
    /// A required parameter is missing.
    Missing {
        /// The parameter, with its path inside the input.
        parameter: String,
    },
    /// A parameter is not known.
    Unexpected {
        /// The parameter, with its path inside the input.
        parameter: String,
    },
    /// A parameter has another type.
    WrongType {
        /// The parameter, with its path inside the input.
        parameter: String,
        /// The type that is wanted.
        expected: String,
        /// The type that was given.
        provided: &'static str,
    },
    /// Anything else, in the validator's words.
    Other {
        /// The parameter, with its path inside the input; empty for the whole input.
        parameter: String,
        /// What is wrong.
        problem: String,
    },
}

impl InputSchema {
    /// The schema of a Rust type, without references, so that every provider takes it.
    pub fn of<T: JsonSchema>(tool: &str) -> Result<Self, DefinitionError> {
        let mut settings = SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
        if let Some(object) = value.as_object_mut() {
            object.shift_remove("title");
            // The doc comment of the input type is for people who read the code.
            object.shift_remove("description");
        }
        strip_formats(&mut value);
        Self::compile(tool, value)
    }

    /// Compiles a schema that comes from elsewhere, such as an MCP server. References to other documents are refused.
    pub fn compile(tool: &str, mut value: Value) -> Result<Self, DefinitionError> {
        let bytes = value.to_string().len();
        if bytes > MAX_SCHEMA_BYTES {
            return Err(DefinitionError::SchemaTooLarge {
                tool: tool.to_owned(),
                bytes,
                limit: MAX_SCHEMA_BYTES,
            });
        }
        let broken = |problem: String| DefinitionError::Schema { tool: tool.to_owned(), problem };
        let Some(object) = value.as_object_mut() else {
            return Err(broken("it is not an object; write {\"type\": \"object\", …}".to_owned()));
        };
        // The Messages API wants `type: object` at the root.
        match object.get("type") {
            Some(Value::String(kind)) if kind == "object" => {}
            None => {
                object.insert("type".to_owned(), Value::String("object".to_owned()));
            }
            Some(other) => return Err(broken(format!("its root type is {other}, not \"object\""))),
        }
        let validator =
            jsonschema::validator_for(&value).map_err(|error| broken(error.to_string()))?;
        Ok(Self { value, validator })
    }

    /// The schema as it is shown to a model.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Lists everything that is wrong with `input`; empty means that it fits.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the validator's kinds of error are open-ended"
    )]
    pub fn issues(&self, input: &Value) -> Vec<SchemaIssue> {
        if self.validator.is_valid(input) {
            return Vec::new();
        }
        let mut issues = Vec::new();
        for error in self.validator.iter_errors(input).take(MAX_ISSUES) {
            let place = error.instance_path().to_string();
            let parameter = |name: &str| parameter_name(&place, name);
            match error.kind() {
                ValidationErrorKind::Required { property } => {
                    let name = property.as_str().unwrap_or_default();
                    issues.push(SchemaIssue::Missing { parameter: parameter(name) });
                }
                ValidationErrorKind::AdditionalProperties { unexpected }
                | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
                    issues.extend(
                        unexpected
                            .iter()
                            .map(|name| SchemaIssue::Unexpected { parameter: parameter(name) }),
                    );
                }
                ValidationErrorKind::Type { kind } => issues.push(SchemaIssue::WrongType {
                    parameter: parameter(""),
                    expected: match kind {
                        TypeKind::Single(kind) => kind.to_string(),
                        TypeKind::Multiple(kinds) => {
                            let names: Vec<String> = kinds
                                .iter()
                                .map(|kind| kind.to_string())
                                // An optional parameter may also be left out; saying so would only confuse.
                                .filter(|kind| kind != "null")
                                .collect();
                            names.join("` or `")
                        }
                    },
                    provided: type_name(error.instance()),
                }),
                // All other kinds are told in the validator's words.
                _ => issues.push(SchemaIssue::Other {
                    parameter: parameter(""),
                    problem: error.to_string(),
                }),
            }
        }
        issues
    }

    /// Takes numbers and booleans that were given as text (`"5"`, `" +5 "`, `"true"`) as meant, at the top level and
    /// only where the schema wants nothing but that type.
    pub fn coerce_text_scalars(&self, input: &mut Value) {
        let (Some(properties), Some(fields)) =
            (self.value.get("properties").and_then(Value::as_object), input.as_object_mut())
        else {
            return;
        };
        for (name, field) in fields.iter_mut() {
            let Some(text) = field.as_str().map(str::trim) else { continue };
            let meant = match properties.get(name).and_then(scalar_type) {
                Some("integer") => text.parse::<i64>().ok().map(Value::from),
                Some("number") => {
                    text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from)
                }
                Some("boolean") => text.parse::<bool>().ok().map(Value::from),
                Some(_) | None => None,
            };
            if let Some(meant) = meant {
                *field = meant;
            }
        }
    }
}

/// The one type besides null that a property may have.
fn scalar_type(property: &Value) -> Option<&str> {
    match property.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null");
            let kind = kinds.next()?;
            kinds.next().is_none().then_some(kind)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

/// `/edits/0` and `old` make `edits[0].old`.
fn parameter_name(place: &str, name: &str) -> String {
    let mut path = String::new();
    let segments = place.split('/').filter(|segment| !segment.is_empty());
    for segment in segments.chain(Some(name).filter(|name| !name.is_empty())) {
        if segment.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push('[');
            path.push_str(segment);
            path.push(']');
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(segment);
        }
    }
    path
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Removes `format: uint32` and its like, which no standard knows and strict providers refuse.
fn strip_formats(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let own = |format: &Value| {
                format.as_str().is_some_and(|format| {
                    format.starts_with("uint")
                        || format.starts_with("int")
                        || format == "double"
                        || format == "float"
                })
            };
            if object.get("format").is_some_and(own) {
                object.shift_remove("format");
            }
            values(object).for_each(strip_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_formats),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn values(object: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    object.values_mut()
}

impl fmt::Debug for InputSchema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("InputSchema").field("value", &self.value).finish_non_exhaustive()
    }
}

impl fmt::Display for SchemaIssue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { parameter } => {
                write!(formatter, "The required parameter `{parameter}` is missing")
            }
            Self::Unexpected { parameter } => {
                write!(formatter, "An unexpected parameter `{parameter}` was provided")
            }
            Self::WrongType { parameter, expected, provided } if parameter.is_empty() => {
                write!(
                    formatter,
                    "The input is expected as `{expected}` but provided as `{provided}`"
                )
            }
            Self::WrongType { parameter, expected, provided } => write!(
                formatter,
                "The parameter `{parameter}` type is expected as `{expected}` but provided as `{provided}`"
            ),
            Self::Other { parameter, problem } if parameter.is_empty() => {
                formatter.write_str(problem)
            }
            Self::Other { parameter, problem } => {
                write!(formatter, "The parameter `{parameter}`: {problem}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Edit {
        file_path: String,
        limit: Option<u32>,
        mode: Option<Mode>,
        #[serde(default)]
        replace_all: bool,
    }

    #[derive(JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[expect(dead_code, reason = "only its schema is used")]
    enum Mode {
        Strict,
        Fuzzy,
    }

    #[track_caller]
    fn check(input: &Value, expected: &[&str]) {
        let schema = InputSchema::of::<Edit>("Edit").unwrap();
        let mut issues: Vec<String> =
            schema.issues(input).iter().map(ToString::to_string).collect();
        issues.sort();
        assert_eq!(issues, expected);
    }

    #[test]
    fn every_issue_is_told() {
        check(&json!({"file_path": "a"}), &[]);
        check(&json!({"file_path": "a", "limit": null}), &[]);
        check(
            &json!({"limit": "5", "colour": 1, "replace_all": "yes"}),
            &[
                "An unexpected parameter `colour` was provided",
                "The parameter `limit` type is expected as `integer` but provided as `string`",
                "The parameter `replace_all` type is expected as `boolean` but provided as `string`",
                "The required parameter `file_path` is missing",
            ],
        );
        check(&json!([]), &["The input is expected as `object` but provided as `array`"]);
        let schema = InputSchema::of::<Edit>("Edit").unwrap();
        let words = schema.issues(&json!({"file_path": "a", "mode": "odd"}))[0].to_string();
        assert!(words.contains("strict") && words.contains("fuzzy"), "{words}");
    }

    #[test]
    fn text_is_taken_as_the_number_that_is_meant() {
        let schema = InputSchema::of::<Edit>("Edit").unwrap();
        let mut input = json!({"file_path": "7", "limit": " +5 ", "replace_all": "true"});
        schema.coerce_text_scalars(&mut input);
        assert_eq!(input, json!({"file_path": "7", "limit": 5, "replace_all": true}));
        let mut input = json!({"limit": "five", "replace_all": "yes"});
        schema.coerce_text_scalars(&mut input);
        assert_eq!(input, json!({"limit": "five", "replace_all": "yes"}));
    }

    #[test]
    fn hostile_schemas_are_refused_not_fetched() {
        for schema in [
            json!({"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}),
            json!({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}),
            json!({"type": "object", "properties": {"a": {"type": "elephant"}}}),
            json!({"type": "string"}),
            json!("x"),
        ] {
            assert!(InputSchema::compile("t", schema.clone()).is_err(), "{schema}");
        }
        let large = json!({"type": "object", "description": "x".repeat(MAX_SCHEMA_BYTES)});
        assert_eq!(
            InputSchema::compile("t", large).unwrap_err().code(),
            "definition:schema_too_large"
        );
    }

    #[test]
    fn schemas_hold_no_reference_and_no_foreign_format() {
        let text = InputSchema::of::<Edit>("Edit").unwrap().value().to_string();
        assert!(
            !text.contains("$ref") && !text.contains("uint32") && !text.contains("$schema"),
            "{text}"
        );
    }
}
