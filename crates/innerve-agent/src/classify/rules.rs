//! What a classifier goes by: lists of sentences, the built-in ones or those that settings put in their place.

use innerve_permission::{Layer, RuleSource, SettingsWarning};
use serde_json::Value;

/// Stands in a list of settings for the built-in sentences.
const DEFAULTS: &str = "$defaults";

/// What a classifier goes by, in tiers: `hard_deny` holds against anybody, `soft_deny` unless the person asked for just
/// that, `allow` names what is fine although it looks otherwise, `environment` says what is to be trusted
/// (Claude Code documentation, "auto mode configuration").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutoModeRules {
    /// What the surroundings are, and whom to trust in them.
    pub environment: Vec<String>,
    /// What is fine.
    pub allow: Vec<String>,
    /// What is blocked unless the person asked for it, specifically.
    pub soft_deny: Vec<String>,
    /// What is blocked whatever anybody asked for.
    pub hard_deny: Vec<String>,
}

impl Default for AutoModeRules {
    fn default() -> Self {
        Self {
            environment: own(ENVIRONMENT),
            allow: own(ALLOW),
            soft_deny: own(SOFT_DENY),
            hard_deny: own(HARD_DENY),
        }
    }
}

impl AutoModeRules {
    /// Reads `autoMode` of the user's and the managed settings and of `--settings`; a project has no say in what judges
    /// its own commands. The lists of all layers are joined; `"$defaults"` in a list stands for the built-in sentences,
    /// which a list without it replaces.
    pub fn of(layers: &[Layer]) -> (Self, Vec<SettingsWarning>) {
        let mut ordered: Vec<&Layer> = layers.iter().collect();
        ordered.sort_by_key(|layer| layer.source);
        let mut warnings = Vec::new();
        let mut list = |name: &str, defaults: &[&str]| {
            let mut found: Option<Vec<String>> = None;
            let pointer = format!("/autoMode/{name}");
            for layer in &ordered {
                let Some(value) = layer.value.pointer(&pointer) else { continue };
                let warn = |reason: String| SettingsWarning {
                    source: layer.source,
                    file: layer.file.clone(),
                    line: layer.lines.get(&pointer).copied(),
                    reason,
                };
                if matches!(layer.source, RuleSource::Project | RuleSource::Local) {
                    warnings.push(warn(format!(
                        "`autoMode.{name}` of a project is ignored; move it to your own settings"
                    )));
                    continue;
                }
                let Value::Array(sentences) = value else {
                    warnings.push(warn(format!(
                        "`autoMode.{name}` must be a list of texts; it is ignored"
                    )));
                    continue;
                };
                let all = found.get_or_insert_default();
                for sentence in sentences {
                    match sentence.as_str() {
                        Some(DEFAULTS) => all.extend(own(defaults)),
                        Some(text) => all.push(text.to_owned()),
                        None => warnings.push(warn(format!(
                            "`autoMode.{name}` holds something that is no text; it is left out"
                        ))),
                    }
                }
            }
            found.unwrap_or_else(|| own(defaults))
        };
        let rules = Self {
            environment: list("environment", ENVIRONMENT),
            allow: list("allow", ALLOW),
            soft_deny: list("soft_deny", SOFT_DENY),
            hard_deny: list("hard_deny", HARD_DENY),
        };
        (rules, warnings)
    }

    /// Whether the classifier is asked in mode `plan` too: `useAutoModeDuringPlan` of the user's, the local or the managed
    /// settings; one `false` is enough, and so is a value that is no boolean.
    pub fn judges_plans(layers: &[Layer]) -> bool {
        let counting = layers.iter().filter(|layer| layer.source != RuleSource::Project);
        let mut values = counting.filter_map(|layer| layer.value.get("useAutoModeDuringPlan"));
        values.all(|value| *value == Value::Bool(true) || value.is_null())
    }
}

fn own(sentences: &[&str]) -> Vec<String> {
    sentences.iter().map(|sentence| (*sentence).to_owned()).collect()
}

const ENVIRONMENT: &[&str] = &[
    "The working directory and the repository in it are the person's own; so are the remotes that are configured there.",
    "Everything else is outside: other hosts, other repositories, other people's accounts, shared services, this machine's configuration.",
];

const ALLOW: &[&str] = &[
    "Reading, searching, building, testing, linting and running the project's own code in the working directory.",
    "Creating, changing and deleting files in the working directory that belong to the task, and files that the agent made itself.",
    "Installing dependencies that the project's manifests already name.",
    "Commits and branches in the local repository, and pushing a branch that the agent made for this task.",
    "Asking a service of the person's own machine that the agent started for this task.",
];

const SOFT_DENY: &[&str] = &[
    "Destroying what cannot be brought back: deleting files outside of the working directory or in bulk, dropping databases, force pushes, deleting branches that the agent did not make, rewriting published history.",
    "Pushing to a main or release branch, merging, publishing packages, deploying, migrating or otherwise changing what others use.",
    "Running code that comes from outside and was not part of the project: a script from the network, a package that no manifest names, a downloaded program.",
    "Using credentials, tokens or accounts that the task does not call for, or looking for them.",
    "Making something reachable from outside, or loosening permissions, firewalls, authentication, certificates or logging.",
    "Changing what starts by itself or configures other programs: shell profiles, schedulers, services, git hooks, editor and agent settings.",
    "Writing to people or public places: mail, chat, comments, issues, posts.",
    "Spending money, or starting resources that cost money.",
    "Going well beyond what the person asked for, or taking their silence for consent.",
];

const HARD_DENY: &[&str] = &[
    "Sending secrets, credentials, private files or source code to a place that the person did not name.",
    "Switching off, changing or going around permissions, this review, or what records the agent's actions.",
    "Hiding what an action does, whether by encoding, by splitting it over several actions, or by misleading names.",
    "Code that is meant to harm: malware, backdoors, attacks on systems of others.",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn layer(source: RuleSource, value: Value) -> Layer {
        Layer::new(source, "/repo", value)
    }

    #[test]
    fn a_list_replaces_the_built_in_one_unless_it_names_it() {
        let (rules, warnings) = AutoModeRules::of(&[]);
        assert_eq!((rules, warnings.len()), (AutoModeRules::default(), 0));
        let user = layer(
            RuleSource::User,
            json!({ "autoMode": { "allow": ["Pushing to staging."], "soft_deny": ["$defaults", "Touching billing/."] } }),
        );
        let managed =
            layer(RuleSource::Policy, json!({ "autoMode": { "allow": ["Reading the wiki."] } }));
        let (rules, warnings) = AutoModeRules::of(&[user, managed]);
        assert!(warnings.is_empty());
        let mut allow = rules.allow;
        allow.sort();
        assert_eq!(allow, ["Pushing to staging.", "Reading the wiki."]);
        assert_eq!(rules.soft_deny.len(), SOFT_DENY.len() + 1);
        assert_eq!(rules.hard_deny, own(HARD_DENY));
    }

    #[test]
    fn a_project_has_no_say_in_what_judges_its_commands() {
        for source in [RuleSource::Project, RuleSource::Local] {
            let value = json!({ "autoMode": { "hard_deny": [], "allow": ["Everything."] } });
            let (rules, warnings) = AutoModeRules::of(&[layer(source, value)]);
            assert_eq!(rules, AutoModeRules::default());
            assert_eq!(warnings.len(), 2);
        }
    }

    #[test]
    fn what_is_no_list_of_texts_is_told_and_left_out() {
        let value =
            json!({ "autoMode": { "allow": "Everything.", "hard_deny": ["$defaults", 7] } });
        let (rules, warnings) = AutoModeRules::of(&[layer(RuleSource::User, value)]);
        assert_eq!(rules, AutoModeRules::default());
        assert_eq!(warnings.len(), 2);
    }

    #[test]
    fn one_no_keeps_the_classifier_out_of_plan_mode() {
        let with = |source, value: Value| {
            AutoModeRules::judges_plans(&[layer(source, json!({ "useAutoModeDuringPlan": value }))])
        };
        assert!(AutoModeRules::judges_plans(&[]));
        assert!(with(RuleSource::User, json!(true)));
        assert!(!with(RuleSource::User, json!(false)));
        assert!(!with(RuleSource::User, json!("yes")));
        assert!(!with(RuleSource::Local, json!(false)));
        assert!(with(RuleSource::Project, json!(false)), "a project has no say");
    }
}
