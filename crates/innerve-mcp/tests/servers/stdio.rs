//! What a server offers arrives as it should.

use std::time::{Duration, Instant};

use innerve_mcp::ServerState;
use innerve_permission::PermissionMode;
use innerve_pipeline::{Answer, ApprovalRequest, Approver, Outcome};
use innerve_protocol::{ContentBlock, ToolResultContent};
use innerve_tool::{BoxFuture, CancellationToken};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::kit::{begin, entry, is_alive, script, with};

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_called_with_its_input_and_answers() {
    let Some(session) = with(&["good"]).await else { return };
    let status = session.status();
    assert_eq!((status.state, status.transport), (ServerState::Connected, "stdio"));
    assert_eq!(status.version.as_deref(), Some("test 1"));
    assert_eq!(status.instructions.as_deref(), Some("Be kind."));
    assert!(status.tools.contains(&"mcp__s__echo".to_owned()), "{status:?}");
    assert_eq!(session.said("echo", json!({ "message": "hällo" })).await, "hällo");
}

#[tokio::test(flavor = "multi_thread")]
async fn i1_a_tool_of_a_server_is_asked_about_like_any_other_whatever_its_hints_say() {
    let Some(mut session) = with(&["good"]).await else { return };
    session.policy.rules = innerve_permission::Ruleset::default();
    let refused = session.call("echo", json!({ "message": "x" })).await;
    assert!(matches!(refused.outcome, Outcome::Refused(_)), "{refused:?}");
    session.policy.mode = PermissionMode::Plan;
    let refused = session.call("echo", json!({ "message": "x" })).await;
    assert!(matches!(refused.outcome, Outcome::Refused(_)), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn starting_a_server_makes_nobody_wait_and_its_tools_join_later() {
    let Some(script) = script() else { return };
    let since = Instant::now();
    let session = begin(&[("s", entry(&script, &["slow"]))], |_| {});
    assert!(since.elapsed() < Duration::from_millis(500), "{:?}", since.elapsed());
    assert_eq!((session.servers.tools().len(), session.servers.generation()), (0, 0));
    assert_eq!(session.status().state, ServerState::Starting);
    session.wait_for(ServerState::Connected).await;
    assert!(session.servers.generation() > 0 && !session.servers.tools().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_shown_and_binaries_are_files() {
    let Some(session) = with(&["good"]).await else { return };
    let image = session.call("image", json!({})).await;
    let ToolResultContent::Blocks(blocks) = &image.result.content else { panic!("{image:?}") };
    assert!(matches!(blocks[..], [ContentBlock::Image(_)]), "{blocks:?}");
    let words = session.said("pdf", json!({})).await;
    let path = words.split(" saved in ").nth(1).unwrap().trim_end_matches(']');
    assert_eq!(std::fs::read(path).unwrap(), b"%PDF-1.7\x00\xff");
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_is_told_and_is_no_part_of_the_result() {
    let Some(session) = with(&["good"]).await else { return };
    assert_eq!(session.said("steps", json!({ "count": 3, "pause": 0.05 })).await, "done");
    let told = session.progress.0.lock().unwrap().clone();
    assert_eq!(told.len(), 3, "{told:?}");
    assert_eq!((&told[2]["progress"], &told[2]["server"]), (&json!(3.0), &json!("s")));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_a_tool_is_an_error_with_its_words() {
    let Some(session) = with(&["good"]).await else { return };
    let failed = session.call("fail", json!({})).await;
    assert!(failed.result.failed());
    assert_eq!(failed.result.content.plain_text(), "it went wrong");
    assert_eq!(failed.code.as_deref(), Some("tool:failed"));
    let unfit = session.call("echo", json!({ "message": 7 })).await;
    assert!(unfit.result.content.plain_text().contains("message"), "{unfit:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_ends_at_once_and_the_server_is_told() {
    let Some(mut session) = with(&["good"]).await else { return };
    let token = session.cancellation.clone();
    let since = Instant::now();
    let stop = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        token.cancel();
    };
    let (ended, ()) = tokio::join!(session.call("never", json!({})), stop);
    assert_eq!(ended.outcome, Outcome::Interrupted);
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
    session.cancellation = CancellationToken::new();
    assert_eq!(session.said("was_cancelled", json!({})).await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_out_of_order_is_understood() {
    let Some(session) = with(&["good"]).await else { return };
    let (one, two) = tokio::join!(
        session.said("second_first", json!({ "n": 1 })),
        session.said("second_first", json!({ "n": 2 })),
    );
    assert_eq!((one.as_str(), two.as_str()), ("one", "two"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_a_server_adds_joins_the_others() {
    let Some(session) = with(&["good"]).await else { return };
    let before = session.servers.generation();
    session.said("grow", json!({})).await;
    let deadline = Instant::now() + crate::kit::PATIENCE;
    while session.servers.generation() == before {
        assert!(Instant::now() < deadline);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(session.said("grown", json!({})).await, "here");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_tells_its_new_tools_slowly_is_waited_for() {
    let Some(session) = with(&["slow-lists"]).await else { return };
    session.said("grow", json!({})).await;
    // The notice is taken in beside the answer; a model takes longer than this to go on.
    tokio::time::sleep(Duration::from_millis(200)).await;
    session.servers.settled(crate::kit::PATIENCE).await;
    assert_eq!(session.said("grown", json!({})).await, "here");
}

#[tokio::test(flavor = "multi_thread")]
async fn roots_are_the_sessions_directories() {
    let Some(session) = with(&["good"]).await else { return };
    let told: Value = serde_json::from_str(&session.said("roots", json!({})).await).unwrap();
    let expected = format!("file://{}", session.folder.path().display());
    assert_eq!(told["roots"][0]["uri"], expected);
}

/// Answers every question with its first choice, or with a name.
struct Obliging;

impl Approver for Obliging {
    fn ask(&self, request: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        let mut edited = request.input;
        let question = edited["questions"][0]["question"].as_str().unwrap().to_owned();
        let answer = if question.contains("asks") { "Answer" } else { "Ada" };
        edited["answers"] = json!({ question: answer });
        Box::pin(async move { Answer::Allow { remember: None, edited: Some(edited) } })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_question_reaches_the_approver_and_the_answer_the_server() {
    let Some(script) = script() else { return };
    let session = begin(&[("s", entry(&script, &["good"]))], |options| {
        options.approver = Some(Arc::new(Obliging));
    });
    session.servers.settled(crate::kit::PATIENCE).await;
    let told: Value = serde_json::from_str(&session.said("ask", json!({})).await).unwrap();
    assert_eq!(told, json!({ "action": "accept", "content": { "name": "Ada" } }));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nobody_can_be_asked_a_servers_question_is_declined() {
    let Some(session) = with(&["good"]).await else { return };
    let told: Value = serde_json::from_str(&session.said("ask", json!({})).await).unwrap();
    assert_eq!(told["action"], "decline");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_in_pages_are_read_to_their_end() {
    let Some(session) = with(&["pages"]).await else { return };
    assert_eq!(session.status().tools.len(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_the_environment_stay_here() {
    let Some(script) = script() else { return };
    let mut entry = entry(&script, &["good"]);
    entry["env"] = json!({ "GIVEN_TOKEN": "x" });
    let session = begin(&[("s", entry)], |options| {
        options.environment.push(("ANTHROPIC_API_KEY".into(), "sk".into()));
    });
    session.servers.settled(crate::kit::PATIENCE).await;
    let names = session.said("environment", json!({})).await;
    assert!(!names.contains("ANTHROPIC_API_KEY"), "{names}");
    assert!(names.contains("GIVEN_TOKEN") && names.contains("PATH"), "{names}");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_the_servers_and_all_that_they_started() {
    let Some(session) = with(&["good"]).await else { return };
    let family = session.said("family", json!({})).await;
    assert!(family.split(' ').all(is_alive), "{family}");
    session.servers.close().await;
    assert!(!family.split(' ').any(is_alive), "{family}");
    assert_eq!(session.status().state, ServerState::Closed);
    assert!(session.servers.tools().is_empty());
}
