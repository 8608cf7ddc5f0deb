//! The slash commands: their names, what they do, and how a typed line is read.

/// One command.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) name: &'static str,
    /// What may stand behind it.
    pub(super) takes: &'static str,
    pub(super) does: &'static str,
    pub(super) action: Action,
}

impl Command {
    /// How it is used.
    pub(super) fn usage(&self) -> String {
        format!("{:<16}", format!("/{} {}", self.name, self.takes))
    }
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Agents,
    Clear,
    Compact,
    Cost,
    Exit,
    Help,
    Mcp,
    Mode,
    Model,
    Permissions,
    Resume,
    Tools,
    Undo,
}

impl Action {
    /// Whether it can only be done while no answer is written.
    pub(super) fn needs_rest(self, behind: &str) -> bool {
        match self {
            Self::Clear | Self::Compact | Self::Undo => true,
            Self::Model | Self::Resume => !behind.is_empty(),
            Self::Agents
            | Self::Cost
            | Self::Exit
            | Self::Help
            | Self::Mcp
            | Self::Mode
            | Self::Permissions
            | Self::Tools => false,
        }
    }
}

const fn command(
    name: &'static str,
    takes: &'static str,
    action: Action,
    does: &'static str,
) -> Command {
    Command { name, takes, does, action }
}

/// All commands, by name.
pub(super) const COMMANDS: [Command; 13] = [
    command("agents", "", Action::Agents, "lists the types of sub-agents"),
    command("clear", "", Action::Clear, "begins a new conversation; the old one can be resumed"),
    command(
        "compact",
        "[TEXT]",
        Action::Compact,
        "puts a summary in place of the conversation; TEXT says what to keep",
    ),
    command("cost", "", Action::Cost, "shows tokens and dollars so far"),
    command("exit", "", Action::Exit, "ends (also Ctrl-D)"),
    command("help", "", Action::Help, "shows commands and keys"),
    command("mcp", "", Action::Mcp, "lists MCP servers and how they are"),
    command("mode", "[MODE]", Action::Mode, "shows or sets the permission mode (also Shift+Tab)"),
    command("model", "[NAME]", Action::Model, "shows the model, or goes on with another"),
    command("permissions", "", Action::Permissions, "lists the rules in force"),
    command("resume", "[ID]", Action::Resume, "lists earlier sessions, or goes on with one"),
    command("tools", "", Action::Tools, "lists the tools"),
    command(
        "undo",
        "[yes]",
        Action::Undo,
        "gives files back the content from before the last task",
    ),
];

/// The keys, for `/help`.
pub(super) const KEYS: [(&str, &str); 11] = [
    ("Enter", "sends; a text sent while an answer is written waits for its turn"),
    ("Alt+Enter", "begins a new line (also Ctrl-J, or \\ before Enter)"),
    ("Up, Down", "earlier texts"),
    ("Ctrl-R", "looks for an earlier text by words in it; again: an older one"),
    ("Tab", "completes /commands and @paths"),
    ("Shift+Tab", "next permission mode"),
    ("Esc", "stops the answer"),
    ("Ctrl-O", "shows a call and its result in full, or what a question is about"),
    ("Ctrl-L", "clears the screen; scrolling back still finds what was there"),
    ("Ctrl-Z", "back to the shell; fg comes back"),
    ("Ctrl-C", "stops the answer, empties the line, or, twice, ends"),
];

/// A typed line that is a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed<'a> {
    /// A command and what stands behind it.
    Known(Action, &'a str),
    /// It begins like a command, but is none.
    Unknown(&'a str),
    /// Words for the model.
    Words,
}

/// Reads a line. A path such as `/etc/hosts` is no command.
pub(super) fn read(line: &str) -> Typed<'_> {
    let line = line.trim();
    let Some(rest) = line.strip_prefix('/') else { return Typed::Words };
    let (name, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
        return Typed::Words;
    }
    let name = if name == "quit" { "exit" } else { name };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => Typed::Known(command.action, behind.trim()),
        None => Typed::Unknown(name),
    }
}

/// The commands that begin like this, in a line; of a single one what it does.
pub(super) fn beginning(before: &str) -> Vec<String> {
    let Some(begun) = before.strip_prefix('/') else { return Vec::new() };
    let word = begun.split(' ').next().unwrap_or_default();
    let exact = COMMANDS.iter().filter(|command| command.name == word);
    let like = COMMANDS.iter().filter(|command| command.name.starts_with(begun));
    let found: Vec<&Command> = exact.chain(like).collect();
    match found.as_slice() {
        [] => Vec::new(),
        [one, ..] if one.name == word || found.len() == 1 => {
            vec![format!("{} {}", one.usage(), one.does)]
        }
        many => {
            let names = many.iter().map(|command| format!("/{}", command.name));
            vec![names.collect::<Vec<_>>().join("  ")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_words() {
        assert_eq!(read(" /mode plan "), Typed::Known(Action::Mode, "plan"));
        assert_eq!(
            read("/compact keep the  names"),
            Typed::Known(Action::Compact, "keep the  names")
        );
        assert_eq!(read("/quit"), Typed::Known(Action::Exit, ""));
        assert_eq!(read("/nonsense"), Typed::Unknown("nonsense"));
        for words in ["hello", "/etc/hosts is wrong", "/", "// a comment", "what is /mode?"] {
            assert_eq!(read(words), Typed::Words, "{words}");
        }
    }

    #[test]
    fn what_was_begun_says_how_it_may_go_on() {
        assert_eq!(beginning("/mo"), ["/mode  /model"]);
        assert!(beginning("/mode pl")[0].starts_with("/mode [MODE]"));
        assert!(beginning("/und")[0].starts_with("/undo [yes]"));
        for other in ["", "mode", "/etc/hosts", "/nonsense", "a /mode"] {
            assert!(beginning(other).is_empty(), "{other}");
        }
    }

    #[test]
    fn names_are_sorted_and_unlike() {
        assert!(COMMANDS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
