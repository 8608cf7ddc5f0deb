//! Steps 11, 13 and 14: results that fit, changes that count, codes that may leave.

use std::path::PathBuf;
use std::sync::Arc;

use innerve_budget::{MemoryStore, ResultStore, StoreError, StoredContent};
use innerve_permission::PermissionMode;
use innerve_pipeline::{Step, is_no_looser};
use innerve_protocol::{Message, ToolUseId};
use innerve_tool::{ResultLimit, SessionChange, ToolError, ToolOutput};
use serde_json::json;

use crate::kit::{Bench, Person, Probe, changing, messages, policy, text};

fn saying(words: usize) -> Probe {
    Probe::doing(move |_| async move { Ok(ToolOutput::new("w".repeat(words))) })
}

#[tokio::test]
async fn i9_a_result_that_is_too_long_is_in_the_store_and_named() {
    let store = Arc::new(MemoryStore::new(1_000_000));
    let mut bench = Bench::new(Probe { limit: ResultLimit::Chars(30_000), ..saying(30_001) });
    bench.pipeline = bench.pipeline.with_results(Arc::clone(&store) as Arc<dyn ResultStore>);
    let settled = bench.path("a").await;
    let shown = text(&settled);
    assert!(!settled.result.failed());
    assert!(shown.contains("<persisted-output>") && shown.contains("call_1.txt"), "{shown}");
    assert_eq!(store.len(), 1);
}

#[tokio::test]
async fn a_result_at_its_limit_is_left_alone() {
    let bench = Bench::new(Probe { limit: ResultLimit::Chars(30_000), ..saying(30_000) });
    assert_eq!(text(&bench.path("a").await).len(), 30_000);
    let bench = Bench::new(Probe { limit: ResultLimit::SelfBounded, ..saying(120_000) });
    assert_eq!(text(&bench.path("a").await).len(), 120_000);
}

/// A store whose disk is full.
struct Full;

impl ResultStore for Full {
    fn save(&self, _: &ToolUseId, _: StoredContent<'_>) -> Result<PathBuf, StoreError> {
        let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
        Err(StoreError::Write { path: PathBuf::from("/full"), source })
    }
}

#[tokio::test]
async fn a_store_that_fails_cuts_the_result_and_fails_nothing() {
    let mut bench = Bench::new(saying(1_000_000));
    bench.pipeline = bench.pipeline.with_results(Arc::new(Full));
    let settled = bench.path("a").await;
    assert!(!settled.result.failed());
    assert!(text(&settled).chars().count() <= 50_200);
}

#[tokio::test]
async fn an_empty_result_says_so() {
    assert_eq!(text(&Bench::new(saying(0)).path("a").await), "(Agent completed with no output)");
}

#[tokio::test]
async fn a_long_error_keeps_its_head_and_tail() {
    let probe = Probe::doing(|_| async {
        Err(ToolError::invalid(format!("head {} tail", "e".repeat(50_000))))
    });
    let settled = Bench::new(probe).path("a").await;
    let shown = text(&settled);
    assert!(shown.starts_with("head") && shown.ends_with("tail"), "{shown}");
    assert!(shown.chars().count() <= 10_200);
}

#[tokio::test]
async fn messages_of_the_tool_come_behind_the_result() {
    let probe = Probe::doing(|_| async {
        let messages = vec![Message::user("look at this")];
        Ok(ToolOutput { messages, ..ToolOutput::new("done".to_owned()) })
    });
    assert_eq!(messages(&Bench::new(probe).path("a").await), ["look at this"]);
}

/// All changes that a tool could ask for.
fn wishes() -> Vec<SessionChange> {
    vec![
        SessionChange::SetMode(PermissionMode::BypassPermissions),
        SessionChange::SetMode(PermissionMode::AcceptEdits),
        SessionChange::SetMode(PermissionMode::Plan),
        SessionChange::LeavePlan,
        SessionChange::AddDirectories(vec![PathBuf::from("/etc")]),
        SessionChange::SetCwd(PathBuf::from("/repo/src")),
        SessionChange::SetCwd(PathBuf::from("/etc")),
        SessionChange::SetRoot(PathBuf::from("/etc")),
        SessionChange::LoadTools(vec!["X".to_owned()]),
        SessionChange::SetTodos(json!([])),
    ]
}

#[tokio::test]
async fn a_change_that_loosens_permissions_is_dropped_without_an_approval_and_told() {
    let probe = Probe::doing(|_| async { Ok(changing(wishes())) });
    let settled = Bench::new(probe).path("a").await;
    assert_eq!(
        settled.changes,
        [
            SessionChange::SetMode(PermissionMode::Plan),
            SessionChange::SetCwd(PathBuf::from("/repo/src")),
            SessionChange::LoadTools(vec!["X".to_owned()]),
            SessionChange::SetTodos(json!([])),
        ]
    );
    assert_eq!(settled.notices.len(), 6, "{:?}", settled.notices);
    assert!(settled.notices[0].contains("set the permission mode to bypassPermissions"));
}

#[tokio::test]
async fn a_change_that_a_person_approved_is_kept() {
    let probe = Probe {
        body: Box::new(|_, _, _| Box::pin(async { Ok(changing(wishes())) })),
        ..Probe::asking()
    };
    let settled = Bench::new(probe).person(&Person::yes()).path("a").await;
    assert_eq!(settled.changes, wishes());
}

#[tokio::test]
async fn entering_plan_mode_needs_an_approval_where_plan_holds_nothing_back() {
    let probe = Probe::doing(|_| async {
        Ok(changing(vec![SessionChange::SetMode(PermissionMode::Plan)]))
    });
    let bench = Bench::new(probe);
    bench.rules.0.lock().unwrap().bypass_available = true;
    assert!(bench.path("a").await.changes.is_empty());
}

#[tokio::test]
async fn a_move_is_inside_a_working_directory_that_is_a_link_too() {
    let probe = Probe::doing(|_| async {
        let moves = ["/disk/repo/src", "/disk/repository"];
        Ok(changing(moves.map(|path| SessionChange::SetCwd(PathBuf::from(path))).into()))
    });
    let bench = Bench::new(probe);
    let link = (PathBuf::from("/repo"), PathBuf::from("/disk/repo"));
    bench.rules.0.lock().unwrap().links.push(link);
    let changes = bench.path("a").await.changes;
    assert_eq!(changes, [SessionChange::SetCwd(PathBuf::from("/disk/repo/src"))]);
}

#[tokio::test]
async fn changes_of_a_failed_call_hold_within_the_same_bounds() {
    let probe = Probe::doing(|_| async {
        Err(ToolError::new(innerve_tool::code::FAILED, "exit code 1").with_changes(wishes()))
    });
    let settled = Bench::new(probe).path("a").await;
    assert!(settled.result.failed());
    assert_eq!(settled.changes.len(), 4, "{:?}", settled.changes);
    assert_eq!(settled.notices.len(), 6);
}

#[test]
fn i3_no_mode_is_entered_unasked_in_which_more_runs_unasked() {
    use PermissionMode::{AcceptEdits, Auto, Bubble, BypassPermissions, Default, DontAsk, Plan};
    let all = [Default, AcceptEdits, Plan, Auto, DontAsk, BypassPermissions, Bubble];
    let check = |from, bypass_available, expected: &[PermissionMode]| {
        let mut policy = policy(from, &[]);
        policy.bypass_available = bypass_available;
        let allowed: Vec<_> =
            all.into_iter().filter(|to| *to != from && is_no_looser(&policy, *to)).collect();
        assert_eq!(allowed, expected, "from {from} ({bypass_available})");
    };
    check(Default, false, &[Plan, DontAsk, Bubble]);
    check(Default, true, &[DontAsk, Bubble]);
    check(AcceptEdits, false, &[Default, Plan, DontAsk, Bubble]);
    check(Plan, false, &[]);
    check(Plan, true, &[Default, AcceptEdits, Auto, DontAsk, Bubble]);
    check(Auto, false, &[Plan]);
    check(DontAsk, false, &[]);
    check(BypassPermissions, true, &[Default, AcceptEdits, Plan, Auto, DontAsk, Bubble]);
}

#[tokio::test]
async fn i11_codes_are_of_a_small_alphabet() {
    let plain = |code: &str| {
        !code.is_empty()
            && code.len() <= 60
            && code.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_:.-".contains(&byte))
    };
    let odd = "a path /home/user/secret and more words than anybody wants to read in a metric";
    let probe = Probe::doing(move |_| async move { Err(ToolError::new(odd, "no")) });
    let bench = Bench::new(probe);
    let settled = bench.path("a").await;
    let code = settled.code.unwrap();
    assert_eq!(code, "error");
    assert_eq!(settled.step, Step::Classify);
    let told: Vec<String> = bench
        .steps()
        .iter()
        .filter_map(|line| line.split(" ended: ").nth(1).map(ToOwned::to_owned))
        .collect();
    assert!(told.iter().all(|code| plain(code)), "{told:?}");
}
