//! Parsing of rules: grammar, errors with their way out, remarks, round trips.

use innerve_permission::{Behavior, Origin, Rule, RuleSource, Ruleset};
use proptest::prelude::*;

use crate::kit::{behavior_named, rule, world};

fn parse(text: &str, behavior: Behavior) -> Result<Rule, String> {
    Rule::parse(text, behavior, Origin::inline(RuleSource::Project, "/repo"))
        .map_err(|error| error.to_string())
}

/// Asserts that a rule is refused in the named lists, with a text that says what to do.
#[track_caller]
fn refused(behaviors: &str, text: &str, way_out: &str) {
    for behavior in behaviors.split(' ').map(behavior_named) {
        let error = parse(text, behavior).expect_err(text);
        assert!(error.contains(way_out), "{text}: {error}");
        assert!(error.starts_with(&format!("rule `{text}` ")), "{error}");
    }
}

#[track_caller]
fn kept(behaviors: &str, text: &str, remark: Option<&str>) {
    for behavior in behaviors.split(' ').map(behavior_named) {
        let rule = parse(text, behavior).unwrap_or_else(|error| panic!("{error}"));
        match remark {
            Some(remark) => assert!(
                rule.remark().unwrap_or_default().contains(remark),
                "{text}: {:?}",
                rule.remark()
            ),
            None => assert_eq!(rule.remark(), None, "{text}"),
        }
    }
}

const ALL: &str = "allow ask deny";

#[test]
fn what_is_no_rule_is_refused_with_a_way_out() {
    refused(ALL, "Bash()", "write `Bash`");
    refused(ALL, "Edit( )", "write `Edit`");
    refused(ALL, "Bash(:*)", "write `Bash`");
    refused(ALL, "WebFetch(x", "write `WebFetch(…)`");
    refused(ALL, "Bash(x\\)", "write `Bash(…)`");
    refused(ALL, "Bash(a)) b)", "balance");
    refused(ALL, "Read[x]", "write `Tool(specifier)`");
    refused(ALL, "Bash foo", "write `Bash(foo)`");
    refused(ALL, "(x)", "names no tool");
    refused(ALL, "", "names no tool");
    refused(ALL, "WebFetch(https://example.com)", "domain:");
    refused(ALL, "WebFetch(domain:)", "domain:example.com");
    refused(ALL, "WebFetch(domain:example.com/a)", "domain:example.com");
    refused(ALL, "Read(!x)", "not supported");
    refused(ALL, "Read(.env.!(example))", "one rule for each case");
    refused(ALL, "Read(../x)", "`//`");
    refused(ALL, "Read(~other/x)", "`//`");
    refused(ALL, "Read(a[)", "escape");
    refused(ALL, "WebSearch(x)", "write `WebSearch`");
    refused(ALL, "mcp__s__t(x:1)", "write `mcp__s__t`");
    refused(ALL, "mcp__", "mcp__server");
}

#[test]
fn an_allow_names_its_tool_or_its_server() {
    refused("allow", "*", "mcp__server__*");
    refused("allow", "mcp__*", "mcp__server__*");
    refused("allow", "B*", "names its tool");
    refused("allow", "mcp__s*__x", "names its tool");
    kept("ask deny", "*", None);
    kept("ask deny", "mcp__*", None);
    kept("ask deny", "*Edit", None);
    kept("ask deny", "mcp__s*__x", None);
    kept(ALL, "mcp__srv__*", None);
    kept(ALL, "mcp__srv__get_*", None);
    kept(ALL, "mcp__srv", None);
}

#[test]
fn odd_rules_are_kept_and_told() {
    kept("deny", "Stop Task", Some("no known tool"));
    kept(ALL, "Bsh(rm *)", Some("unknown tool `Bsh`"));
}

#[test]
fn names_that_look_like_members_of_objects_are_names() {
    kept("allow", "toString", Some("no known tool"));
    kept("deny", "my_tool", None);
    kept("deny", "constructor", Some("no known tool"));
}

#[test]
fn rules_that_are_never_consulted_say_which_would_be() {
    kept("allow", "Write(docs/**)", Some("Edit(docs/**)"));
    kept("allow", "Glob(docs/**)", Some("Read(docs/**)"));
    kept("ask deny", "Write(docs/**)", Some("counts as `Edit(docs/**)`"));
    kept("ask deny", "Bash(command:rm *)", Some("never consulted"));
    kept(ALL, "Bash(git:* push)", Some("literal text"));
    kept(ALL, "Fetch(domain:example.com)", Some("WebFetch"));
}

#[test]
fn escapes_and_balanced_parentheses_are_understood() {
    for text in ["Bash(a \\(b\\))", "Bash(a (b))"] {
        world(&format!("deny {text}")).check("$ x", "ask");
        let rule = rule(&format!("deny {text}"));
        assert_eq!(rule.to_string(), text);
    }
}

#[test]
fn aliases_are_the_tools_they_were_renamed_to() {
    assert_eq!(rule("deny Task(Explore)").tool(), "Agent");
    assert_eq!(rule("deny Fetch").tool(), "WebFetch");
}

#[test]
fn a_star_alone_is_the_whole_tool() {
    for text in ["Bash", "Bash(*)", "WebFetch(domain:*)"] {
        assert!(rule(&format!("deny {text}")).is_blanket(), "{text}");
    }
    assert!(!rule("deny Bash(ls *)").is_blanket());
}

#[test]
fn a_blanket_deny_takes_the_tool_from_the_pool() {
    let rules: Ruleset = ["deny Bash", "deny mcp__github", "ask Edit", "deny Read(x)"]
        .map(rule)
        .into_iter()
        .collect();
    for (tool, removed) in [
        ("Bash", true),
        ("Grep", false),
        ("Edit", false),
        ("Read", false),
        ("mcp__github__get_issue", true),
        ("mcp__github2__x", false),
    ] {
        assert_eq!(rules.removes_tool(tool), removed, "{tool}");
    }
    let rules: Ruleset = ["deny mcp__*"].map(rule).into_iter().collect();
    assert!(rules.removes_tool("mcp__a__b") && !rules.removes_tool("Bash"));
    let rules: Ruleset = ["deny *"].map(rule).into_iter().collect();
    assert!(rules.removes_tool("Bash") && rules.removes_tool("mcp__a__b"));
}

#[test]
fn a_rule_that_never_wins_is_told() {
    let rules: Ruleset = ["deny Bash", "allow Bash(npm test)", "ask Read(x)", "deny Read(x)"]
        .map(rule)
        .into_iter()
        .collect();
    let shadowed: Vec<String> = rules.warnings().into_iter().map(|warning| warning.rule).collect();
    assert_eq!(shadowed, ["Bash(npm test)", "Read(x)"]);
}

#[test]
fn error_codes_are_stable() {
    let error =
        Rule::parse("Bash(", Behavior::Deny, Origin::inline(RuleSource::Cli, "/")).unwrap_err();
    assert_eq!(error.code(), "rule_malformed");
}

proptest! {
    #[test]
    fn any_text_parses_or_is_refused_and_what_parses_prints_itself(text in "\\PC{0,40}") {
        for behavior in [Behavior::Allow, Behavior::Ask, Behavior::Deny] {
            if let Ok(rule) = parse(&text, behavior) {
                prop_assert_eq!(parse(&rule.to_string(), behavior).unwrap(), rule);
            }
        }
    }

    #[test]
    fn rule_like_texts_print_themselves(
        tool in "(Bash|Read|Edit|Write|WebFetch|Agent|Task|mcp__s__t|B\\*)",
        spec in "[a-z*:./~ \\\\()\\[\\]{}!|&'\"-]{0,20}",
    ) {
        for behavior in [Behavior::Allow, Behavior::Ask, Behavior::Deny] {
            if let Ok(rule) = parse(&format!("{tool}({spec})"), behavior) {
                prop_assert_eq!(parse(&rule.to_string(), behavior).unwrap(), rule);
            }
        }
    }
}
