//! `innerve analyze`: what bash would run, for people and as JSON lines.

use std::io::{self, Write as _};

use innerve_bash::{Analysis, Class, Command, EffectSet, OpaqueReason, Span, Word, analyze_in};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::args::AnalyzeArguments;
use crate::exit::{Exit, Failure};
use crate::jsonl::answer_lines;
use crate::output::{self, broken_pipe_is_success};

/// A line of `--jsonl` input.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Value,
    command: String,
    cwd: Option<String>,
}

/// The answer; the field names are part of the program's contract.
#[derive(Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Value>,
    status: &'static str,
    class: &'static str,
    effects: Vec<&'static str>,
    complete: bool,
    concurrency_safe: bool,
    opaque: Option<OpaqueAnswer<'a>>,
    commands: Vec<Part<'a>>,
    writes: Vec<&'a Option<String>>,
    reads: Vec<&'a Option<String>>,
    deletes: Vec<&'a Option<String>>,
}

#[derive(Serialize)]
struct OpaqueAnswer<'a> {
    code: &'static str,
    message: &'a str,
    span: [usize; 2],
}

#[derive(Serialize)]
struct Part<'a> {
    argv: Vec<Option<&'a str>>,
    class: &'static str,
    effects: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    assignments: Vec<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    unwrapped_from: &'a [String],
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    context: Option<&'static str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    last: bool,
    span: [usize; 2],
}

/// Runs the verb.
pub(crate) fn analyze(arguments: &AnalyzeArguments) -> Result<Exit, Failure> {
    let Some(command) = &arguments.command else { return broken_pipe_is_success(lines()) };
    let cwd = std::env::current_dir().ok();
    let analysis = analyze_in(command, cwd.as_deref().and_then(std::path::Path::to_str));
    let printed = if arguments.json {
        output::print_json(&answer(None, &analysis))
    } else {
        io::stdout().write_all(for_people(command, &analysis).as_bytes())
    };
    broken_pipe_is_success(printed)
}

/// One object per line in, one per line out; a line that is not valid is answered, too.
fn lines() -> io::Result<()> {
    answer_lines(|line, output| match serde_json::from_slice::<Line>(line) {
        Ok(line) => {
            let analysis = analyze_in(&line.command, line.cwd.as_deref());
            Ok(serde_json::to_writer(output, &answer(Some(line.id), &analysis))?)
        }
        Err(error) => {
            Ok(serde_json::to_writer(output, &output::line_error(line, &error.to_string()))?)
        }
    })
}

fn answer(id: Option<Value>, analysis: &Analysis) -> Answer<'_> {
    let commands = analysis.commands();
    Answer {
        id,
        status: if analysis.opaque().is_some() { "opaque" } else { "commands" },
        class: class_of_whole(analysis.class()),
        effects: names(analysis.effects()),
        complete: analysis.is_complete(),
        concurrency_safe: analysis.is_concurrency_safe(),
        opaque: analysis.opaque().map(|reason: &OpaqueReason| OpaqueAnswer {
            code: reason.code.name(),
            message: &reason.message,
            span: span(reason.span),
        }),
        commands: commands.iter().map(part).collect(),
        writes: commands.iter().flat_map(|command| &command.writes).collect(),
        reads: commands.iter().flat_map(|command| &command.reads).collect(),
        deletes: commands.iter().flat_map(|command| &command.deletes).collect(),
    }
}

fn part(command: &Command) -> Part<'_> {
    Part {
        argv: command.argv.iter().map(Word::literal).collect(),
        class: command.class.name(),
        effects: names(command.effects),
        assignments: command
            .assignments
            .iter()
            .map(|assignment| assignment.name.as_str())
            .collect(),
        unwrapped_from: &command.unwrapped_from,
        context: command.context.name(),
        last: command.last,
        span: span(command.span),
    }
}

/// Neutral parts count as read-only in the whole.
fn class_of_whole(class: Class) -> &'static str {
    class.max(Class::ReadOnly).name()
}

fn names(effects: EffectSet) -> Vec<&'static str> {
    effects.iter().map(innerve_bash::Effect::name).collect()
}

fn span(span: Span) -> [usize; 2] {
    [span.start, span.end]
}

fn for_people(text: &str, analysis: &Analysis) -> String {
    let mut out = String::new();
    let verdict = match analysis.class() {
        Class::Neutral | Class::ReadOnly => "only reads",
        Class::Write => "changes things",
        Class::Unknown => "not known to be harmless",
    };
    if let Some(reason) = analysis.opaque() {
        let place = text.get(reason.span.start..reason.span.end).unwrap_or(text);
        out.push_str(&format!(
            "opaque ({}): {}\n  at: {}\n",
            reason.code.name(),
            reason.message,
            one_line(place)
        ));
    } else {
        out.push_str(&format!("{verdict}\n"));
    }
    for command in analysis.commands() {
        let name = if command.argv.is_empty() {
            "(assignments or redirections)".to_owned()
        } else {
            one_line(&command.text())
        };
        out.push_str(&format!("  {:<9} {name}", command.class.name()));
        let effects = names(command.effects);
        if !effects.is_empty() {
            out.push_str(&format!("  [{}]", effects.join(" ")));
        }
        if let Some(wrapper) = command.unwrapped_from.last() {
            out.push_str(&format!("  inside {wrapper}"));
        }
        if let Some(context) = command.context.name() {
            out.push_str(&format!("  in {context}"));
        }
        out.push('\n');
        for (what, paths) in [("writes", &command.writes), ("deletes", &command.deletes)] {
            for path in paths {
                out.push_str(&format!(
                    "            {what} {}\n",
                    path.as_deref().map_or("(not known before it runs)".to_owned(), one_line)
                ));
            }
        }
    }
    out
}

/// Control characters and those that reorder text must not reach a terminal.
fn one_line(text: &str) -> String {
    output::plain(text).replace('\n', "\\n").replace('\t', "\\t")
}
