//! Finds the types of sub-agent that people define: Markdown files of the user and of the project.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use innerve_agent::{AgentDefinition, AgentTypes};
use innerve_permission::{Layer, RuleSource, SettingsWarning};
use innerve_settings::Locations;
use serde_json::Value;

use crate::project;

/// Files of more bytes are no definitions.
const MAX_BYTES: u64 = 256 * 1024;
/// Definitions of one directory that are read.
const MAX_FILES: usize = 200;

/// The types that count in a directory, and what is wrong with their files.
///
/// The project's win over the user's, and these over the built-in ones; those of a project that is not trusted win over
/// nothing, as they could give another agent's name more tools.
pub(crate) fn collect(
    locations: &Locations,
    layers: &[Layer],
    trusted: bool,
) -> (AgentTypes, Vec<SettingsWarning>) {
    let mut warnings = Vec::new();
    let mut taken: Vec<AgentDefinition> = Vec::new();
    let mut read: Vec<PathBuf> = Vec::new();
    for (source, folder) in folders(locations, reads_claude(layers)) {
        // A project may be the home directory, and be met as such.
        let Ok(real) = folder.canonicalize() else { continue };
        if read.contains(&real) {
            continue;
        }
        read.push(real);
        for file in files(&folder) {
            let warn = |reason: String| SettingsWarning {
                source,
                file: Some(file.clone()),
                line: None,
                reason,
            };
            let (definition, odd) = match definition(&file) {
                Ok(definition) => definition,
                Err(problem) => {
                    warnings.push(warn(format!("this agent is left out: {problem}")));
                    continue;
                }
            };
            let name = &definition.name;
            let types = AgentTypes::new(taken.clone());
            let is_taken = types.all().any(|other| other.name.eq_ignore_ascii_case(name));
            if source == RuleSource::Project && !trusted && is_taken {
                warnings.push(warn(format!(
                    "there is an agent `{name}` already, which this one replaces only once you run `innerve trust` here"
                )));
                continue;
            }
            warnings.extend(odd.into_iter().map(warn));
            taken.push(definition);
        }
    }
    (AgentTypes::new(taken), warnings)
}

/// The directories, those that win last.
fn folders(locations: &Locations, claude: bool) -> Vec<(RuleSource, PathBuf)> {
    let mut folders = Vec::new();
    if claude {
        folders.push((RuleSource::User, locations.home.join(".claude/agents")));
    }
    folders.push((RuleSource::User, locations.config_dir().join("agents")));
    for directory in project::directories(&locations.cwd) {
        if claude {
            folders.push((RuleSource::Project, directory.join(".claude/agents")));
        }
        folders.push((RuleSource::Project, directory.join(".innerve/agents")));
    }
    folders
}

fn reads_claude(layers: &[Layer]) -> bool {
    !layers.iter().any(|layer| {
        matches!(layer.source, RuleSource::Policy | RuleSource::User)
            && layer.value.get("disableClaudeSettings") == Some(&Value::Bool(true))
    })
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    files.sort();
    files.truncate(MAX_FILES);
    files
}

fn definition(path: &Path) -> Result<(AgentDefinition, Vec<String>), String> {
    let unreadable = |error: std::io::Error| format!("it cannot be read: {error}");
    // A FIFO or device of that name would block.
    let meta = path.metadata().map_err(unreadable)?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return Err(format!("it is no regular file of at most {MAX_BYTES} bytes"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no text in UTF-8".to_owned())?;
    AgentDefinition::parse(&text).map_err(|error| error.to_string())
}
