//! Servers that hang, die, flood, lie: each is told with its mend, and nothing else suffers.

use std::time::{Duration, Instant};

use innerve_mcp::ServerState;
use serde_json::json;

use crate::kit::{PATIENCE, Session, begin, entry, is_alive, memory, script, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_not_there_is_told_with_its_mend() {
    let session = begin(&[("s", json!({ "command": "no-such-program-here" }))], |_| {});
    session.wait_for(ServerState::Failed).await;
    assert!(session.problem().contains("install `no-such-program-here`"), "{}", session.problem());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_is_told_with_its_last_words() {
    let Some(session) = with(&["crash"]).await else { return };
    assert_eq!(session.status().state, ServerState::Failed);
    let problem = session.problem();
    assert!(problem.contains("code 7") && problem.contains("the key is missing"), "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_says_nothing_is_given_up_after_its_time() {
    let Some(script) = script() else { return };
    let mut entry = entry(&script, &["silent"]);
    entry["startupTimeout"] = json!(500);
    let session = begin(&[("s", entry)], |_| {});
    session.wait_for(ServerState::Failed).await;
    assert!(session.problem().contains("did not answer within 500ms"), "{}", session.problem());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_no_server_is_told_soon() {
    let since = Instant::now();
    let Some(session) = with(&["garbage"]).await else { return };
    assert!(since.elapsed() < Duration::from_secs(10), "{:?}", since.elapsed());
    assert!(session.problem().contains("Hello, I am no MCP server."), "{}", session.problem());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greeting_before_the_first_message_is_forgiven() {
    let Some(session) = with(&["banner"]).await else { return };
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_line_that_never_ends_does_not_grow_memory() {
    let before = memory();
    let Some(session) = with(&["flood-at-once"]).await else { return };
    assert_eq!(session.status().state, ServerState::Failed);
    assert!(session.problem().contains("16 MiB"), "{}", session.problem());
    let Some(session) = with(&["good"]).await else { return };
    let lost = session.call("flood", json!({})).await;
    assert_eq!(lost.code.as_deref(), Some("mcp:connection_lost"), "{lost:?}");
    let grown = memory().saturating_sub(before);
    assert!(grown < 100, "{grown} MiB more");
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_flood_of_notices_and_of_errors_is_drained() {
    let before = memory();
    let Some(session) = with(&["noisy"]).await else { return };
    assert_eq!(session.said("spam", json!({})).await, "spammed");
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
    let grown = memory().saturating_sub(before);
    assert!(grown < 100, "{grown} MiB more");
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_an_answer_that_is_too_deep_is_an_error_of_its_call_alone() {
    let Some(session) = with(&["good"]).await else { return };
    let deep = session.call("deep", json!({})).await;
    let words = deep.result.content.plain_text();
    assert!(deep.result.failed() && words.contains("cannot be read"), "{words}");
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_an_endless_list_of_tools_is_cut() {
    let Some(session) = with(&["endless"]).await else { return };
    let status = session.status();
    assert_eq!(status.tools.len(), 1_000);
    assert!(
        status.left_out.iter().any(|out| out.problem.contains("1000 in 100 pages")),
        "{:?}",
        status.left_out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_result_is_saved_and_shown_in_part() {
    let Some(session) = with(&["good"]).await else { return };
    let settled = session.call("large", json!({ "size": 99_000 })).await;
    assert_eq!(Session::text(&settled).len(), 99_000);
    let settled = session.call("large", json!({ "size": 200_000 })).await;
    assert!(!settled.result.failed());
    assert!(settled.result.content.plain_text().len() < 20_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_never_answered_ends_after_its_time_and_others_are_not_disturbed() {
    let Some(script) = script() else { return };
    let mut entry = entry(&script, &["good"]);
    entry["timeout"] = json!(700);
    let session = begin(&[("s", entry)], |_| {});
    session.servers.settled(PATIENCE).await;
    let since = Instant::now();
    let (never, ()) = tokio::join!(session.call("never", json!({})), async {
        for _ in 0..3 {
            assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert_eq!(never.code.as_deref(), Some("tool:timed_out"), "{never:?}");
    assert!((600..3_000).contains(&since.elapsed().as_millis()), "{:?}", since.elapsed());
    // Progress does not lengthen the time that a server was given in all.
    let steps = session.call("steps", json!({ "count": 100, "pause": 0.1 })).await;
    assert_eq!(steps.code.as_deref(), Some("tool:timed_out"), "{steps:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_kills_its_server_says_that_it_may_have_had_effects_and_the_server_comes_back()
{
    let Some(session) = with(&["good"]).await else { return };
    let died = session.call("die", json!({})).await;
    let words = died.result.content.plain_text();
    assert!(died.result.failed() && words.contains("may have had effects"), "{words}");
    session.wait_for(ServerState::Reconnecting).await;
    assert!(session.problem().contains("code 3"), "{}", session.problem());
    // The next call waits for the server to come back.
    assert_eq!(session.said("echo", json!({ "message": "again" })).await, "again");
    assert_eq!(session.status().state, ServerState::Connected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_lost_between_calls_is_made_again() {
    let Some(script) = script() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark").display().to_string();
    let session = begin(&[("s", entry(&script, &["once", &mark]))], |_| {});
    session.wait_for(ServerState::Reconnecting).await;
    session.wait_for(ServerState::Connected).await;
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_described_badly_are_left_out_visibly_and_the_others_stay() {
    let Some(session) = with(&["bad-schemas"]).await else { return };
    let status = session.status();
    assert!(status.tools.contains(&"mcp__s__echo".to_owned()));
    assert!(status.tools.contains(&"mcp__s__no_schema".to_owned()), "{status:?}");
    let out: Vec<&str> = status.left_out.iter().map(|out| out.name.as_str()).collect();
    assert_eq!(
        out,
        ["(no name)", "(no name)", "text_schema", "remote", "echo"],
        "{:?}",
        status.left_out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_server_does_not_hold_up_another() {
    let Some(script) = script() else { return };
    let session =
        begin(&[("s", entry(&script, &["good"])), ("silent", entry(&script, &["silent"]))], |_| {});
    session.wait_for(ServerState::Connected).await;
    assert_eq!(session.said("echo", json!({ "message": "x" })).await, "x");
    assert_eq!(session.servers.statuses()[1].state, ServerState::Starting);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_want_to_end_is_forced_to_and_so_is_its_child() {
    let Some(session) = with(&["stubborn"]).await else { return };
    let family = session.said("family", json!({})).await;
    let since = Instant::now();
    session.servers.close().await;
    assert!(since.elapsed() < Duration::from_secs(6), "{:?}", since.elapsed());
    assert!(!family.split(' ').any(is_alive), "{family}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_dropped_are_ended() {
    let Some(session) = with(&["stubborn"]).await else { return };
    let family = session.said("family", json!({})).await;
    drop(session);
    let deadline = Instant::now() + PATIENCE;
    while family.split(' ').any(is_alive) {
        assert!(Instant::now() < deadline, "{family}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
