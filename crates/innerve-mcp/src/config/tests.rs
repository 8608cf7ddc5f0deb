//! Servers as people write them down, right and wrong.

#![expect(clippy::needless_pass_by_value, reason = "values are written in place")]

use serde_json::json;

use super::*;

fn parse(entry: Value) -> Result<ServerConfig, ConfigError> {
    ServerConfig::parse("s", &entry, &|name| (name == "TOKEN").then(|| "t0".to_owned()))
}

#[track_caller]
fn refused(entry: Value, words: &str) {
    let error = parse(entry.clone()).unwrap_err();
    assert!(error.to_string().contains(words), "{entry}: {error}");
    assert!(error.code().starts_with("mcp:config_"));
}

#[test]
fn a_program_and_an_address_are_told_apart() {
    let stdio =
        parse(json!({"command": "npx", "args": ["-y", "x"], "env": {"A": "1", "N": 2}})).unwrap();
    let env = [("A", "1"), ("N", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(
        stdio.transport,
        Transport::Stdio {
            command: "npx".to_owned(),
            args: vec!["-y".to_owned(), "x".to_owned()],
            env: env.into(),
        }
    );
    assert_eq!((stdio.kind(), stdio.call_timeout, stdio.startup_timeout), ("stdio", CALL, STARTUP));
    for kind in [json!(null), json!("http"), json!("streamable-http")] {
        let http = parse(
            json!({"type": kind, "url": "https://h/mcp", "timeout": 5000, "alwaysLoad": true}),
        )
        .unwrap();
        assert_eq!((http.kind(), http.call_timeout.as_secs(), http.always_load), ("http", 5, true));
    }
}

#[test]
fn variables_are_filled_in_and_missing_ones_are_named() {
    let config = parse(json!({
        "url": "https://${HOST:-localhost}/${TOKEN}",
        "headers": {"Authorization": "Bearer ${TOKEN}", "X": "$5 ${open"},
    }));
    let headers = [("Authorization", "Bearer t0"), ("X", "$5 ${open")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(
        config.unwrap().transport,
        Transport::Http { url: "https://localhost/t0".to_owned(), headers: headers.into() }
    );
    refused(json!({"command": "x", "env": {"A": "${ABSENT}"}}), "ABSENT");
}

#[test]
fn what_cannot_be_used_is_told_by_its_field() {
    refused(json!([]), "command");
    refused(json!({}), "`command`");
    refused(json!({"command": " "}), "`command`");
    refused(json!({"command": "x", "args": "y"}), "`args`");
    refused(json!({"command": "x", "args": [1]}), "`args`");
    refused(json!({"command": "x", "env": {"A": []}}), "`env`");
    refused(json!({"url": "ftp://x"}), "http://");
    refused(json!({"type": "sse", "url": "http://x"}), "`sse`");
    refused(json!({"command": "x", "timeout": 0}), "`timeout`");
    refused(json!({"command": "x", "alwaysLoad": "yes"}), "`alwaysLoad`");
    for name in ["", "--", &"x".repeat(65)] {
        let error = ServerConfig::parse(name, &json!({"command": "x"}), &|_| None).unwrap_err();
        assert_eq!(error, ConfigError::Name);
    }
}

#[test]
fn what_prints_a_configuration_prints_no_keys() {
    let config = parse(json!({"command": "x", "env": {"A": "${TOKEN}"}})).unwrap();
    assert!(!format!("{config:?}").contains("t0"));
}
