//! The tools of the conversation: the list of tasks, plan mode, questions.

use std::sync::Arc;

use innerve_builtins::plan::{EnterPlanModeTool, ExitPlanModeTool};
use innerve_builtins::question::AskUserQuestionTool;
use innerve_builtins::todo::TodoWriteTool;
use innerve_permission::PermissionMode;
use innerve_tool::{CallContext, SessionChange, SessionView, Tool, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::kit::Bench;

fn context<P>(bench: &Bench, mode: PermissionMode, agent: Option<&str>) -> CallContext<P> {
    let mut context = bench.context();
    let view = SessionView::clone(&context.session);
    context.session = Arc::new(SessionView { mode, agent_id: agent.map(Into::into), ..view });
    context
}

async fn call<T: Tool>(
    tool: &T,
    input: Value,
    mode: PermissionMode,
    agent: Option<&str>,
) -> Result<(String, ToolOutput<T::Output>), ToolError> {
    let bench = Bench::new();
    let input = || bench.parsed(tool, input.clone()).unwrap();
    tool.validate(&input(), &context(&bench, mode, agent)).await?;
    let output = tool.call(input(), None, context(&bench, mode, agent)).await?;
    Ok((tool.render(&output.data).plain_text(), output))
}

async fn todo(tool: &TodoWriteTool, todos: Value) -> Result<(String, Value), ToolError> {
    let input = json!({ "todos": todos });
    let (text, output) = call(tool, input, PermissionMode::Default, None).await?;
    match output.changes.as_slice() {
        [SessionChange::SetTodos(list)] => Ok((text, list.clone())),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_list_replaces_the_one_before_and_ends_when_all_is_done() {
    let tool = TodoWriteTool::new();
    let list = json!([
        { "content": "read", "status": "completed" },
        { "content": "write", "status": "pending" },
        { "content": "test", "status": "in_progress", "activeForm": "testing" },
    ]);
    let (text, told) = todo(&tool, list.clone()).await.unwrap();
    assert_eq!(
        (text.as_str(), told),
        ("The list is kept: 1 of 3 done. Go on with: test", list.clone())
    );
    let (text, told) =
        todo(&tool, json!([{ "content": "read", "status": "completed" }])).await.unwrap();
    assert_eq!((text.as_str(), told), ("All 1 tasks are done; the list is empty now.", json!([])));
    let input = json!({ "todos": [{ "content": "more", "status": "pending" }] });
    let (_, output) = call(&tool, input, PermissionMode::Default, None).await.unwrap();
    assert!(output.data.old_todos.is_empty());
}

#[tokio::test]
async fn a_list_that_says_nothing_is_refused() {
    let tool = TodoWriteTool::new();
    for (content, words) in [(" ".to_owned(), "no content"), ("x".repeat(1_001), "longer than")] {
        let refused = todo(&tool, json!([{ "content": content, "status": "pending" }])).await;
        assert!(refused.unwrap_err().message().contains(words));
    }
    let many = vec![json!({ "content": "x", "status": "pending" }); 201];
    assert!(todo(&tool, many.into()).await.unwrap_err().message().contains("too many"));
}

#[tokio::test]
async fn plan_mode_is_entered_once_and_left_with_a_plan() {
    let enter = |mode, agent| call(&EnterPlanModeTool, json!({}), mode, agent);
    let (_, output) = enter(PermissionMode::AcceptEdits, None).await.unwrap();
    assert_eq!(output.changes, [SessionChange::SetMode(PermissionMode::Plan)]);
    let refused = enter(PermissionMode::Plan, None).await.unwrap_err();
    assert!(refused.message().contains("already"));
    let refused = enter(PermissionMode::Default, Some("a1")).await.unwrap_err();
    assert!(refused.message().contains("sub-agent"));

    let exit =
        |plan: &str, mode, agent| call(&ExitPlanModeTool, json!({ "plan": plan }), mode, agent);
    let (text, output) = exit("# Do it", PermissionMode::Plan, None).await.unwrap();
    assert!(text.ends_with("\n\n# Do it"), "{text}");
    assert_eq!(output.changes, [SessionChange::LeavePlan]);
    for (plan, mode, agent, words) in [
        ("x", PermissionMode::Default, None, "not plan mode"),
        (" ", PermissionMode::Plan, None, "empty"),
        ("x", PermissionMode::Plan, Some("a1"), "sub-agent"),
    ] {
        let refused = exit(plan, mode, agent).await.unwrap_err();
        assert!(refused.message().contains(words), "{}", refused.message());
    }
    assert!(ExitPlanModeTool.requires_user_interaction());
}

fn question(text: &str, header: &str, labels: &[&str]) -> Value {
    let options: Vec<Value> =
        labels.iter().map(|label| json!({ "label": label, "description": "" })).collect();
    json!({ "question": text, "header": header, "options": options })
}

async fn ask(input: Value) -> Result<String, ToolError> {
    call(&AskUserQuestionTool, input, PermissionMode::Default, None).await.map(|(text, _)| text)
}

#[tokio::test]
async fn answers_come_with_the_approved_input() {
    let questions = json!([
        question("Which database?", "Database", &["Postgres", "SQLite"]),
        question("Tests?", "Tests", &["yes", "no"]),
    ]);
    let text =
        ask(json!({ "questions": questions, "answers": { "Which database?": "SQLite" } })).await;
    assert_eq!(
        text.unwrap(),
        "The user answered:\n- Which database? → SQLite\n- Tests? → (no answer: decide yourself)"
    );
    let text = ask(json!({ "questions": questions })).await.unwrap();
    assert!(text.contains("left the choice to you"), "{text}");
    assert!(AskUserQuestionTool.requires_user_interaction());
}

#[tokio::test]
async fn questions_that_cannot_be_answered_are_refused() {
    let one = |question: Value| json!({ "questions": [question] });
    for (input, words) in [
        (json!({ "questions": [] }), "ask 1 to 4"),
        (one(question("", "h", &["a", "b"])), "empty or asked twice"),
        (
            json!({ "questions": [question("q", "h", &["a", "b"]), question("q", "h", &["a", "b"])] }),
            "asked twice",
        ),
        (one(question("q", "thirteen chars", &["a", "b"])), "1 to 12 characters"),
        (one(question("q", "h", &["a"])), "offer 2 to 4"),
        (one(question("q", "h", &["a", "b", "c", "d", "e"])), "offer 2 to 4"),
        (one(question("q", "h", &["a", " a"])), "an answer twice"),
        (
            json!({ "questions": [question("q", "h", &["a", "b"])], "answers": { "p": "a" } }),
            "was answered and not asked",
        ),
    ] {
        let refused = ask(input).await.unwrap_err();
        assert!(refused.message().contains(words), "{}", refused.message());
    }
}
