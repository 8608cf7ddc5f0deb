//! `innerve rules lint`: rules that do not do what they seem to.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use innerve_permission::{Finding, Layer, RuleError, RuleSource, Severity, lint_layers};
use innerve_settings::{Locations, SettingsError};
use serde_json::{Value, json};

use super::cases::read;
use super::{current_dir, place};
use crate::args::RulesLintArguments;
use crate::exit::{Exit, Failure};
use crate::output::{self, BOLD, DIM, RED, YELLOW, broken_pipe_is_success, headline, note, plain};
use crate::settings;

/// Runs the verb.
pub(super) fn lint(arguments: &RulesLintArguments) -> Result<Exit, Failure> {
    let cwd = current_dir()?;
    let locations = settings::locations(&cwd)?;
    let layers = match &arguments.file {
        Some(file) => vec![layer(&cwd.join(file), &locations)?],
        None => match settings::load(&locations, &arguments.report.policy, true) {
            Ok(loaded) => loaded.settings.layers,
            // A broken deny rule stops everything else, so all that is wrong with its file is told first.
            Err(SettingsError::Rule(RuleError::BrokenDeny { place, problem })) => {
                let file = place.rsplit_once(':').map_or(place.as_str(), |(file, _)| file);
                if !Path::new(file).is_file() {
                    return Err(Failure::usage(format!("{place}: {problem}")));
                }
                note(&format!("only {} is looked at: it holds a broken deny rule", plain(file)));
                vec![layer(Path::new(file), &locations)?]
            }
            Err(error) => return Err(Failure::usage(error.to_string())),
        },
    };
    let findings = lint_layers(&layers, &locations.cwd, &locations.home);
    let printed = if arguments.report.json {
        let findings: Vec<Value> = findings.iter().map(as_json).collect();
        output::print_json(&findings)
    } else {
        anstream::stdout().write_all(for_people(&findings, &locations).as_bytes())
    };
    broken_pipe_is_success(printed)?;
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    if !arguments.report.json {
        let rules: usize = layers.iter().map(count).sum();
        let warnings = findings.len() - errors;
        note(&format!("{rules} rules: {errors} errors, {warnings} warnings"));
    }
    Ok(if errors == 0 { Exit::Success } else { Exit::Failure })
}

/// The rules of a layer.
fn count(layer: &Layer) -> usize {
    ["deny", "ask", "allow"]
        .iter()
        .filter_map(|list| layer.value.pointer(&format!("/permissions/{list}"))?.as_array())
        .map(Vec::len)
        .sum()
}

/// One settings file as a layer. What it is for decides where its paths start.
fn layer(file: &Path, locations: &Locations) -> Result<Layer, Failure> {
    let parsed = read(file).map_err(Failure::usage)?;
    if !parsed.value.is_object() {
        return Err(Failure::usage(format!("`{}` holds no object", file.display())));
    }
    let folder = file.parent().unwrap_or(&locations.cwd);
    let is_named = |name: &str| folder.file_name().is_some_and(|folder| folder == name);
    let (source, root): (RuleSource, PathBuf) =
        if folder == locations.config_dir() || folder == locations.home.join(".claude") {
            (RuleSource::User, folder.to_path_buf())
        } else if folder.starts_with(&locations.managed) {
            (RuleSource::Policy, locations.cwd.clone())
        } else {
            let is_local = file.file_name().is_some_and(|name| name == "settings.local.json");
            let source = if is_local { RuleSource::Local } else { RuleSource::Project };
            let in_project = is_named(".innerve") || is_named(".claude");
            let root = folder.parent().filter(|_| in_project).unwrap_or(folder);
            (source, root.to_path_buf())
        };
    Ok(Layer {
        file: Some(file.to_path_buf()),
        lines: parsed.lines,
        ..Layer::new(source, root, parsed.value)
    })
}

/// A finding; the field names are part of the program's contract.
fn as_json(finding: &Finding) -> Value {
    json!({
        "code": finding.code.name(),
        "severity": finding.severity.name(),
        "behavior": finding.behavior.name(),
        "rule": finding.rule,
        "source": finding.origin.source.name(),
        "file": finding.origin.file,
        "line": finding.origin.line,
        "message": finding.message,
        "instead": finding.instead,
    })
}

fn for_people(findings: &[Finding], locations: &Locations) -> String {
    let mut text = String::new();
    for finding in findings {
        let style = match finding.severity {
            Severity::Error => RED,
            Severity::Warning => YELLOW,
        };
        text.push_str(&format!(
            "{}: {style}{}{style:#} {BOLD}{} {}{BOLD:#}\n    {} {DIM}[{}]{DIM:#}\n",
            place(&finding.origin, &locations.cwd, &locations.home),
            finding.severity.name(),
            finding.behavior.name(),
            headline(&finding.rule, 200),
            plain(&finding.message),
            finding.code
        ));
        for instead in &finding.instead {
            text.push_str(&format!("    instead: {}\n", plain(instead)));
        }
    }
    text
}
