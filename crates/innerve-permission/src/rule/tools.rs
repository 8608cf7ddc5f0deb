//! What is known of tools by name: aliases, families, parameters that rules may name.

/// How the specifier of a tool's rules is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpecKind {
    /// A shell command pattern.
    Command,
    /// A path pattern about reading.
    Read,
    /// A path pattern about changing files.
    Edit,
    /// `domain:` and a host pattern.
    Domain,
    /// The name of an agent.
    Agent,
    /// The name of a skill, with arguments.
    Skill,
    /// A path pattern about the user's own change of directory.
    Cd,
    /// None: the bare name only.
    Bare,
}

/// A tool that rules know.
struct KnownTool {
    name: &'static str,
    kind: SpecKind,
    /// Scalar input fields that a deny or ask rule may name.
    parameters: &'static [&'static str],
    /// Input fields with a specifier of their own, which a rule must not name.
    forbidden: &'static [&'static str],
}

const fn tool(
    name: &'static str,
    kind: SpecKind,
    parameters: &'static [&'static str],
    forbidden: &'static [&'static str],
) -> KnownTool {
    KnownTool { name, kind, parameters, forbidden }
}

/// The tools in one place; the source is the public tools reference of Claude Code.
const KNOWN: &[KnownTool] = &[
    tool(
        "Agent",
        SpecKind::Agent,
        &["model", "isolation", "subagent_type", "run_in_background", "name"],
        &[],
    ),
    tool("AskUserQuestion", SpecKind::Bare, &[], &[]),
    tool(
        "Bash",
        SpecKind::Command,
        &["run_in_background", "dangerouslyDisableSandbox", "timeout", "description"],
        &["command"],
    ),
    tool("BashOutput", SpecKind::Bare, &["bash_id"], &[]),
    tool("Cd", SpecKind::Cd, &[], &[]),
    tool("Edit", SpecKind::Edit, &["replace_all"], &["file_path"]),
    tool("EnterPlanMode", SpecKind::Bare, &[], &[]),
    tool("EnterWorktree", SpecKind::Bare, &["name"], &[]),
    tool("ExitPlanMode", SpecKind::Bare, &[], &[]),
    tool("ExitWorktree", SpecKind::Bare, &["action", "discard_changes"], &[]),
    tool("Glob", SpecKind::Read, &["pattern"], &["path"]),
    tool(
        "Grep",
        SpecKind::Read,
        &["pattern", "glob", "type", "output_mode", "multiline", "head_limit"],
        &["path"],
    ),
    tool("KillShell", SpecKind::Bare, &["shell_id"], &[]),
    tool("LS", SpecKind::Read, &[], &["path"]),
    tool("LSP", SpecKind::Read, &["operation"], &["file_path"]),
    tool("ListMcpResources", SpecKind::Bare, &["server"], &[]),
    tool("Monitor", SpecKind::Command, &["description", "timeout"], &["command"]),
    tool("MultiEdit", SpecKind::Edit, &[], &["file_path"]),
    tool(
        "NotebookEdit",
        SpecKind::Edit,
        &["cell_type", "edit_mode", "cell_id"],
        &["notebook_path"],
    ),
    tool("PowerShell", SpecKind::Command, &["run_in_background", "timeout"], &["command"]),
    tool("Read", SpecKind::Read, &["offset", "limit", "pages"], &["file_path"]),
    tool("ReadMcpResource", SpecKind::Bare, &["server", "uri"], &[]),
    tool("Skill", SpecKind::Skill, &[], &[]),
    tool("TaskCreate", SpecKind::Bare, &[], &[]),
    tool("TaskGet", SpecKind::Bare, &[], &[]),
    tool("TaskList", SpecKind::Bare, &[], &[]),
    tool("TaskOutput", SpecKind::Bare, &[], &[]),
    tool("TaskStop", SpecKind::Bare, &[], &[]),
    tool("TaskUpdate", SpecKind::Bare, &[], &[]),
    tool("TodoRead", SpecKind::Bare, &[], &[]),
    tool("TodoWrite", SpecKind::Bare, &[], &[]),
    tool("ToolSearch", SpecKind::Bare, &["query", "max_results"], &[]),
    tool("WebFetch", SpecKind::Domain, &["prompt"], &["url"]),
    tool("WebSearch", SpecKind::Bare, &["query"], &[]),
    tool("Write", SpecKind::Edit, &[], &["file_path"]),
];

fn find(name: &str) -> Option<&'static KnownTool> {
    KNOWN.iter().find(|tool| tool.name == name)
}

/// The canonical name of a tool that was renamed.
pub(crate) fn canonical(name: &str) -> &str {
    match name {
        "Task" => "Agent",
        "Fetch" => "WebFetch",
        other => other,
    }
}

/// Whether rules know a tool of this (canonical) name.
pub(crate) fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// How the specifier of the tool's rules is read.
pub(crate) fn spec_kind(name: &str) -> SpecKind {
    find(name).map_or(SpecKind::Bare, |tool| tool.kind)
}

/// Whether a rule may match the parameter; tools that are not known may have any.
pub(crate) fn has_parameter(tool: &str, parameter: &str) -> bool {
    find(tool).is_none_or(|tool| tool.parameters.contains(&parameter))
}

/// Whether the parameter has a specifier of its own, so that a rule must not name it.
pub(crate) fn is_forbidden_parameter(tool: &str, parameter: &str) -> bool {
    find(tool).is_some_and(|tool| tool.forbidden.contains(&parameter))
}
