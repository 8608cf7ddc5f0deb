//! `innerve rules list`: every rule with its place, and whether it counts.

use std::io::Write as _;

use innerve_permission::{Behavior, Layer, Origin, PermissionSettings, Rule, RuleSource};
use serde::Serialize;
use serde_json::Value;

use super::{current_dir, place};
use crate::args::RulesListArguments;
use crate::exit::{Exit, Failure};
use crate::output::{self, DIM, GREEN, RED, YELLOW, broken_pipe_is_success, plain};
use crate::settings;

/// One rule; the field names are part of the program's contract.
#[derive(Serialize)]
struct Listed {
    behavior: Behavior,
    rule: String,
    source: RuleSource,
    file: Option<String>,
    line: Option<u32>,
    /// Whether it is in force.
    counts: bool,
    remarks: Vec<String>,
    #[serde(skip)]
    origin: Origin,
}

/// Runs the verb.
pub(super) fn list(arguments: &RulesListArguments) -> Result<Exit, Failure> {
    let cwd = current_dir()?;
    let locations = settings::locations(&cwd)?;
    let loaded = settings::load(&locations, &arguments.report.policy, false)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let settings = &loaded.settings;
    let mut layers: Vec<&Layer> = settings.layers.iter().collect();
    layers.sort_by_key(|layer| layer.source);
    let mut listed = Vec::new();
    for layer in layers {
        for behavior in [Behavior::Deny, Behavior::Ask, Behavior::Allow] {
            listed.extend(of_list(layer, behavior, &settings.permissions));
        }
    }
    if arguments.report.json {
        return broken_pipe_is_success(output::print_json(&listed));
    }
    let mut text = String::new();
    let width = listed.iter().map(|it| it.rule.chars().count()).max().unwrap_or(0).min(50);
    for rule in &listed {
        let style = match rule.behavior {
            Behavior::Allow => GREEN,
            Behavior::Ask => YELLOW,
            Behavior::Deny => RED,
        };
        text.push_str(&format!(
            "{style}{:<5}{style:#}  {:<width$}  {:<7}  {DIM}{}{DIM:#}\n",
            rule.behavior.name(),
            plain(&rule.rule),
            rule.source.name(),
            place(&rule.origin, &locations.cwd, &locations.home)
        ));
        for remark in &rule.remarks {
            text.push_str(&format!("         {YELLOW}{}{YELLOW:#}\n", plain(remark)));
        }
    }
    if listed.is_empty() {
        output::note("there are no rules; `innerve check` says what holds without any");
    }
    broken_pipe_is_success(anstream::stdout().write_all(text.as_bytes()))
}

/// The rules of one list of one layer, those that do not count among them.
fn of_list(layer: &Layer, behavior: Behavior, merged: &PermissionSettings) -> Vec<Listed> {
    let pointer = format!("/permissions/{}", behavior.name());
    let entries = layer.value.pointer(&pointer).and_then(Value::as_array);
    let in_force = merged.rules.rules();
    let warnings = merged.rules.warnings();
    let listed = entries.into_iter().flatten().enumerate().map(|(index, entry)| {
        let text = entry.as_str().map_or_else(|| entry.to_string(), |text| text.trim().to_owned());
        let origin = Origin {
            source: layer.source,
            root: layer.root.clone(),
            file: layer.file.clone(),
            line: layer.lines.get(&format!("{pointer}/{index}")).copied(),
        };
        let rule = Rule::parse(entry.as_str().unwrap_or_default(), behavior, origin.clone());
        let counts = rule.as_ref().is_ok_and(|rule| in_force.contains(rule));
        let mut remarks = Vec::new();
        match &rule {
            Err(error) => remarks.push(format!("does not count: {error}")),
            Ok(_) if counts => {
                let of_rule = warnings.iter().filter(|it| it.rule == text && it.origin == origin);
                remarks.extend(of_rule.map(|warning| warning.message.clone()));
            }
            Ok(_) if merged.managed_rules_only => {
                remarks.push("does not count: only managed allow rules do".to_owned());
            }
            Ok(_) => remarks
                .push("does not count until the workspace is trusted (`innerve trust`)".to_owned()),
        }
        remarks.dedup();
        Listed {
            behavior,
            rule: text,
            source: layer.source,
            file: layer.file.as_ref().map(|file| file.display().to_string()),
            line: origin.line,
            counts,
            remarks,
            origin,
        }
    });
    listed.collect()
}
