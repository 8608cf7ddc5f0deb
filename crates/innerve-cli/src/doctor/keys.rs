//! Keys of settings files that innerve does not know: most are misspelled, and what stands under them has no effect.

mod public;

use innerve_permission::{Layer, SettingsWarning};
use serde_json::Value;

use super::finding::Finding;
use public::{KEYS, NESTED};

/// What innerve has beyond the public format.
const OWN: &[&str] =
    &["disableClaudeSettings", "onError", "permissions.bashReadScope", "permissions.secretReads"];
/// A file is told of so many unknown keys.
const MAX_TOLD: usize = 20;

/// The unknown keys of all files.
pub(super) fn look(layers: &[Layer]) -> Vec<UnknownKey> {
    layers.iter().flat_map(unknown).collect()
}

/// A key that is not known.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UnknownKey {
    /// File and line.
    place: String,
    /// With the keys that it stands under, joined by points.
    key: String,
    /// What was perhaps meant, written in the same way.
    meant: Option<String>,
}

impl UnknownKey {
    /// Whether the warning says the same: those who read the settings of a sandbox name what they do not know themselves.
    pub(super) fn is_told_by(&self, warning: &SettingsWarning) -> bool {
        warning.reason.starts_with(&format!("`{}` is no known setting", self.key))
    }

    /// The key as a finding, with what was perhaps meant.
    pub(super) fn tell(self, area: &'static str) -> Finding {
        let Self { place, key, meant } = self;
        let text = format!("{place}: innerve does not know `{key}`");
        match meant {
            Some(meant) => Finding::problem(area, format!("{text}: did you mean `{meant}`?"))
                .mend("correct it: as it stands it has no effect"),
            None => Finding::note(area, text)
                .mend("remove it, unless it is for another program that reads this file"),
        }
    }
}

fn unknown(layer: &Layer) -> Vec<UnknownKey> {
    let mut found = Vec::new();
    walk(layer, &layer.value, "", &mut found);
    found
}

/// Looks at the keys of an object; `under` is the key it stands under, with a point behind it.
fn walk(layer: &Layer, value: &Value, under: &str, found: &mut Vec<UnknownKey>) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        // Comments, and what tells editors of the format.
        if name.starts_with(['$', '_', '#', '/']) {
            continue;
        }
        let key = format!("{under}{name}");
        if all().any(|known| known == key) {
            if is_closed(&key) {
                walk(layer, inner, &format!("{key}."), found);
            }
        } else if found.len() < MAX_TOLD {
            let meant = meant(under, name);
            found.push(UnknownKey { place: place(layer, &key), key, meant });
        }
    }
}

/// All keys that are known, each with the keys that it stands under.
fn all() -> impl Iterator<Item = &'static str> {
    KEYS.iter().chain(NESTED).chain(OWN).copied()
}

/// Whether everything that may stand under a key is known.
fn is_closed(key: &str) -> bool {
    NESTED.iter().any(|known| known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

/// The known key that is nearest: of the same object, or the same word in another place.
fn meant(under: &str, name: &str) -> Option<String> {
    let last = |known: &'static str| known.rsplit('.').next().unwrap_or(known);
    let beside = all().filter(|known| {
        known.strip_prefix(under).is_some_and(|rest| !rest.is_empty() && !rest.contains('.'))
    });
    let near = beside
        .map(|known| (distance(&plain(name), &plain(last(known))), known))
        .filter(|(far, known)| *far <= (last(known).len() / 4).clamp(1, 3))
        .min_by_key(|(far, _)| *far)
        .map(|(_, known)| known);
    near.or_else(|| all().find(|known| plain(last(known)) == plain(name))).map(str::to_owned)
}

/// A key without what people write differently: capitals, hyphens and underscores.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_'));
    letters.take(64).flat_map(char::to_lowercase).collect()
}

/// How many letters must be put in, taken out or changed to get from one word to the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = at;
        let mut left = at + 1;
        let mut next = vec![left];
        for (above, beside) in row.iter().skip(1).zip(other.chars()) {
            left = (diagonal + usize::from(letter != beside)).min(above + 1).min(left + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

fn place(layer: &Layer, key: &str) -> String {
    let file = match &layer.file {
        Some(file) => file.display().to_string(),
        None => "--settings".to_owned(),
    };
    let escape = |part: &str| part.replace('~', "~0").replace('/', "~1");
    let parts: Vec<String> = key.split('.').map(escape).collect();
    match layer.lines.get(&format!("/{}", parts.join("/"))) {
        Some(line) => format!("{file}:{line}"),
        None => file,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use innerve_permission::{RuleSource, merge};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(settings: Value, expected: &[(&str, Option<&str>)]) {
        let layer = Layer::new(RuleSource::User, "/", settings);
        let found = unknown(&layer);
        let found: Vec<_> =
            found.iter().map(|odd| (odd.key.as_str(), odd.meant.as_deref())).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_misspelled_is_told_with_what_was_meant() {
        check(json!({ "permisions": {} }), &[("permisions", Some("permissions"))]);
        check(json!({ "mcp_servers": {} }), &[("mcp_servers", Some("mcpServers"))]);
        check(json!({ "MCPServers": {} }), &[("MCPServers", Some("mcpServers"))]);
        check(json!({ "hook": {} }), &[("hook", Some("hooks"))]);
        check(
            json!({ "permissions": { "denys": [], "Allow": [] } }),
            &[
                ("permissions.denys", Some("permissions.deny")),
                ("permissions.Allow", Some("permissions.allow")),
            ],
        );
        check(
            json!({ "sandbox": { "network": { "allowDomains": [] } } }),
            &[("sandbox.network.allowDomains", Some("sandbox.network.allowedDomains"))],
        );
    }

    #[test]
    fn what_stands_in_the_wrong_place_is_told_with_the_right_one() {
        check(json!({ "deny": [] }), &[("deny", Some("permissions.deny"))]);
        check(
            json!({ "defaultMode": "plan" }),
            &[("defaultMode", Some("permissions.defaultMode"))],
        );
        check(
            json!({ "sandbox": { "denyRead": [] } }),
            &[("sandbox.denyRead", Some("sandbox.filesystem.denyRead"))],
        );
    }

    #[test]
    fn what_nobody_knows_is_told_without_a_guess() {
        check(json!({ "frobnicate": 1, "x": 2 }), &[("frobnicate", None), ("x", None)]);
    }

    #[test]
    fn what_the_public_format_has_is_not_told_whether_or_not_it_counts_here() {
        check(
            json!({
                "$schema": "https://json.schemastore.org/claude-code-settings.json",
                "_comment": "mine", "// why": 1,
                "statusLine": { "type": "command", "command": "x", "padding": 0 },
                "theme": "dark", "cleanupPeriodDays": 30, "env": { "ANY": "1" },
                "hooks": { "PreToolUse": [] }, "mcpServers": { "any": {} },
                "permissions": { "allow": [], "deny": [], "ask": [], "defaultMode": "plan" },
                "sandbox": { "enabled": true, "network": { "allowedDomains": [] } },
            }),
            &[],
        );
        check(json!([]), &[]);
        check(json!({ "permissions": 1 }), &[]);
    }

    #[test]
    fn a_file_of_nothing_but_unknown_keys_is_told_in_bounds() {
        let settings = (0..5_000).map(|key| (format!("key-{key}"), json!(1))).collect();
        let layer = Layer::new(RuleSource::User, "/", Value::Object(settings));
        assert_eq!(unknown(&layer).len(), MAX_TOLD);
    }

    #[test]
    fn the_keys_are_listed_once() {
        let keys: Vec<&str> = all().collect();
        assert_eq!(keys.len(), keys.iter().collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn what_a_sandbox_does_not_know_is_told_once_and_all_that_is_listed_it_knows() {
        let of = |value| Layer::new(RuleSource::User, "/", json!({ "sandbox": value }));
        let warnings = |layer: &Layer| merge(std::slice::from_ref(layer)).unwrap().warnings;
        for odd in [json!({ "denyRead": [] }), json!({ "network": { "allowDomains": [] } })] {
            let layer = of(odd);
            let (found, warnings) = (unknown(&layer), warnings(&layer));
            assert_eq!((found.len(), warnings.len()), (1, 1), "{found:?} {warnings:?}");
            assert!(found[0].is_told_by(&warnings[0]), "{found:?} {warnings:?}");
        }
        let mut all = json!({ "filesystem": {}, "network": {} });
        for key in NESTED.iter().filter_map(|key| key.strip_prefix("sandbox.")) {
            let pointer = match key.rsplit_once('.') {
                Some((under, name)) => (format!("/{under}"), name),
                None => (String::new(), key),
            };
            let object = all.pointer_mut(&pointer.0).unwrap().as_object_mut().unwrap();
            object.entry(pointer.1).or_insert(Value::Null);
        }
        let layer = of(all);
        assert_eq!((unknown(&layer), warnings(&layer)), (Vec::new(), Vec::new()));
    }

    /// The JSON pointers in the sources that read settings.
    fn pointers(folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                pointers(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let quoted = text.split('"').filter(|quoted| {
                    ["/permissions/", "/sandbox/", "/autoMode/"]
                        .iter()
                        .any(|root| quoted.starts_with(root))
                        && !quoted.ends_with('/')
                        && quoted.bytes().all(|byte| byte == b'/' || byte.is_ascii_alphabetic())
                });
                found.extend(quoted.map(|it| it.trim_start_matches('/').replace('/', ".")));
            }
        }
    }

    #[test]
    fn what_the_sources_read_is_known() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let mut read = BTreeSet::new();
        for name in ["innerve-permission", "innerve-agent", "innerve-cli"] {
            pointers(&crates.join(name).join("src"), &mut read);
        }
        assert!(read.len() > 10, "{read:?}");
        // Anything may stand under a key of which not all is known.
        let is_known = |key: &str| {
            let open = |known: &str| {
                !is_closed(known)
                    && key.strip_prefix(known).is_some_and(|rest| rest.starts_with('.'))
            };
            all().any(|known| known == key || open(known))
        };
        let unknown: Vec<_> = read.iter().filter(|key| !is_known(key)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
