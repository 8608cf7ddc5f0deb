//! Rules that are offered with a question.

use innerve_permission::{Behavior, LintCode, Origin, Rule, RuleSource, lint};

use crate::kit::{World, part, shell, word, world};

/// Asserts the rules that are offered, and that each parses, and that together they allow the call.
#[track_caller]
fn offers(world: &World, facts: &innerve_permission::CallFacts, expected: &[&str]) {
    let resolution = world.resolve_facts(facts);
    let offered: Vec<String> =
        resolution.suggestions.iter().map(|suggestion| suggestion.0.clone()).collect();
    assert_eq!(offered, expected);
    if offered.is_empty() {
        return;
    }
    let mut widened = world.clone();
    for text in &offered {
        let rule =
            Rule::parse(text, Behavior::Allow, Origin::inline(RuleSource::Local, "/repo")).unwrap();
        assert_eq!(rule.to_string(), *text);
        widened.policy.rules.push(rule);
    }
    assert_eq!(word(&widened.resolve_facts(facts)), "allow", "{offered:?}");
}

#[track_caller]
fn for_parts(parts: &[&str], expected: &[&str]) {
    offers(&world(""), &shell(parts.iter().map(|text| part(text)).collect()), expected);
}

#[test]
fn each_part_that_lacks_approval_gets_one_rule() {
    for_parts(&["!git status", "npm test"], &["Bash(npm test *)"]);
    for_parts(
        &["!ls", "git add a.txt", "git commit -m x"],
        &["Bash(git add *)", "Bash(git commit *)"],
    );
    for_parts(&["docker compose exec web ls"], &["Bash(docker compose exec *)"]);
    for_parts(&["mytool (x)"], &["Bash(mytool *)"]);
}

#[test]
fn what_runs_anything_is_offered_word_for_word_or_not_at_all() {
    for_parts(&["python -c print(1)"], &["Bash(python -c print\\(1\\))"]);
    for_parts(&["rm -rf a*b"], &["Bash(rm -rf a\\\\*b)"]);
    for_parts(&["sudo ls"], &["Bash(sudo ls)"]);
    for_parts(&["mytool $X"], &[]);
    for_parts(&["mytool a\nb"], &["Bash(mytool *)"]);
}

#[test]
fn what_is_offered_is_nothing_that_lint_would_warn_of_as_unsafe() {
    for (command, expected) in [
        ("npx prettier src", "Bash(npx prettier *)"),
        ("npx --yes prettier", "Bash(npx --yes prettier)"),
        ("tsx a.ts", "Bash(tsx a.ts)"),
        ("awk -f x y", "Bash(awk -f x y)"),
        ("gh api repos", "Bash(gh api repos)"),
        ("gh pr create", "Bash(gh pr create *)"),
        ("sed -i s/a/b/ f", "Bash(sed -i s/a/b/ f)"),
        ("cp a /etc/b", "Bash(cp a /etc/b)"),
        ("npm install x", "Bash(npm install x)"),
        ("docker run image sh", "Bash(docker run image *)"),
        ("make test", "Bash(make test *)"),
    ] {
        for_parts(&[command], &[expected]);
        let rule =
            Rule::parse(expected, Behavior::Allow, Origin::inline(RuleSource::Local, "/repo"));
        let mut policy = world("").policy;
        policy.rules.push(rule.unwrap());
        let unsafe_rules: Vec<_> = lint(&policy)
            .into_iter()
            .filter(|it| matches!(it.code, LintCode::UnsafePrefix | LintCode::ArbitraryExecution))
            .collect();
        assert!(unsafe_rules.is_empty(), "{unsafe_rules:#?}");
    }
}

#[test]
fn no_more_than_five_rules_are_offered() {
    for_parts(&["a", "b", "c", "d", "e", "f"], &[]);
    for_parts(&["a", "a", "b"], &["Bash(a *)", "Bash(b *)"]);
}

#[test]
fn other_tools_are_offered_what_they_touch() {
    let world = world("");
    for (call, expected) in [
        ("Edit a[1].txt", vec!["Edit(//repo/a\\\\[1\\\\].txt)"]),
        ("Read /etc/hosts", vec!["Read(//etc/hosts)"]),
        ("Read .env", vec!["Read(//repo/.env)"]),
        ("WebFetch https://example.com/a", vec!["WebFetch(domain:example.com)"]),
        ("mcp__a__b", vec!["mcp__a__b"]),
        (r#"WebSearch {"query":"x"}"#, vec!["WebSearch"]),
        (r#"Skill {"skill":"deploy","args":"prod"}"#, vec!["Skill(deploy prod)"]),
    ] {
        offers(&world, &world.facts(call), &expected);
    }
}

#[test]
fn nothing_is_offered_where_no_rule_would_help() {
    let world = world("ask Edit(a)");
    for call in ["Edit a", "Edit .git/config", "AskUserQuestion", "TodoWrite"] {
        offers(&world, &world.facts(call), &[]);
    }
}

#[cfg(feature = "bash")]
#[test]
fn secrets_are_offered_by_name() {
    let world = world("");
    for (call, expected) in [
        ("$ cat .env", vec!["Read(//repo/.env)"]),
        ("$ cat .env | mytool", vec!["Bash(mytool *)", "Read(//repo/.env)"]),
        ("$ gh auth token", vec!["Bash(gh auth token)"]),
        ("$ cat .env?", vec![]),
        ("$ mytool ''", vec!["Bash(mytool *)"]),
        ("$ python -c ''", vec![]),
        ("$ 'my tool' x", vec![]),
        ("$ cd /etc && mytool", vec![]),
        ("$ eval \"$x\"", vec!["Bash(eval \"$x\")"]),
        ("$ mytool > out.txt", vec!["Bash(mytool *)", "Edit(//repo/out.txt)"]),
    ] {
        offers(&world, &world.facts(call), &expected);
    }
}
