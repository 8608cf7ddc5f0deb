//! Which hosts are reached, by tables.

use super::*;
use crate::{Layer, Origin, Rule, merge};
use serde_json::{Value, json};

/// The policy of user settings.
fn policy(network: &Value) -> NetworkPolicy {
    merge(&[layer(RuleSource::User, network)]).unwrap().network
}

fn layer(source: RuleSource, network: &Value) -> Layer {
    Layer::new(source, "/repo", json!({ "sandbox": { "network": network } }))
}

fn rules(list: &[(Behavior, &str)]) -> Ruleset {
    let mut rules = Ruleset::default();
    for (behavior, text) in list {
        let origin = Origin { source: RuleSource::User, root: "/".into(), file: None, line: None };
        rules.push(Rule::parse(text, *behavior, origin).unwrap());
    }
    rules
}

#[test]
fn hosts_have_one_form() {
    for (text, canonical) in [
        ("example.com", Some("example.com")),
        ("EXAMPLE.com.", Some("example.com")),
        ("a_b-c.x", Some("a_b-c.x")),
        ("localhost", Some("localhost")),
        ("127.0.0.1", Some("127.0.0.1")),
        ("127.0.0.1.", Some("127.0.0.1")),
        ("::1", Some("[::1]")),
        ("[::1]", Some("[::1]")),
        ("[0:0::0:1]", Some("[::1]")),
        ("::ffff:10.0.0.1", Some("10.0.0.1")),
        ("[::ffff:7f00:1]", Some("127.0.0.1")),
        ("1.example", Some("1.example")),
        ("0x7f.example", Some("0x7f.example")),
        ("", None),
        (".", None),
        ("a..b", None),
        ("example.com..", None),
        (".example.com", None),
        ("127.1", None),
        ("127.0.0.01", None),
        ("0x7f.1", None),
        ("0X7F000001", None),
        ("0x", None),
        ("2130706433", None),
        ("017700000001", None),
        ("1.2.3.4.5", None),
        ("example.1", None),
        ("a b", None),
        ("a\0.example.com", None),
        ("evil.com%00.example.com", None),
        ("evil.com%2eexample.com", None),
        ("evil.com/example.com", None),
        ("evil.com#example.com", None),
        ("evil.com\\example.com", None),
        ("user@example.com", None),
        ("example.com:443", None),
        ("ｅxample.com", None),
        ("exämple.com", None),
        ("[::1", None),
        ("::1]", None),
        ("[::1%lo]", None),
        ("fe80::1%eth0", None),
        ("[127.0.0.1]", None),
        ("*.example.com", None),
        ("example.com\n", None),
    ] {
        let host = Host::parse(text).map(|host| host.to_string());
        assert_eq!(host.as_deref(), canonical, "{text:?}");
    }
    assert!(Host::parse(&"a.".repeat(126)).is_some());
    assert!(Host::parse(&"a.".repeat(128)).is_none());
    assert!(Host::parse(&"a".repeat(64)).is_none());
}

#[test]
fn an_entry_allows_the_hosts_it_names() {
    use Specificity::{Address, Any, Name, Pattern};
    for (entry, host, port, how) in [
        ("example.com", "example.com", 443, Some(Name)),
        ("Example.com.", "EXAMPLE.COM.", 80, Some(Name)),
        ("example.com", "www.example.com", 443, None),
        ("example.com", "example.com.evil.net", 443, None),
        ("example.com", "notexample.com", 443, None),
        ("*.example.com", "a.b.example.com", 443, Some(Pattern)),
        ("*.example.com", "example.com", 443, None),
        ("*.example.com", "evilexample.com", 443, None),
        ("api-*.example.com", "api-1.example.com", 443, Some(Pattern)),
        ("api-*.example.com", "api-1.evil.example.com", 443, None),
        ("example.*", "example.evil.com", 443, None),
        ("*", "anything.example", 1, Some(Any)),
        ("*", "10.0.0.1", 1, Some(Any)),
        ("*:443", "anything.example", 443, Some(Any)),
        ("*:443", "anything.example", 80, None),
        ("example.com:443", "example.com", 443, Some(Name)),
        ("example.com:443", "example.com", 80, None),
        ("*.example.com:8443", "a.example.com", 8443, Some(Pattern)),
        ("127.0.0.1:8080", "127.0.0.1", 8080, Some(Address)),
        ("127.0.0.1", "127.0.0.1.", 1, Some(Address)),
        ("127.0.0.1", "::ffff:127.0.0.1", 1, Some(Address)),
        ("127.0.0.1", "localhost", 1, None),
        ("localhost", "127.0.0.1", 1, None),
        ("[::1]:8080", "[::1]", 8080, Some(Address)),
        ("[::1]:8080", "[::1]", 8081, None),
        ("[::1]", "::1", 9, Some(Address)),
        ("::1", "::1", 9, Some(Address)),
        ("*.0.0.x", "127.0.0.1", 9, None),
    ] {
        let policy = policy(&json!({ "allowedDomains": [entry] }));
        let judged = policy.judge(host, port).ok().map(|allowed| allowed.specificity);
        assert_eq!(judged, how, "{entry} {host}:{port}");
    }
}

#[test]
fn the_closest_entry_says_how_a_host_is_named() {
    let policy = policy(&json!({ "allowedDomains": ["*", "*.example.com", "a.example.com:80"] }));
    let how = |host, port| policy.judge(host, port).unwrap().specificity;
    assert_eq!(how("a.example.com", 80), Specificity::Name);
    assert_eq!(how("a.example.com", 81), Specificity::Pattern);
    assert_eq!(how("b.example.org", 80), Specificity::Any);
}

#[test]
fn denied_beats_allowed_and_addresses_are_looked_at_too() {
    let policy = policy(&json!({
        "allowedDomains": ["*", "bad.example.com", "10.0.0.5"],
        "deniedDomains": ["*.example.com", "10.0.0.5", "x.example.net:22"],
    }));
    let refused = policy.judge("BAD.example.com.", 443).unwrap_err();
    assert!(refused.to_string().contains("`*.example.com` of sandbox.network.deniedDomains"));
    assert!(policy.judge("10.0.0.5", 1).is_err() && policy.judge("example.com", 1).is_ok());
    assert!(policy.judge("x.example.net", 22).is_err());
    assert!(policy.judge("x.example.net", 443).is_ok());
    assert!(policy.denies_address("10.0.0.5".parse().unwrap(), 1).is_some());
    assert!(policy.denies_address("::ffff:10.0.0.5".parse().unwrap(), 1).is_some());
    assert!(policy.denies_address("10.0.0.6".parse().unwrap(), 1).is_none());
}

#[test]
fn a_broken_entry_loosens_nothing() {
    for broken in [
        json!("https://example.com"),
        json!("example.com/path"),
        json!("user@example.com"),
        json!("example.com:"),
        json!("example.com:0"),
        json!("example.com:+80"),
        json!("example.com:65536"),
        json!("a b"),
        json!(""),
        json!("127.1"),
        json!("0x7f.1"),
        json!("*.1"),
        json!("[::1"),
        json!("[::1]x"),
        json!("[::1%lo]:80"),
        json!("*.*..com"),
        json!("exämple.com"),
        json!(7),
        json!(null),
    ] {
        let settings = json!({ "allowedDomains": [broken, "ok.example"] });
        let merged = merge(&[layer(RuleSource::User, &settings)]).unwrap();
        assert_eq!(merged.warnings.len(), 1, "{broken} is told");
        assert!(merged.network.judge("ok.example", 1).is_ok(), "{broken} is left out");
        assert_eq!(merged.network.allowed().collect::<Vec<_>>(), ["ok.example"]);

        let settings = json!({ "allowedDomains": ["ok.example"], "deniedDomains": [broken] });
        let merged = merge(&[layer(RuleSource::User, &settings)]).unwrap();
        assert_eq!(merged.warnings.len(), 1, "{broken} is told");
        assert!(merged.network.is_closed(), "{broken} denies everything");
        let refused = merged.network.judge("ok.example", 1).unwrap_err();
        assert!(refused.to_string().contains("sandbox.network.deniedDomains"), "{refused}");
    }
    assert!(policy(&json!({ "allowedDomains": "ok.example" })).is_closed());
    let lists = json!({ "allowedDomains": ["ok.example"], "deniedDomains": "bad.example" });
    assert!(policy(&lists).is_closed());
    assert!(NetworkPolicy::default().is_closed());
}

#[test]
fn a_project_that_is_not_trusted_denies_hosts_and_allows_none() {
    let lists = json!({ "allowedDomains": ["a.example"], "deniedDomains": ["b.example"] });
    let mut project = layer(RuleSource::Project, &lists);
    project.trusted = false;
    let user = layer(RuleSource::User, &json!({ "allowedDomains": ["*"] }));
    let merged = merge(&[project.clone(), user]).unwrap();
    assert!(merged.network.judge("b.example", 1).is_err());
    assert_eq!(merged.network.allowed().collect::<Vec<_>>(), ["*"]);
    assert!(merged.warnings.iter().any(|warning| warning.reason.contains("innerve trust")));
    project.trusted = true;
    assert!(merge(&[project]).unwrap().network.judge("a.example", 1).is_ok());
}

#[test]
fn managed_settings_may_keep_the_list_to_themselves() {
    for only in [json!(true), json!("yes"), json!(1)] {
        let managed = layer(
            RuleSource::Policy,
            &json!({ "allowManagedDomainsOnly": only, "allowedDomains": ["m.example"] }),
        );
        let user = layer(
            RuleSource::User,
            &json!({ "allowedDomains": ["u.example"], "deniedDomains": ["x.m.example"] }),
        );
        let merged = merge(&[managed, user]).unwrap().network;
        let rules = rules(&[(Behavior::Allow, "WebFetch(domain:w.example)")]);
        let merged = merged.with_rules(&rules);
        assert_eq!(merged.allowed().collect::<Vec<_>>(), ["m.example"], "{only}");
        assert!(merged.judge("x.m.example", 1).is_err());
    }
    let user = json!({ "allowManagedDomainsOnly": true, "allowedDomains": ["u.example"] });
    assert!(policy(&user).judge("u.example", 1).is_ok(), "a user's file cannot say it");
}

#[test]
fn rules_about_domains_are_entries_and_rules_about_the_tool_are_not() {
    let closed = NetworkPolicy::default();
    for (rule, reached) in [
        ("WebFetch(domain:a.example)", true),
        ("Fetch(domain:a.example)", true),
        ("WebFetch(domain:*)", true),
        ("WebFetch", false),
        ("WebFetch(*)", false),
        ("WebSearch", false),
    ] {
        let policy = closed.clone().with_rules(&rules(&[(Behavior::Allow, rule)]));
        assert_eq!(policy.judge("a.example", 443).is_ok(), reached, "{rule}");
        let policy = closed.clone().with_rules(&rules(&[(Behavior::Ask, rule)]));
        assert!(policy.is_closed(), "{rule}");
    }
    let open = policy(&json!({ "allowedDomains": ["*"] }));
    for (rule, denied) in [
        ("WebFetch(domain:a.example)", true),
        ("WebFetch(domain:*.example)", true),
        ("WebFetch(domain:*)", true),
        ("WebFetch(domain:127.1)", true),
        ("WebFetch", false),
    ] {
        let policy = open.clone().with_rules(&rules(&[(Behavior::Deny, rule)]));
        assert_eq!(policy.judge("a.example", 443).is_err(), denied, "{rule}");
    }
}
