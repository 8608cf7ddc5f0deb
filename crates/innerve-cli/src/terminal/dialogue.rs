//! A question put to a person, wherever they are: what is shown, and what their words mean.

use innerve_builtins::Diff;
use innerve_permission::Resolution;
use innerve_pipeline::{Answer, ApprovalRequest, Grant, GrantScope};

use super::answers::Answers;
use crate::output::{BOLD, DIM, YELLOW, diff_lines, plain};

/// Lines of a shown command at most.
const MAX_COMMAND_LINES: usize = 40;

/// A question that is being asked.
#[derive(Debug)]
pub(crate) struct Dialogue(Kind);

#[derive(Debug)]
enum Kind {
    /// May this run?
    Permission { request: Box<ApprovalRequest>, rules: Vec<String> },
    /// Questions of the model itself.
    Answers(Answers),
}

/// What a line meant.
#[derive(Debug)]
pub(crate) enum Heard {
    /// The answer.
    Answer(Answer),
    /// An answer to one of several questions: the next one is asked.
    Next,
    /// Not understood, and what to say to that.
    Again(&'static str),
}

impl Dialogue {
    /// A question that can be shown; one that cannot has its answer already.
    pub(crate) fn begin(request: ApprovalRequest) -> Result<Self, Answer> {
        if request.tool == "AskUserQuestion" {
            return Answers::read(request.input).map(|answers| Self(Kind::Answers(answers)));
        }
        let suggestions = request.resolution.suggestions.iter();
        let rules = suggestions.map(|suggestion| suggestion.0.clone()).collect();
        Ok(Self(Kind::Permission { request: Box::new(request), rules }))
    }

    /// What is shown once.
    pub(crate) fn opening(&self) -> Vec<String> {
        match &self.0 {
            Kind::Permission { request, .. } => show(request),
            Kind::Answers(_) => Vec::new(),
        }
    }

    /// What is shown before each line that is read.
    pub(crate) fn asks(&self) -> Vec<String> {
        match &self.0 {
            Kind::Permission { rules, .. } => options(rules),
            Kind::Answers(answers) => answers.asks(),
        }
    }

    /// Takes a line.
    pub(crate) fn hear(&mut self, line: &str) -> Heard {
        match &mut self.0 {
            Kind::Permission { rules, .. } => match understand(line, rules) {
                Some(answer) => Heard::Answer(answer),
                None => Heard::Again("Please type y, n, or one of the other letters shown."),
            },
            Kind::Answers(answers) => answers.hear(line),
        }
    }
}

/// The answers, and for each that would save rules, which ones and how long they hold.
fn options(rules: &[String]) -> Vec<String> {
    let mut lines = vec![format!("{BOLD}[y]{BOLD:#} yes  {BOLD}[n]{BOLD:#} no")];
    if !rules.is_empty() {
        let shown = plain(&rules.join(", "));
        lines.push(format!("{BOLD}[s]{BOLD:#} yes, and {shown} for this session"));
        lines.push(format!(
            "{BOLD}[a]{BOLD:#} always {shown}, kept in your settings of this project"
        ));
    }
    lines.push(format!("{DIM}or say what to do instead{DIM:#}"));
    lines.into_iter().map(|line| format!("  {line}")).collect()
}

/// One letter or word answers; a longer text is a no with a comment; a blank line is no answer.
fn understand(line: &str, rules: &[String]) -> Option<Answer> {
    let text = line.trim();
    let grant = |scope| Answer::Allow {
        remember: Some(Grant { scope, rules: rules.to_vec() }),
        edited: None,
    };
    match text.to_lowercase().as_str() {
        "y" | "yes" => Some(Answer::once()),
        "n" | "no" => Some(Answer::Deny { comment: None }),
        "s" | "session" if !rules.is_empty() => Some(grant(GrantScope::Session)),
        "a" | "always" if !rules.is_empty() => Some(grant(GrantScope::Always)),
        short if short.chars().count() < 3 => None,
        _ => Some(Answer::Deny { comment: Some(text.to_owned()) }),
    }
}

fn show(request: &ApprovalRequest) -> Vec<String> {
    let who =
        request.agent.as_ref().map(|agent| format!(" (sub-agent {agent})")).unwrap_or_default();
    let tool = plain(&request.tool);
    let what = if request.preview.is_some() { "change" } else { "run" };
    let mut lines = vec![format!("{YELLOW}?{YELLOW:#} {BOLD}{tool}{BOLD:#}{who} wants to {what}:")];
    lines.extend(subject(request).into_iter().map(|line| format!("    {line}")));
    let reasons = reasons(&request.resolution);
    lines.extend(reasons.into_iter().map(|line| format!("  {DIM}{line}{DIM:#}")));
    lines
}

/// What is asked about, in full where it fits.
fn subject(request: &ApprovalRequest) -> Vec<String> {
    if let Some(preview) = &request.preview {
        let before = preview.before.as_deref().unwrap_or_default();
        let mut lines = vec![plain(&preview.path.display().to_string())];
        lines.extend(diff_lines(&Diff::between(before, &preview.after)));
        return lines;
    }
    let text = match request.input.get("command").and_then(serde_json::Value::as_str) {
        Some(command) => plain(command),
        None => plain(&serde_json::to_string_pretty(&request.input).unwrap_or_default()),
    };
    let mut lines: Vec<String> = text.lines().take(MAX_COMMAND_LINES).map(str::to_owned).collect();
    let left = text.lines().count().saturating_sub(MAX_COMMAND_LINES);
    if left > 0 {
        lines.push(format!("{DIM}… {left} more lines{DIM:#}"));
    }
    lines
}

/// Why it is asked: the parts that lack approval, or the one reason.
fn reasons(resolution: &Resolution) -> Vec<String> {
    let open =
        resolution.parts.iter().filter(|part| part.decision != innerve_permission::Decision::Allow);
    let parts: Vec<String> = open
        .map(|part| {
            let (text, message) = (plain(&part.text), plain(&part.reason.message));
            if message.contains(&text) { message } else { format!("{text}: {message}") }
        })
        .collect();
    if parts.len() > 1 { parts } else { vec![plain(&resolution.reason.message)] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_what_was_typed_and_nothing_else() {
        let rules = vec!["Bash(make *)".to_owned()];
        assert_eq!(understand("y", &rules), Some(Answer::once()));
        assert_eq!(understand(" YES ", &rules), Some(Answer::once()));
        assert_eq!(understand("n", &rules), Some(Answer::Deny { comment: None }));
        assert_eq!(understand("", &rules), None);
        assert_eq!(understand("k", &rules), None);
        assert_eq!(understand("a", &[]), None);
        let comment = Some("use make check".to_owned());
        assert_eq!(understand("use make check", &rules), Some(Answer::Deny { comment }));
        let grant = Grant { scope: GrantScope::Always, rules: rules.clone() };
        assert_eq!(
            understand("a", &rules),
            Some(Answer::Allow { remember: Some(grant), edited: None })
        );
    }
}
