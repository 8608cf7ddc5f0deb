//! The specifier of a rule, compiled as its tool reads it.

use super::domain::DomainPattern;
use super::path::PathPattern;
use super::pattern::StarPattern;
use super::tools::{self, SpecKind};
use crate::{Behavior, Origin, RuleSource};

/// What a rule demands of a call beyond the tool's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Spec {
    /// A shell command pattern.
    Command(CommandSpec),
    /// A path pattern about reading.
    Read(PathPattern),
    /// A path pattern about changing files.
    Edit(PathPattern),
    /// A host pattern.
    Domain(DomainPattern),
    /// The name of an agent.
    Agent(String),
    /// The name of a skill with its arguments.
    Skill(StarPattern),
    /// An input field and a pattern of its value.
    Parameter(String, StarPattern),
    /// A specifier that is never consulted; the rule's remark says why.
    Unused,
}

/// A compiled command pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandSpec {
    /// The pattern as written.
    pub(crate) pattern: StarPattern,
    /// The pattern without its quotes, if it has any: words are matched after quote removal.
    pub(crate) unquoted: Option<StarPattern>,
    /// The text as written, blanks collapsed.
    pub(crate) text: String,
    /// Whether the text holds a shell operator, so that only a whole command can match it.
    pub(crate) spans: bool,
}

/// A compiled specifier, if it demands anything, and what is odd about it.
type Compiled = (Option<Spec>, Option<String>);

impl Spec {
    /// Compiles the specifier of a rule about `tool`; `None` when the rule speaks of every call.
    pub(super) fn new(
        tool: &str,
        spec: Option<&str>,
        behavior: Behavior,
        origin: &Origin,
    ) -> Result<Compiled, String> {
        let Some(spec) = spec.map(str::trim).filter(|spec| *spec != "*") else {
            return Ok((None, None));
        };
        if tool.starts_with("mcp__")
            && (behavior == Behavior::Allow || origin.source != RuleSource::Cli)
        {
            return Err(format!("gives an MCP tool a specifier; write `{tool}` alone"));
        }
        if let Some(parameter) = parameter(tool, spec, behavior) {
            return Ok(parameter);
        }
        match tools::spec_kind(tool) {
            SpecKind::Command => CommandSpec::new(tool, spec, behavior)
                .map(|(spec, remark)| (Some(Self::Command(spec)), remark)),
            SpecKind::Read => {
                let path = PathPattern::new(spec, behavior, &origin.root)?;
                Ok(by_path(tool, "Read", spec, behavior, Self::Read(path)))
            }
            SpecKind::Edit => {
                let path = PathPattern::new(spec, behavior, &origin.root)?;
                Ok(by_path(tool, "Edit", spec, behavior, Self::Edit(path)))
            }
            SpecKind::Domain => {
                let domain = spec.strip_prefix("domain:").ok_or_else(|| {
                    "lacks `domain:`; write `WebFetch(domain:example.com)`".to_owned()
                })?;
                // `domain:*` is every host, so the rule is a blanket one.
                if domain.trim() == "*" {
                    return Ok((None, None));
                }
                Ok((Some(Self::Domain(DomainPattern::new(domain)?)), None))
            }
            SpecKind::Agent => Ok((Some(Self::Agent(spec.to_owned())), None)),
            SpecKind::Skill => Ok((Some(Self::Skill(StarPattern::command(spec))), None)),
            SpecKind::Cd => Ok((
                Some(Self::Unused),
                Some("is about the user's own `/cd`; calls are not judged by it".to_owned()),
            )),
            SpecKind::Bare if !tools::is_known(tool) => {
                let remark =
                    format!("gives the unknown tool `{tool}` a specifier; it is never consulted");
                Ok((Some(Self::Unused), Some(remark)))
            }
            SpecKind::Bare => Err(format!(
                "gives `{tool}` a specifier, which it does not have; write `{tool}` alone"
            )),
        }
    }
}

impl CommandSpec {
    fn new(tool: &str, spec: &str, behavior: Behavior) -> Result<(Self, Option<String>), String> {
        let text = collapse_blanks(spec);
        if text == ":*" {
            return Err(format!("has an empty prefix; write `{tool}` for every command"));
        }
        let inner = text.strip_suffix(":*").unwrap_or(&text);
        let remark = inner.contains(":*").then(|| {
            format!(
                "has `:*` before its end, which is literal text there; write `{tool}({} …)`",
                inner.replace(":*", " *")
            )
        });
        let remark = remark.or_else(|| {
            (behavior == Behavior::Allow && spanning_word(&text).is_some()).then(|| {
                "has `*` inside a path; it stands for blanks too, so that other words may come before"
                    .to_owned()
            })
        });
        let unquoted = unquote(&text).map(|text| StarPattern::command(&text));
        let spans = inner.contains(['|', '&', ';', '<', '>', '\n', '`']) || inner.contains("$(");
        Ok((Self { pattern: StarPattern::command(&text), unquoted, text, spans }, remark))
    }

    /// The readings of the pattern: as written, and without quotes.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &StarPattern> {
        std::iter::once(&self.pattern).chain(&self.unquoted)
    }

    /// Whether it matches one text only.
    pub(crate) fn is_exact(&self) -> bool {
        self.pattern.is_exact()
    }
}

/// Reads `param:value` of a deny or ask rule; `None` when the text is the tool's own kind of specifier.
fn parameter(tool: &str, spec: &str, behavior: Behavior) -> Option<Compiled> {
    if behavior == Behavior::Allow {
        return None;
    }
    let (name, value) = spec.split_once(':')?;
    let (name, value) = (name.trim(), value.trim());
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !is_name || value.is_empty() {
        return None;
    }
    if tools::is_forbidden_parameter(tool, name) {
        let remark = format!(
            "names the field `{name}`, which has patterns of its own; it is never consulted"
        );
        return Some((Some(Spec::Unused), Some(remark)));
    }
    tools::has_parameter(tool, name)
        .then(|| (Some(Spec::Parameter(name.to_owned(), StarPattern::new(value))), None))
}

/// A path rule under another tool's name than `Read` or `Edit`: a deny or ask counts as one of those, an allow never.
fn by_path(tool: &str, main: &str, spec: &str, behavior: Behavior, compiled: Spec) -> Compiled {
    if tool == main {
        return (Some(compiled), None);
    }
    match behavior {
        Behavior::Allow => {
            let remark = format!("is never consulted: paths are allowed by `{main}({spec})`");
            (Some(Spec::Unused), Some(remark))
        }
        Behavior::Ask | Behavior::Deny => {
            (Some(compiled), Some(format!("counts as `{main}({spec})`, for every tool")))
        }
    }
}

/// The word with a star that looks as if it stood for a part of one path, and stands for whole words as well.
pub(crate) fn spanning_word(text: &str) -> Option<&str> {
    let open_end = text.strip_suffix('*').unwrap_or(text);
    open_end
        .split(' ')
        .find(|word| word.replace("\\*", "").contains('*') && word.contains(['/', '.']))
}

/// Collapses runs of blanks to one.
pub(crate) fn collapse_blanks(text: &str) -> String {
    text.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The text without its quotes; `None` if it has none, or if they do not pair.
fn unquote(text: &str) -> Option<String> {
    if !text.contains(['\'', '"']) {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    let mut open = None;
    for character in text.chars() {
        match (character, open) {
            ('\'' | '"', None) => open = Some(character),
            (quote, Some(opening)) if quote == opening => open = None,
            (other, _) => plain.push(other),
        }
    }
    open.is_none().then_some(plain)
}
