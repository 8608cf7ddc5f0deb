//! Lists of paths in settings: what of them names no place is told, and where it should have denied something, no command runs.

use std::path::{Path, PathBuf};

use innerve_permission::Layer;
use serde_json::Value;

use super::located;

/// What is odd about the lists.
#[derive(Clone, Debug, Default)]
pub(super) struct Oddities {
    /// What is left out.
    pub(super) warnings: Vec<String>,
    /// What should deny something and names nothing.
    pub(super) broken: Vec<String>,
}

impl Oddities {
    /// The places that a list names in these layers. What `denies` is never just left out.
    pub(super) fn read<'a>(
        &mut self,
        layers: impl Iterator<Item = &'a Layer>,
        list: &str,
        home: &Path,
        denies: bool,
    ) -> Vec<PathBuf> {
        let pointer = format!("/sandbox/filesystem/{list}");
        let mut places = Vec::new();
        for layer in layers {
            let entries = match layer.value.pointer(&pointer) {
                None | Some(Value::Null) => continue,
                Some(Value::Array(entries)) => entries.iter().collect(),
                // What is no list is taken for its only entry.
                Some(entry) => vec![entry],
            };
            for entry in entries {
                match place(layer, entry, home) {
                    Ok(place) => places.push(place),
                    Err(why) => {
                        let told = format!("an entry of `sandbox.filesystem.{list}` {why}");
                        if denies { &mut self.broken } else { &mut self.warnings }.push(told);
                    }
                }
            }
        }
        places
    }
}

/// The place that an entry names, or what is wrong with it.
fn place(layer: &Layer, entry: &Value, home: &Path) -> Result<PathBuf, String> {
    let text = entry.as_str().filter(|text| !text.trim().is_empty() && !text.contains('\0'));
    let text = text.ok_or_else(|| format!("is no path: {entry}"))?;
    let path = located(layer, text, home);
    let is_pattern = text.contains(['*', '?', '[', '{']);
    let is_of_shell = text.starts_with('$')
        || text.starts_with('~') && !matches!(text, "~") && !text.starts_with("~/");
    if !(is_pattern || is_of_shell) || path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let way = if is_pattern {
        "a rule in `permissions` takes patterns, such as `Read(**/.env)`"
    } else {
        "write `~/…` or a whole path"
    };
    Err(format!("names no place: `{text}`; {way}"))
}

#[cfg(test)]
mod tests {
    use innerve_permission::RuleSource;
    use serde_json::json;

    use super::*;

    /// The places that a list names, and how many oddities there are: left out, and broken.
    #[track_caller]
    fn check(value: &Value, denies: bool, places: &[&str], odd: (usize, usize)) {
        let settings = json!({ "sandbox": { "filesystem": { "list": value } } });
        let layer = Layer::new(RuleSource::User, "/repo", settings);
        let mut oddities = Oddities::default();
        let read = oddities.read(std::iter::once(&layer), "list", Path::new("/home/u"), denies);
        let places: Vec<PathBuf> = places.iter().map(PathBuf::from).collect();
        assert_eq!(read, places);
        let counted = (oddities.warnings.len(), oddities.broken.len());
        assert_eq!(counted, odd, "{oddities:?}");
    }

    #[test]
    fn entries_are_places_and_a_lone_one_is_a_list() {
        check(&json!(["~/x", "/y", "z"]), true, &["/home/u/x", "/y", "/repo/z"], (0, 0));
        check(&json!("~"), true, &["/home/u"], (0, 0));
        check(&Value::Null, true, &[], (0, 0));
        check(&json!([]), true, &[], (0, 0));
    }

    #[test]
    fn what_names_nothing_is_told_and_breaks_what_denies() {
        for odd in [
            json!([5]),
            json!({}),
            json!([""]),
            json!("**/.env"),
            json!("$HOME/x"),
            json!("~other/x"),
        ] {
            check(&odd, true, &[], (0, 1));
            check(&odd, false, &[], (1, 0));
        }
        check(&json!(["/a", 5, "/b"]), true, &["/a", "/b"], (0, 1));
    }
}
