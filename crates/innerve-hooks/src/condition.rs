//! Conditions: the permission rule in a hook's `if`, and whether a tool use is one that it speaks of.

use std::path::{Path, PathBuf};

use innerve_permission::facts::{Place, from_call};
use innerve_permission::{
    Behavior, CallFacts, Need, NoDisk, Origin, Policy, ReasonKind, Rule, RuleError, RuleSource,
    Ruleset, Target, Voices, resolve,
};
use serde_json::Value;

/// Tools whose paths are governed by the rules of another: a rule about them is read as one of that tool.
const GOVERNED: &[(&str, &str)] = &[
    ("Write", "Edit"),
    ("NotebookEdit", "Edit"),
    ("MultiEdit", "Edit"),
    ("Grep", "Read"),
    ("Glob", "Read"),
    ("LS", "Read"),
    ("LSP", "Read"),
];

/// Tools whose calls are shell commands.
const SHELLS: &[&str] = &["Bash", "Monitor", "PowerShell"];

/// A hook's `if`: exactly one permission rule (Claude Code, "Hooks reference").
///
/// Paths are compared as they are written: links are not followed. Where nobody can tell what a command does the
/// condition holds, since a hook too many is a lesser harm than a guard that was left out.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    rules: Ruleset,
    /// The tool that the rule names.
    tool: String,
    /// The only tool that is meant, where the rule is read as one of another.
    only: Option<&'static str>,
    /// Whether the rule names more than the first word of a shell command.
    is_narrow: bool,
}

/// One tool use, as conditions see it.
#[derive(Debug)]
pub(crate) struct ToolUse<'a> {
    facts: CallFacts,
    cwd: &'a Path,
    home: &'a Path,
}

impl<'a> ToolUse<'a> {
    pub(crate) fn new(tool: &str, input: &Value, cwd: &'a Path, home: &'a Path) -> Self {
        let place = Place { cwd, home, disk: &NoDisk };
        let facts = from_call(tool, input, place)
            .unwrap_or_else(|| CallFacts::new(tool.to_owned(), input.clone()));
        Self { facts, cwd, home }
    }
}

impl Condition {
    /// Reads a rule whose `/p` patterns start at `root`.
    pub(crate) fn parse(text: &str, root: &Path) -> Result<Self, RuleError> {
        let text = text.trim();
        let (name, spec) = match text.split_once('(') {
            Some((name, spec)) => (name.trim(), spec.strip_suffix(')')),
            None => (text, None),
        };
        let governed = GOVERNED.iter().find(|(tool, _)| *tool == name && spec.is_some());
        let written = match (governed, spec) {
            (Some((_, by)), Some(spec)) => format!("{by}({spec})"),
            _ => text.to_owned(),
        };
        // A name alone and commands are read as a deny is, which finds every way to run them; a path and all else as
        // an allow is, which takes the pattern at its word.
        let strict = || Rule::parse(&written, Behavior::Deny, origin(RuleSource::Cli, root));
        let rule = if SHELLS.contains(&name) || !text.contains('(') {
            strict()?
        } else {
            // What only a deny may say, such as a field of the input, is still a condition.
            Rule::parse(&written, Behavior::Allow, origin(RuleSource::Session, root))
                .or_else(|error| strict().map_err(|_| error))?
        };
        Ok(Self {
            tool: rule.tool().to_owned(),
            rules: std::iter::once(rule).collect(),
            only: governed.map(|(tool, _)| *tool),
            is_narrow: spec.is_some_and(names_more_than_a_program),
        })
    }

    /// Whether the rule speaks of the tool use, or may do so.
    pub(crate) fn holds(&self, tool_use: &ToolUse<'_>) -> bool {
        let facts = &tool_use.facts;
        if self.only.is_some_and(|only| only != facts.tool()) {
            return false;
        }
        if SHELLS.contains(&self.tool.as_str()) {
            return self.holds_for_command(tool_use);
        }
        if is_shell(facts) {
            // Rules about files say nothing of commands here; only a name may match.
            let bare = CallFacts::new(facts.tool().to_owned(), Value::Null);
            return self.speaks_of(bare, tool_use);
        }
        let changes = |target: &Target| matches!(target, Target::Write(_) | Target::Delete(_));
        if self.tool == "Edit" && !facts.targets.iter().any(changes) {
            return false;
        }
        if facts.targets.is_empty() {
            return self.speaks_of(facts.clone(), tool_use);
        }
        facts.targets.iter().any(|target| {
            let is_unknown = target.path().is_some_and(|path| path.path.is_none());
            let mut alone = facts.clone();
            alone.targets = vec![target.clone()];
            is_unknown || self.speaks_of(alone, tool_use)
        })
    }

    fn holds_for_command(&self, tool_use: &ToolUse<'_>) -> bool {
        let facts = &tool_use.facts;
        let is_meant =
            self.tool == facts.tool() || (self.tool == "Bash" && facts.tool() == "Monitor");
        if !is_meant {
            return false;
        }
        let unclear = facts.opaque.is_some() || facts.parts.is_empty();
        let expands = self.is_narrow && facts.command.as_deref().is_some_and(has_expansion);
        unclear || expands || self.speaks_of(facts.clone(), tool_use)
    }

    /// Whether the rule is what decides about the facts.
    fn speaks_of(&self, mut facts: CallFacts, tool_use: &ToolUse<'_>) -> bool {
        if facts.need == Need::Interaction {
            facts.need = Need::Always;
        }
        let policy = Policy {
            rules: self.rules.clone(),
            // No working directory: within one a read needs no rule, so none would be found.
            original_cwd: PathBuf::from("/\0"),
            ask_secret_reads: false,
            ..Policy::new(tool_use.cwd, tool_use.home)
        };
        let reason = resolve(&policy, &facts, &Voices::default()).reason;
        // A path that could stand for two files might be the one that is meant.
        reason.kind == ReasonKind::Rule || reason.code == "odd_path"
    }
}

fn origin(source: RuleSource, root: &Path) -> Origin {
    Origin::inline(source, root)
}

fn is_shell(facts: &CallFacts) -> bool {
    facts.command.is_some() || !facts.parts.is_empty() || facts.opaque.is_some()
}

/// `git push *` does, `git *` does not.
fn names_more_than_a_program(spec: &str) -> bool {
    let spec = spec.trim();
    let fixed = spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *")).unwrap_or(spec);
    fixed.trim().contains(char::is_whitespace)
}

/// Whether the text holds `$(…)`, backticks or `$NAME`, quoted or not.
fn has_expansion(command: &str) -> bool {
    let names = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '(' | '{');
    command.contains('`')
        || command
            .match_indices('$')
            .any(|(at, _)| command.get(at + 1..).is_some_and(|rest| rest.starts_with(names)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(condition: &str, tool: &str, input: &Value, holds: bool) {
        let tool_use = ToolUse::new(tool, input, Path::new("/repo"), Path::new("/home/u"));
        let parsed = Condition::parse(condition, Path::new("/repo")).unwrap();
        assert_eq!(parsed.holds(&tool_use), holds, "`{condition}` on {tool} {input}");
    }

    #[track_caller]
    fn command(condition: &str, command: &str, holds: bool) {
        check(condition, "Bash", &json!({ "command": command }), holds);
    }

    #[test]
    fn h23_every_command_of_a_line_is_looked_at() {
        command("Bash(git *)", "git push", true);
        command("Bash(git *)", "FOO=1 git push", true);
        command("Bash(git *)", "npm t && git push", true);
        command("Bash(git *)", "echo $(git log)", true);
        command("Bash(git *)", "echo $(date)", false);
        command("Bash(git *)", "npm t", false);
    }

    #[test]
    fn h24_a_narrow_pattern_also_holds_where_the_shell_fills_something_in() {
        command("Bash(git push *)", "echo $(date)", true);
        command("Bash(git push *)", "echo `date`", true);
        command("Bash(git push *)", "$TOOL x", true);
        command("Bash(git push:*)", "echo ${x}", true);
        command("Bash(git push *)", "echo costs 5$", false);
        command("Bash(git push *)", "git status", false);
        command("Bash(git:*)", "echo $HOME", false);
    }

    #[test]
    fn h25_a_command_that_nobody_can_read_is_meant() {
        command("Bash(rm *)", "if then fi (", true);
        check("Bash(rm *)", "Bash", &json!({}), true);
        check("PowerShell(Remove-Item *)", "PowerShell", &json!({"command": "x"}), true);
        check("Bash(rm *)", "Edit", &json!({"file_path": "/repo/a"}), false);
    }

    #[test]
    fn a_command_is_found_in_all_its_forms() {
        command("Bash(rm *)", "rm -rf /", true);
        command("Bash(rm *)", "sudo /bin/rm -r x", true);
        command("Bash(git push *)", "git -C /x push origin", true);
        command("Bash(python3 -c *)", "python3 -c 'print(1)'", true);
        command("Bash", "ls", true);
        command("Bash(*)", "ls", true);
        check("Bash(rm *)", "Monitor", &json!({"command": "rm x"}), true);
        check("Monitor", "Bash", &json!({"command": "rm x"}), false);
    }

    #[test]
    fn h26_a_path_is_taken_at_its_word() {
        let edit = |path: &str| json!({ "file_path": path });
        check("Edit(src/**)", "Edit", &edit("/repo/src/a"), true);
        check("Edit(src/**)", "Edit", &edit("/repo/vendor/src/a"), false);
        check("Edit(src/**)", "Write", &edit("/repo/src/a"), true);
        check("Edit(src/**)", "Read", &edit("/repo/src/a"), false);
        check("Edit(*.ts)", "Edit", &edit("/repo/deep/a.ts"), true);
        check("Edit(/src/**)", "Edit", &edit("/repo/src/a"), true);
        check("Edit(//etc/**)", "Edit", &edit("/etc/passwd"), true);
        check("Edit(~/x)", "Edit", &edit("/home/u/x"), true);
        check("Edit(src/**)", "Bash", &json!({"command": "echo x > src/a"}), false);
    }

    #[test]
    fn secrets_and_protected_files_are_matched_like_any_other() {
        let file = |path: &str| json!({ "file_path": path });
        check("Read(.env)", "Read", &file("/repo/.env"), true);
        check("Read", "Read", &file("/repo/a"), true);
        check("Read(src/**)", "Read", &file("/repo/src/a"), true);
        check("Edit(.git/**)", "Edit", &file("/repo/.git/config"), true);
        check("Edit", "Edit", &file("/repo/.git/config"), true);
        check("Edit", "Read", &file("/repo/a"), false);
        check("Edit", "Bash", &json!({"command": "echo x > a"}), false);
    }

    #[test]
    fn a_rule_about_a_governed_tool_means_that_tool_only() {
        let file = |path: &str| json!({ "file_path": path });
        check("Write(src/**)", "Write", &file("/repo/src/a"), true);
        check("Write(src/**)", "Edit", &file("/repo/src/a"), false);
        check("Write(src/**)", "Write", &file("/repo/b"), false);
        check("Write", "Write", &file("/repo/b"), true);
        check("Grep(src/**)", "Grep", &json!({"pattern": "x", "path": "/repo/src"}), true);
    }

    #[test]
    fn other_rules_compare_names_hosts_agents_and_fields() {
        check("mcp__memory__read", "mcp__memory__read", &json!({}), true);
        check("mcp__memory", "mcp__memory__read", &json!({}), true);
        check("mcp__*", "mcp__memory__read", &json!({}), true);
        check("mcp__memory__read(id:7)", "mcp__memory__read", &json!({"id": 7}), true);
        check("mcp__memory__read(id:7)", "mcp__memory__read", &json!({"id": 8}), false);
        check("*", "Bash", &json!({"command": "ls"}), true);
        let fetch = json!({"url": "https://docs.example.com/x"});
        check("WebFetch(domain:*.example.com)", "WebFetch", &fetch, true);
        check("WebFetch(domain:example.org)", "WebFetch", &fetch, false);
        check("Agent(Explore)", "Task", &json!({"subagent_type": "Explore"}), true);
        check("AskUserQuestion", "AskUserQuestion", &json!({}), true);
        check("Bash(run_in_background:true)", "Bash", &json!({"command": "x"}), false);
    }

    #[test]
    fn what_is_no_rule_is_an_error() {
        for text in ["", "Bash(", "Edit(../x)", "Read[x]"] {
            assert!(Condition::parse(text, Path::new("/repo")).is_err(), "{text}");
        }
    }
}
