//! Reads the tables and `disk` blocks of a Markdown file.

use innerve_permission::{Behavior, PermissionMode, RuleSource};
use serde_json::Value;

use crate::disk::Disk;

/// The columns of a table of calls.
const CALLS: [&str; 5] = ["settings", "mode", "call", "decision", "why"];

/// The columns of a table of rules.
const RULES: [&str; 4] = ["rule", "lists", "result", "why"];

/// The first columns of a matrix; each other one is a mode, with facts after `+`.
const MATRIX: [&str; 3] = ["what", "settings", "call"];

const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

const DECISIONS: [&str; 10] = [
    "allow", "ask", "deny", "classify", "defer", "no start", "offered", "removed", "shown",
    "hidden",
];

/// The rows of a file.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) rows: Vec<Row>,
}

/// One row with what holds there.
#[derive(Debug)]
pub(crate) struct Row {
    /// The line, from 1.
    pub(crate) line: usize,
    pub(crate) disk: Disk,
    pub(crate) case: Case,
}

#[derive(Debug)]
pub(crate) enum Case {
    Calls(Vec<CallCase>),
    Rule(RuleCase),
}

/// Calls that all get the same decision in all these modes.
#[derive(Debug)]
pub(crate) struct CallCase {
    pub(crate) settings: Vec<Statement>,
    pub(crate) modes: Vec<PermissionMode>,
    /// The calls, as written and as read.
    pub(crate) calls: Vec<(String, Call)>,
    pub(crate) decision: String,
    /// The codes of reasons that are right.
    pub(crate) codes: Vec<String>,
    /// Whether any reason is right.
    pub(crate) any_reason: bool,
    /// Words that the engine must say besides.
    pub(crate) words: Vec<String>,
}

/// Rules that are all read alike in all these lists.
#[derive(Debug)]
pub(crate) struct RuleCase {
    pub(crate) rules: Vec<String>,
    pub(crate) lists: Vec<Behavior>,
    /// Whether it is a rule.
    pub(crate) kept: bool,
    pub(crate) words: Vec<String>,
}

/// One thing that is set.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    /// A rule in the settings of a source.
    Rule(RuleSource, Behavior, String),
    /// Settings of a source as they would stand in its file.
    Settings(RuleSource, Value),
    /// A fact about the session or the call.
    Fact(Fact),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Untrusted,
    Headless,
    BypassAvailable,
    ClassifierAvailable,
    Classifier(Word),
    Hook(Word),
    Objection(Word),
    /// The tool is one in which a person takes part.
    Interaction,
    Cwd(String),
    PlanFile(String),
}

/// What a hook, a tool or a classifier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Allow,
    Ask,
    Deny,
    /// Allows, and has filled in the input.
    Answer,
    Defer,
    Nothing,
}

/// What is asked about.
#[derive(Clone, Debug)]
pub(crate) enum Call {
    /// A tool use.
    Use { tool: String, input: Value },
    /// Whether a tool is offered.
    Offer(String),
    /// Whether searches show a file.
    Show(String),
    /// The mode that a session starts in.
    Start,
}

/// Reads a file; the error begins with the line.
pub(crate) fn read(text: &str) -> Result<Document, String> {
    let mut document = Document { rows: Vec::new() };
    let mut disk = Disk::default();
    let mut block: Option<bool> = None;
    let mut shown = false;
    let mut columns: Option<Columns> = None;
    for (index, line) in text.lines().enumerate() {
        let at = |problem: String| format!("{}: {problem}", index + 1);
        // A block within `~~~` is only shown.
        if line.starts_with("~~~") {
            shown = !shown;
        }
        if shown {
            continue;
        }
        if let Some(language) = line.strip_prefix("```") {
            block = match block {
                Some(_) => None,
                None if language == "disk" => {
                    disk = Disk::default();
                    Some(true)
                }
                None => Some(false),
            };
            continue;
        }
        match block {
            Some(true) if !line.trim().is_empty() => disk.add(line).map_err(at)?,
            Some(_) => {}
            None if !line.starts_with('|') => columns = None,
            None => {
                let cells = cells(line);
                let Some(known) = &columns else {
                    columns = Some(Columns::of(&cells));
                    continue;
                };
                let is_line = cells.iter().all(|cell| cell.chars().all(|c| c == '-' || c == ':'));
                if let Some(case) = known.case(&cells).filter(|_| !is_line) {
                    let case = case.map_err(at)?;
                    document.rows.push(Row { line: index + 1, disk: disk.clone(), case });
                }
            }
        }
    }
    Ok(document)
}

/// What the columns of a table mean.
enum Columns {
    Calls,
    Rules,
    /// One column for each of these modes and facts.
    Matrix(Vec<String>),
    /// A table about something else.
    Other,
}

impl Columns {
    fn of(header: &[String]) -> Self {
        let names: Vec<&str> = header.iter().map(String::as_str).collect();
        match names.as_slice() {
            names if names == CALLS => Self::Calls,
            names if names == RULES => Self::Rules,
            names if names.starts_with(&MATRIX) => {
                Self::Matrix(header.iter().skip(MATRIX.len()).cloned().collect())
            }
            _ => Self::Other,
        }
    }

    fn case(&self, cells: &[String]) -> Option<Result<Case, String>> {
        let expected = match self {
            Self::Calls => CALLS.len(),
            Self::Rules => RULES.len(),
            Self::Matrix(modes) => MATRIX.len() + modes.len(),
            Self::Other => return None,
        };
        if cells.len() != expected {
            return Some(Err(format!("{} cells, not {expected}", cells.len())));
        }
        Some(match self {
            Self::Calls => call_case(cells).map(|case| Case::Calls(vec![case])),
            Self::Rules => rule_case(cells).map(Case::Rule),
            Self::Matrix(modes) => {
                let columns = modes.iter().zip(cells.iter().skip(MATRIX.len()));
                let cases: Result<_, String> =
                    columns.map(|(mode, decision)| matrix_case(cells, mode, decision)).collect();
                cases.map(Case::Calls)
            }
            Self::Other => return None,
        })
    }
}

/// One cell of a matrix: the column is a mode with facts, as in `plan + classifier available`.
fn matrix_case(cells: &[String], column: &str, decision: &str) -> Result<CallCase, String> {
    let [_, settings, calls, ..] = cells else { return Err("no call".to_owned()) };
    let mut column = column.split(" + ");
    let mode_name = column.next().unwrap_or_default();
    let facts: Vec<String> = column.map(|fact| format!("`{fact}`")).collect();
    let settings = format!("{settings} {}", facts.join(" "));
    let cells = [&settings, mode_name, calls, decision, ""].map(str::to_owned);
    Ok(CallCase { any_reason: true, ..call_case(&cells)? })
}

fn call_case(cells: &[String]) -> Result<CallCase, String> {
    let statements = spans_only(&cells[0])?;
    let settings: Result<_, String> = statements.iter().map(|text| statement(text)).collect();
    let modes = match cells[1].as_str() {
        "" => vec![PermissionMode::Default],
        "every" => MODES.map(mode).into_iter().collect::<Result<_, _>>()?,
        names => names.split(", ").map(mode).collect::<Result<_, _>>()?,
    };
    let calls = spans_only(&cells[2])?;
    if calls.is_empty() {
        return Err("no call".to_owned());
    }
    let calls: Result<_, String> =
        calls.into_iter().map(|text| call(&text).map(|call| (text, call))).collect();
    let decision = cells[3].clone();
    if !DECISIONS.contains(&decision.as_str()) && !MODES.contains(&decision.as_str()) {
        return Err(format!("`{decision}` is no decision; write one of {}", DECISIONS.join(", ")));
    }
    let (codes, words) = codes_and_words(&cells[4]);
    let any_reason = false;
    Ok(CallCase { settings: settings?, modes, calls: calls?, decision, codes, any_reason, words })
}

/// The spans of a `why` cell: the first, and those joined to it by `or`, are codes.
fn codes_and_words(cell: &str) -> (Vec<String>, Vec<String>) {
    let (outside, mut spans) = spans(cell);
    let between: Vec<&str> = outside.split('\0').collect();
    let alternatives = between.iter().skip(1).take_while(|text| **text == " or ").count();
    let words = spans.split_off(spans.len().min(alternatives + 1));
    (spans, words)
}

fn rule_case(cells: &[String]) -> Result<RuleCase, String> {
    let lists = match cells[1].as_str() {
        "" => vec![Behavior::Allow, Behavior::Ask, Behavior::Deny],
        names => names
            .split(", ")
            .map(|name| behavior(name).ok_or_else(|| format!("`{name}` is no list")))
            .collect::<Result<_, _>>()?,
    };
    let kept = match cells[2].as_str() {
        "kept" => true,
        "refused" => false,
        other => return Err(format!("`{other}` is no result; write kept or refused")),
    };
    Ok(RuleCase { rules: spans_only(&cells[0])?, lists, kept, words: spans(&cells[3]).1 })
}

fn mode(name: &str) -> Result<PermissionMode, String> {
    match name {
        // Never chosen by name: the mode of a sub-agent whose questions go to its parent.
        "bubble" => Ok(PermissionMode::Bubble),
        name => name
            .parse()
            .map_err(|_| format!("`{name}` is no mode; write one of {}", MODES.join(", "))),
    }
}

fn behavior(name: &str) -> Option<Behavior> {
    [Behavior::Allow, Behavior::Ask, Behavior::Deny].into_iter().find(|it| it.name() == name)
}

fn source(name: &str) -> Option<RuleSource> {
    [
        RuleSource::Policy,
        RuleSource::Cli,
        RuleSource::Local,
        RuleSource::Project,
        RuleSource::User,
        RuleSource::Session,
        RuleSource::Skill,
    ]
    .into_iter()
    .find(|it| it.name() == name)
}

fn statement(text: &str) -> Result<Statement, String> {
    let odd = || format!("`{text}` sets nothing; the README lists what can be set");
    let words = text.split_once(' ');
    if let Some((first, rest)) = words {
        if let Some(behavior) = behavior(first) {
            return Ok(Statement::Rule(RuleSource::Project, behavior, rest.to_owned()));
        }
        if let Some(source) = source(first) {
            if rest.starts_with('{') {
                let value =
                    serde_json::from_str(rest).map_err(|error| format!("`{rest}`: {error}"))?;
                return Ok(Statement::Settings(source, value));
            }
            let (second, rule) = rest.split_once(' ').ok_or_else(odd)?;
            let behavior = behavior(second).ok_or_else(odd)?;
            return Ok(Statement::Rule(source, behavior, rule.to_owned()));
        }
    }
    let fact = match (text, words) {
        ("untrusted", _) => Fact::Untrusted,
        ("headless", _) => Fact::Headless,
        ("bypass available", _) => Fact::BypassAvailable,
        ("classifier available", _) => Fact::ClassifierAvailable,
        ("interaction", _) => Fact::Interaction,
        (_, Some(("cwd", directory))) => Fact::Cwd(directory.to_owned()),
        (_, Some(("plan", file))) => Fact::PlanFile(file.to_owned()),
        (_, Some(("hook", said))) => Fact::Hook(word(said).ok_or_else(odd)?),
        (_, Some(("classifier", said))) => Fact::Classifier(word(said).ok_or_else(odd)?),
        (_, Some(("tool", said))) => Fact::Objection(word(said).ok_or_else(odd)?),
        _ => return Err(odd()),
    };
    Ok(Statement::Fact(fact))
}

fn word(said: &str) -> Option<Word> {
    Some(match said {
        "allows" => Word::Allow,
        "asks" => Word::Ask,
        "denies" | "blocks" => Word::Deny,
        "answers" => Word::Answer,
        "defers" => Word::Defer,
        "is silent" => Word::Nothing,
        _ => return None,
    })
}

/// Reads a call.
fn call(text: &str) -> Result<Call, String> {
    match text.split_once(' ') {
        Some(("offer", tool)) => return Ok(Call::Offer(tool.to_owned())),
        Some(("show", path)) => return Ok(Call::Show(path.to_owned())),
        None if text == "start" => return Ok(Call::Start),
        Some(_) | None => {}
    }
    let made = |tool: &str, input: Value| Call::Use { tool: tool.to_owned(), input };
    if let Some(command) = text.strip_prefix("$ ") {
        return Ok(made("Bash", serde_json::json!({ "command": command })));
    }
    let (tool, argument) = text.split_once(' ').unwrap_or((text, "{}"));
    if argument.starts_with('{') {
        let input = serde_json::from_str(argument).map_err(|error| format!("`{text}`: {error}"))?;
        return if tool.starts_with(char::is_uppercase) || tool.starts_with("mcp__") {
            Ok(made(tool, input))
        } else {
            Err(format!("`{text}` is no call; a command begins with `$ `"))
        };
    }
    let field = match tool {
        "Read" | "Edit" | "Write" | "MultiEdit" | "LSP" => "file_path",
        "NotebookEdit" => "notebook_path",
        "Grep" | "LS" => "path",
        "Glob" => "pattern",
        "WebFetch" => "url",
        "WebSearch" => "query",
        "Agent" | "Task" => "subagent_type",
        "Monitor" => "command",
        "Skill" => "skill",
        _ => return Err(format!("`{text}` is no call; write its input as JSON")),
    };
    Ok(made(tool, serde_json::json!({ field: argument })))
}

/// The cells of a table row; `\|` is a literal bar.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut characters = line.trim().trim_start_matches('|').chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('|')) => {
                characters.next();
                cells.last_mut().unwrap().push('|');
            }
            ('|', _) => cells.push(String::new()),
            (other, _) => cells.last_mut().unwrap().push(other),
        }
    }
    if cells.last().is_some_and(|last| last.trim().is_empty()) {
        cells.pop();
    }
    cells.into_iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The code spans of a cell that holds nothing else but commas.
fn spans_only(cell: &str) -> Result<Vec<String>, String> {
    let (rest, spans) = spans(cell);
    let rest = rest.trim_matches([' ', ',', '\0']);
    if rest.is_empty() { Ok(spans) } else { Err(format!("`{rest}` stands outside of backticks")) }
}

/// The text outside of code spans with a NUL for each of them, and the spans; `⏎` is a line feed, `⇥` a tab, `«x×3»` stands for `xxx`.
fn spans(cell: &str) -> (String, Vec<String>) {
    let mut outside = String::new();
    let mut spans = Vec::new();
    let mut rest = cell;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        outside.push('\0');
        let ticks: String = rest[start..].chars().take_while(|c| *c == '`').collect();
        let after = &rest[start + ticks.len()..];
        let Some(end) = after.find(&ticks) else { break };
        let span = after[..end].strip_prefix(' ').unwrap_or(&after[..end]);
        let span =
            if ticks.len() > 1 { span.strip_suffix(' ').unwrap_or(span) } else { &after[..end] };
        spans.push(repeat(&span.replace('⏎', "\n").replace('⇥', "\t")));
        rest = &after[end + ticks.len()..];
    }
    outside.push_str(rest);
    (outside, spans)
}

fn repeat(text: &str) -> String {
    let Some((before, rest)) = text.split_once('«') else { return text.to_owned() };
    let Some((inner, after)) = rest.split_once('»') else { return text.to_owned() };
    let Some((unit, count)) = inner.rsplit_once('×') else { return text.to_owned() };
    let count: usize = count.parse().unwrap_or(1);
    format!("{before}{}{}", unit.repeat(count), repeat(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_spans_are_read_with_their_escapes() {
        assert_eq!(cells(r"| `a \| b` |  | c |"), ["`a | b`", "", "c"]);
        assert_eq!(spans("`a`, `` x`y `` and `b⏎c`").1, ["a", "x`y", "b\nc"]);
        assert_eq!(spans("`«ab×3»c`").1, ["abababc"]);
        assert!(spans_only("`a` or `b`").is_err());
        let (codes, words) = codes_and_words("`a` or `b`: because of `c` or `d`");
        assert_eq!(
            (codes, words),
            (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned(), "d".to_owned()])
        );
    }
}
