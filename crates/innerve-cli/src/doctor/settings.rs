//! Settings files, the rules in them, and whether the workspace is trusted.

use innerve_permission::{Behavior, Layer};
use innerve_settings::Locations;
use serde_json::Value;

use super::finding::Finding;
use super::keys;
use crate::args::PolicyArguments;
use crate::settings;
use crate::wire::warning_text;

const AREA: &str = "settings";

/// What holds in the current directory.
pub(super) fn look(arguments: &PolicyArguments) -> Vec<Finding> {
    let locations = match Locations::from_env() {
        Ok(locations) => locations,
        Err(error) => return vec![Finding::problem(AREA, error.to_string())],
    };
    let loaded = match settings::load(&locations, arguments, false) {
        Ok(loaded) => loaded,
        Err(error) => {
            return vec![
                Finding::problem(AREA, error.to_string())
                    .mend("innerve does not start until this is mended, since a lost deny rule would be a hole"),
            ];
        }
    };
    let layers = &loaded.settings.layers;
    let mut findings: Vec<Finding> = layers.iter().filter_map(file).collect();
    if findings.is_empty() {
        let file = locations.user_settings();
        findings.push(Finding::note(
            AREA,
            format!("no settings file; the defaults hold. Yours would be {}", file.display()),
        ));
    }
    let unknown = keys::look(layers);
    for warning in &loaded.warnings {
        if unknown.iter().any(|key| key.is_told_by(warning)) {
            continue;
        }
        findings.push(
            Finding::problem(AREA, warning_text(warning)).mend("correct or remove the entry"),
        );
    }
    findings.extend(unknown.into_iter().map(|key| key.tell(AREA)));
    let remarks = loaded.settings.permissions.rules.warnings().len();
    if remarks > 0 {
        findings.push(
            Finding::note(AREA, format!("{remarks} remarks about rules"))
                .mend("innerve rules lint tells them, with what to write instead"),
        );
    }
    if !loaded.settings.trusted && layers.iter().any(settings::loosens) {
        findings.push(
            Finding::note(
                AREA,
                "the workspace is not trusted: what its own files allow does not count",
            )
            .mend("innerve trust, if you know what they hold"),
        );
    }
    findings
}

fn file(layer: &Layer) -> Option<Finding> {
    let file = layer.file.as_ref()?;
    let count = |behavior: Behavior| {
        let pointer = format!("/permissions/{}", behavior.name());
        layer.value.pointer(&pointer).and_then(Value::as_array).map_or(0, Vec::len)
    };
    Some(Finding::fine(
        AREA,
        format!(
            "{} ({}): {} deny, {} ask, {} allow",
            file.display(),
            layer.source.name(),
            count(Behavior::Deny),
            count(Behavior::Ask),
            count(Behavior::Allow)
        ),
    ))
}
