//! The laws of the engine, over random rules and random compound commands.

use std::path::PathBuf;

use innerve_permission::{
    Behavior, ClassifierWord, Decision, Descent, HookVoice, Origin, Part, PathTarget, Place,
    Policy, Rule, RuleSource, Target, Voices, resolve,
};
use proptest::prelude::*;

use crate::kit::{CWD, HOME, TableDisk, shell, strictness, word};

const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions"];

fn rule_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "(a|b|rm|git)( \\*|\\*| x| x \\*|:\\*)?".prop_map(|spec| format!("Bash({spec})")),
        "(/|//repo/|\\./|)(f|d|d/\\*\\*|\\*\\*/f|\\*)".prop_map(|spec| format!("Edit({spec})")),
        "(/|//repo/|\\./|)(f|d|d/\\*\\*|\\*\\*/f|\\*)".prop_map(|spec| format!("Read({spec})")),
        Just("Bash".to_owned()),
        Just("Bash(* x)".to_owned()),
        Just("Bash(a * | *)".to_owned()),
    ]
}

fn behavior() -> impl Strategy<Value = Behavior> {
    prop_oneof![Just(Behavior::Allow), Just(Behavior::Ask), Just(Behavior::Deny)]
}

fn any_rule() -> impl Strategy<Value = Rule> {
    (rule_text(), behavior()).prop_map(|(text, behavior)| parse(&text, behavior))
}

fn parse(text: &str, behavior: Behavior) -> Rule {
    Rule::parse(text, behavior, Origin::inline(RuleSource::Project, CWD)).unwrap()
}

fn any_part() -> impl Strategy<Value = Part> {
    let word = prop_oneof![4 => "(x|y|f|-r)".prop_map(Some), 1 => Just(None)];
    let program = prop_oneof![4 => "(a|b|rm|git|sudo|timeout|./a)".prop_map(Some), 1 => Just(None)];
    let target = (0..6_u8, "(f|d/f|/etc/f|\\.git/f|\\.env|/)");
    (
        program,
        proptest::collection::vec(word, 0..3),
        any::<bool>(),
        proptest::collection::vec(target, 0..2),
        any::<bool>(),
    )
        .prop_map(|(program, words, read_only, targets, inside)| {
            let argv: Vec<Option<String>> = std::iter::once(program).chain(words).collect();
            let disk = TableDisk::default();
            let place = Place { cwd: CWD.as_ref(), home: HOME.as_ref(), disk: &disk };
            let mut part = Part {
                text: argv
                    .iter()
                    .map(|word| word.as_deref().unwrap_or("$v"))
                    .collect::<Vec<_>>()
                    .join(" "),
                expands: argv.contains(&None),
                argv,
                read_only,
                complete: read_only,
                cwd: Some(PathBuf::from(if inside { CWD } else { "/etc" })),
                ..Part::default()
            };
            for (kind, given) in targets {
                let path = PathTarget::new(&given, place);
                match kind {
                    0 | 1 => part.targets.push(Target::Read(path)),
                    2 => part.targets.push(Target::Write(path)),
                    3 => part.targets.push(Target::Delete(path)),
                    4 => part.redirected.push(Target::Write(path)),
                    _ => part.redirected.push(Target::Write(PathTarget::unknown("$v"))),
                }
            }
            part
        })
}

fn any_voices() -> impl Strategy<Value = Voices> {
    let hook = prop_oneof![
        Just(None),
        Just(Some(HookVoice::Allow)),
        Just(Some(HookVoice::Ask("why".to_owned()))),
    ];
    hook.prop_map(|hook| Voices { hook, objection: None })
}

/// Whether a shell's pattern names the file, of the few forms that are tried.
#[cfg(feature = "bash")]
fn names(pattern: &str, name: &str) -> bool {
    let hidden = name.starts_with('.') && !pattern.starts_with('.');
    let matches = match pattern {
        "*" => true,
        "?" => name.len() == 1,
        "[de]" => name == "d" || name == "e",
        "[ef]" => name == "e" || name == "f",
        "d*" => name.starts_with('d'),
        "*f" => name.ends_with('f'),
        ".*" => name.starts_with('.'),
        plain => name == plain,
    };
    matches && !hidden
}

fn policy(rules: &[Rule], mode: &str) -> Policy {
    let mut policy = Policy::new(CWD, HOME);
    policy.headless = false;
    policy.mode = mode.parse().unwrap();
    policy.rules = rules.iter().cloned().collect();
    policy
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn adding_a_deny_never_weakens(
        rules in proptest::collection::vec(any_rule(), 0..6), text in rule_text(),
        parts in proptest::collection::vec(any_part(), 1..4), mode in 0..6_usize, voices in any_voices(),
    ) {
        let facts = shell(parts);
        let before = resolve(&policy(&rules, MODES[mode]), &facts, &voices);
        let mut more = rules;
        more.push(parse(&text, Behavior::Deny));
        let after = resolve(&policy(&more, MODES[mode]), &facts, &voices);
        prop_assert!(strictness(&after) >= strictness(&before), "{before:#?}\n{after:#?}");
    }

    #[test]
    fn adding_an_ask_never_weakens(
        rules in proptest::collection::vec(any_rule(), 0..6), text in rule_text(),
        parts in proptest::collection::vec(any_part(), 1..4), mode in 0..6_usize, voices in any_voices(),
    ) {
        let facts = shell(parts);
        let before = resolve(&policy(&rules, MODES[mode]), &facts, &voices);
        let mut more = rules;
        more.push(parse(&text, Behavior::Ask));
        let after = resolve(&policy(&more, MODES[mode]), &facts, &voices);
        prop_assert!(strictness(&after) >= strictness(&before), "{before:#?}\n{after:#?}");
    }

    #[test]
    fn adding_an_allow_never_answers_a_deny_or_ask_rule(
        rules in proptest::collection::vec(any_rule(), 0..6), text in rule_text(),
        parts in proptest::collection::vec(any_part(), 1..4), mode in 0..6_usize, voices in any_voices(),
    ) {
        let facts = shell(parts);
        let before = resolve(&policy(&rules, MODES[mode]), &facts, &voices);
        let mut more = rules;
        more.push(parse(&text, Behavior::Allow));
        let after = resolve(&policy(&more, MODES[mode]), &facts, &voices);
        if before.reason.code.starts_with("deny_rule") || before.reason.code.starts_with("ask_rule") {
            prop_assert_eq!(word(&after), word(&before));
        }
        prop_assert!(strictness(&after) <= strictness(&before), "{before:#?}\n{after:#?}");
    }

    #[test]
    fn a_deny_survives_every_mode_and_hook(
        rules in proptest::collection::vec(any_rule(), 0..6),
        parts in proptest::collection::vec(any_part(), 1..4), voices in any_voices(),
    ) {
        let facts = shell(parts);
        let denied = resolve(&policy(&rules, "default"), &facts, &Voices::default());
        if denied.reason.code == "deny_rule" {
            for mode in MODES {
                prop_assert_eq!(word(&resolve(&policy(&rules, mode), &facts, &voices)), "deny");
            }
        }
    }

    #[test]
    fn order_and_repetition_of_rules_decide_nothing(
        rules in proptest::collection::vec(any_rule(), 0..6),
        parts in proptest::collection::vec(any_part(), 1..4), mode in 0..6_usize, voices in any_voices(),
    ) {
        let facts = shell(parts);
        let once = resolve(&policy(&rules, MODES[mode]), &facts, &voices);
        let mut twice: Vec<Rule> = rules.iter().rev().cloned().collect();
        twice.extend(rules);
        let again = resolve(&policy(&twice, MODES[mode]), &facts, &voices);
        prop_assert_eq!(once.verdict, again.verdict);
    }

    #[test]
    fn a_compound_is_never_weaker_than_its_strictest_part(
        rules in proptest::collection::vec(any_rule(), 0..6),
        parts in proptest::collection::vec(any_part(), 1..4), mode in 0..6_usize, voices in any_voices(),
    ) {
        let policy = policy(&rules, MODES[mode]);
        let alone = parts.iter().map(|part| strictness(&resolve(&policy, &shell(vec![part.clone()]), &voices)));
        let strictest = alone.max().unwrap_or(0);
        let whole = resolve(&policy, &shell(parts), &voices);
        prop_assert!(strictness(&whole) >= strictest, "{whole:#?}");
    }

    #[test]
    fn plan_lets_nothing_be_changed_whatever_rules_allow(
        rules in proptest::collection::vec(any_rule(), 0..6),
        parts in proptest::collection::vec(any_part(), 1..4),
    ) {
        let changes = parts.iter().any(|part| {
            !part.read_only || part.redirected.iter().any(|it| matches!(it, Target::Write(_) | Target::Delete(_)))
        });
        let mut rules = rules;
        rules.push(parse("Edit", Behavior::Allow));
        rules.push(parse("Bash(* x)", Behavior::Allow));
        let planned = resolve(&policy(&rules, "plan"), &shell(parts), &Voices::default());
        prop_assert!(!changes || word(&planned) != "allow", "{planned:#?}");
    }

    #[test]
    fn what_a_search_of_a_directory_may_read_is_asked_about(
        spec in "(/|//repo/|//|~/|\\./|)(f|d|\\.d|d/\\*\\*|\\*\\*/f|d/\\*/f|\\*\\.x|repo/d/\\*\\*|\\*\\*/\\.d/\\*)",
        directory in "(/|/repo|/repo/d|/repo/d/e|/repo/\\.d|/home|/home/u/d)", file in "((d|e|\\.d)/){0,2}(f|g|a\\.x|\\.f)",
    ) {
        let policy = policy(&[parse(&format!("Read({spec})"), Behavior::Deny)], "bypassPermissions");
        let disk = TableDisk::default();
        let place = Place { cwd: CWD.as_ref(), home: HOME.as_ref(), disk: &disk };
        let path = format!("{}/{file}", directory.trim_end_matches('/'));
        let denies = policy.hides(&PathTarget::new(&path, place));
        let is_hidden = file.split('/').any(|name| name.starts_with('.'));
        for (descent, sees) in [(Descent::All, true), (Descent::Visible, !is_hidden)] {
            let part = Part {
                text: "search".to_owned(),
                argv: vec![Some("search".to_owned())],
                read_only: true,
                complete: true,
                targets: vec![Target::Read(PathTarget::new(&directory, place))],
                descent,
                cwd: Some(PathBuf::from(CWD)),
                ..Part::default()
            };
            let searched = resolve(&policy, &shell(vec![part]), &Voices::default());
            if denies && sees {
                prop_assert!(word(&searched) != "allow", "{path} in {directory}: {searched:#?}");
            }
        }
    }

    #[test]
    #[cfg(feature = "bash")]
    fn what_a_pattern_may_name_is_asked_about(
        spec in "(//s|//s/f|//s/\\*\\*|//repo/d/f|f|//\\*\\*/e|d/\\*\\*)",
        links in proptest::collection::btree_map("(d|e|f)(/(d|e|f))?", "/(s|s/f|repo/e|t)", 0..4),
        pattern in "(\\*|\\?|d|e|\\[de\\]|d\\*|\\.\\*)(/(\\*|\\?|f|e|\\[ef\\]|\\*f)){0,2}",
        file in "(d|e|f|\\.h)(/(d|e|f|\\.h)){0,2}",
    ) {
        let mut disk = TableDisk { links: std::collections::BTreeMap::new(), ..TableDisk::default() };
        for (from, to) in links {
            let from = PathBuf::from(CWD).join(from);
            // A link has nothing beneath it but what it leads to.
            if !disk.links.keys().any(|link| link.starts_with(&from) || from.starts_with(link)) {
                disk.links.insert(from, PathBuf::from(to));
            }
        }
        let path = PathBuf::from(CWD).join(&file);
        if !disk.links.contains_key(&path) {
            disk.existing.push(path);
        }
        let mut policy = policy(&[parse(&format!("Read({spec})"), Behavior::Deny)], "bypassPermissions");
        policy.follow_links(&disk);
        let place = Place { cwd: CWD.as_ref(), home: HOME.as_ref(), disk: &disk };
        let named = file.split('/').count() == pattern.split('/').count()
            && file.split('/').zip(pattern.split('/')).all(|(name, pattern)| names(pattern, name));
        if named && policy.hides(&PathTarget::new(&file, place)) {
            let input = serde_json::json!({ "command": format!("cat {pattern}") });
            let facts = innerve_permission::facts::from_call("Bash", &input, place).unwrap();
            let said = resolve(&policy, &facts, &Voices::default());
            prop_assert!(word(&said) != "allow", "{file} by {pattern}: {:#?}", said);
        }
    }

    #[test]
    fn nobody_to_ask_never_runs_more(
        rules in proptest::collection::vec(any_rule(), 0..6),
        parts in proptest::collection::vec(any_part(), 1..4), mode in 0..6_usize, voices in any_voices(),
    ) {
        let facts = shell(parts);
        let mut alone = policy(&rules, MODES[mode]);
        let asked = resolve(&alone, &facts, &voices);
        alone.headless = true;
        let unasked = resolve(&alone, &facts, &voices);
        match word(&asked) {
            "ask" => prop_assert_eq!(word(&unasked), "deny"),
            other => {
                for said in [ClassifierWord::Allow, ClassifierWord::Block, ClassifierWord::Unavailable] {
                    let expected = asked.after_classifier(said);
                    let expected = if expected == Decision::Ask { Decision::Deny } else { expected };
                    prop_assert_eq!(unasked.after_classifier(said), expected, "{}", other);
                }
            }
        }
    }
}
