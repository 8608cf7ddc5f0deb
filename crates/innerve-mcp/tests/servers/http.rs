//! Servers at an address.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use innerve_mcp::ServerState;
use serde_json::json;

use crate::kit::{PATIENCE, begin, memory, script};

/// A test server at an address; ended with the value.
struct AtAddress {
    child: Child,
    port: String,
}

impl AtAddress {
    fn start(script: &Path, mode: &str, port: &str) -> Self {
        let mut child = Command::new("python3")
            .arg(script)
            .args([mode, "--http", port])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some(port) = line.strip_prefix("port ") {
                break port.to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for AtAddress {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_at_an_address_works_like_any_other() {
    let Some(script) = script() else { return };
    let server = AtAddress::start(&script, "good", "0");
    let session = begin(&[("s", json!({ "type": "http", "url": server.url() }))], |_| {});
    session.servers.settled(PATIENCE).await;
    assert_eq!(
        (session.status().state, session.status().transport),
        (ServerState::Connected, "http")
    );
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
    assert!(session.call("fail", json!({})).await.result.failed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_the_server_has_forgotten_is_begun_again() {
    let Some(script) = script() else { return };
    let server = AtAddress::start(&script, "good", "0");
    let session = begin(&[("s", json!({ "url": server.url() }))], |_| {});
    session.servers.settled(PATIENCE).await;
    let port = server.port.clone();
    drop(server);
    let _again = AtAddress::start(&script, "good", &port);
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_shut_is_told_with_its_mend_and_opened_by_a_header() {
    let Some(script) = script() else { return };
    let server = AtAddress::start(&script, "shut", "0");
    let session = begin(&[("s", json!({ "url": server.url() }))], |_| {});
    session.wait_for(ServerState::Failed).await;
    assert!(session.problem().contains("`Authorization`"), "{}", session.problem());
    let headers = json!({ "Authorization": "Bearer open" });
    let session = begin(&[("s", json!({ "url": server.url(), "headers": headers }))], |_| {});
    session.servers.settled(PATIENCE).await;
    assert_eq!(session.status().state, ServerState::Connected, "{:?}", session.status());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_where_nobody_answers_is_tried_again() {
    let session = begin(&[("s", json!({ "url": "http://127.0.0.1:1/mcp" }))], |_| {});
    session.wait_for(ServerState::Reconnecting).await;
    assert!(session.problem().contains("`url`"), "{}", session.problem());
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_an_answer_without_end_does_not_grow_memory() {
    let Some(script) = script() else { return };
    let server = AtAddress::start(&script, "flood-http", "0");
    let before = memory();
    let session = begin(&[("s", json!({ "url": server.url() }))], |_| {});
    session.wait_for(ServerState::Reconnecting).await;
    let grown = memory().saturating_sub(before);
    assert!(grown < 150, "{grown} MiB more");
}
