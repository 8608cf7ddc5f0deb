//! A server's tool as a tool of innerve: its name, its schema made fit, its hints, and what a call does.

use std::collections::BTreeSet;
use std::sync::Arc;

use innerve_tool::{DefinitionError, DynTool, ResultLimit, ToolBuilder};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::hints::{Annotations, Hints};
use crate::link::Link;
use crate::name::{distinct_name, tool_name};

/// Characters of a description that a model is shown (Claude Code documentation, "MCP").
pub(crate) const MAX_DESCRIPTION: usize = 2_048;
/// Characters of a search hint.
const MAX_HINT: usize = 500;
/// Branches of a schema that are put together.
const MAX_BRANCHES: usize = 50;

/// A tool as a server describes it (Model Context Protocol, "Tools").
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Described {
    pub(crate) name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    input_schema: Value,
    #[serde(default)]
    annotations: Option<Annotations>,
    #[serde(default, rename = "_meta")]
    meta: Map<String, Value>,
}

/// The tools of one server, and those that are left out with the reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct Built {
    pub(crate) tools: Vec<Arc<dyn DynTool>>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A tool that a server offers and that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The server's own name for it.
    pub name: String,
    /// Why.
    pub problem: String,
}

/// Makes tools of what a server describes.
pub(crate) fn build_all(link: &Arc<Link>, descriptions: Vec<Described>) -> Built {
    let mut built = Built::default();
    let (mut names, mut own_names) = (BTreeSet::new(), BTreeSet::new());
    let server = &link.config.name;
    for description in descriptions {
        let own_name = description.name.clone();
        if !own_names.insert(own_name.clone()) {
            let problem = "the server lists it twice".to_owned();
            built.left_out.push(LeftOut { name: own_name, problem });
            continue;
        }
        let mut name = tool_name(server, &own_name);
        if !names.insert(name.clone()) {
            name = distinct_name(server, &own_name);
            names.insert(name.clone());
        }
        match build(link, &name, description) {
            Ok(tool) => built.tools.push(tool),
            Err(error) => {
                built.left_out.push(LeftOut { name: own_name, problem: error.to_string() });
            }
        }
    }
    built
}

fn build(
    link: &Arc<Link>,
    name: &str,
    description: Described,
) -> Result<Arc<dyn DynTool>, DefinitionError> {
    let Described { name: own_name, description, title, input_schema, annotations, meta } =
        description;
    let hints = annotations.as_ref().map(Hints::from).unwrap_or_default();
    let flag = |key: &str| meta.get(key).and_then(Value::as_bool).unwrap_or(false);
    let declared = meta.get("anthropic/maxResultSizeChars").and_then(Value::as_u64);
    let limit = declared.and_then(|chars| usize::try_from(chars).ok()).unwrap_or(link.output_chars);
    let words = description.or(title).or(annotations.and_then(|annotations| annotations.title));
    let hint = meta.get("anthropic/searchHint").and_then(Value::as_str).unwrap_or_default();

    let make = |schema: Value| {
        let mut builder = ToolBuilder::new(name, schema)
            .description(cut(words.as_deref().unwrap_or_default(), MAX_DESCRIPTION))
            .search_hint(cut(hint, MAX_HINT))
            .result_limit(ResultLimit::Declared(limit))
            .judged_by_input();
        if hints.read_only {
            builder = builder.read_only();
        } else if !hints.destructive {
            builder = builder.reversible();
        }
        if flag("anthropic/alwaysLoad") || link.config.always_load {
            builder = builder.always_loaded();
        } else {
            builder = builder.deferred();
        }
        if flag("anthropic/requiresUserInteraction") {
            builder = builder.interactive();
        }
        let (link, own_name) = (Arc::clone(link), own_name.clone());
        builder.build(move |input, context| {
            let (link, own_name) = (Arc::clone(&link), own_name.clone());
            async move { link.call(own_name, input, context).await }
        })
    };
    let mut schema = fit(input_schema);
    let built = make(schema.clone());
    // A dialect that nobody knows: what it says may still be read as the current one.
    if built.is_err()
        && schema.as_object_mut().is_some_and(|schema| schema.shift_remove("$schema").is_some())
    {
        return make(schema).or(built);
    }
    built
}

fn cut(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit - 1).chain(['…']).collect()
}

/// A schema whose root is a plain object, as model APIs want it: branches at the root are put together. It takes all that
/// the original takes and perhaps more; the server has the last word on what it is given.
fn fit(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        // No schema at all: any object will do. Anything else is told as what it is.
        return if schema.is_null() { Value::Object(Map::new()) } else { schema };
    };
    for (key, every_branch) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        let Some(Value::Array(branches)) = schema.get(key) else { continue };
        let branches: Vec<Map<String, Value>> =
            branches.iter().take(MAX_BRANCHES).map(|branch| resolved(&schema, branch)).collect();
        schema.shift_remove(key);
        let mut properties = match schema.shift_remove("properties") {
            Some(Value::Object(properties)) => properties,
            Some(_) | None => Map::new(),
        };
        let mut required = required_of(&schema);
        let mut shared: Option<BTreeSet<String>> = None;
        for branch in &branches {
            for (name, property) in
                branch.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                match properties.get(name) {
                    // Two branches mean different things by one name: anything is taken, the server decides.
                    Some(known) if known != property => {
                        properties.insert(name.clone(), Value::Object(Map::new()));
                    }
                    Some(_) => {}
                    None => {
                        properties.insert(name.clone(), property.clone());
                    }
                }
            }
            let own = required_of(branch);
            if every_branch {
                required.extend(own);
            } else {
                shared = Some(match shared {
                    None => own,
                    Some(shared) => shared.intersection(&own).cloned().collect(),
                });
            }
        }
        required.extend(shared.unwrap_or_default());
        schema.insert("properties".to_owned(), Value::Object(properties));
        if required.is_empty() {
            schema.shift_remove("required");
        } else {
            schema.insert("required".to_owned(), required.into_iter().collect());
        }
        // What one branch forbids another may ask for.
        schema.shift_remove("additionalProperties");
    }
    Value::Object(schema)
}

/// A branch, or what it refers to within the schema.
fn resolved(schema: &Map<String, Value>, branch: &Value) -> Map<String, Value> {
    let target = branch.get("$ref").and_then(Value::as_str).and_then(|reference| {
        let mut parts = reference.strip_prefix("#/")?.split('/');
        let (group, name) = (parts.next()?, parts.next()?);
        schema.get(group)?.get(name)?.as_object()
    });
    target.or(branch.as_object()).cloned().unwrap_or_default()
}

fn required_of(schema: &Map<String, Value>) -> BTreeSet<String> {
    let names = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
