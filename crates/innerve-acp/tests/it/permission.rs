//! Questions to the person at the editor.

use agent_client_protocol::v1::schema::{
    PermissionOptionKind, SessionUpdate, StopReason, ToolCallContent, ToolCallStatus,
};
use innerve_permission::PermissionMode;
use serde_json::json;

use crate::kit::{Do, Person, World, connected, initialize, one_prompt, prompt, session, words};
use crate::script::{Say, answer, call, response};

fn touch(name: &str) -> Vec<Say> {
    response([call(&format!("t-{name}"), "Bash", json!({ "command": format!("touch {name}") }))])
}

#[tokio::test]
async fn a_question_shows_the_command_the_reason_and_the_rules_that_would_be_kept() {
    let world = World::new(vec![touch("a"), answer("Done.")]);
    let person = Person::new([Do::Choose("once")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    assert!(world.project().join("a").exists());
    let asked = person.asked.lock().unwrap().clone();
    let [question] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(question.tool_call.fields.title.as_deref(), Some("`touch a`"));
    assert_eq!(question.tool_call.fields.status, Some(ToolCallStatus::Pending));
    let ids: Vec<_> = question.options.iter().map(|option| option.option_id.to_string()).collect();
    assert_eq!(ids, ["once", "session", "always", "reject"]);
    let kinds: Vec<_> = question.options.iter().map(|option| option.kind).collect();
    assert_eq!(kinds[0], PermissionOptionKind::AllowOnce);
    assert_eq!(kinds[2], PermissionOptionKind::AllowAlways);
    assert_eq!(kinds[3], PermissionOptionKind::RejectOnce);
    assert!(question.options[1].name.contains("Bash(touch"), "{}", question.options[1].name);
    assert!(question.options[2].name.contains("Bash(touch"), "{}", question.options[2].name);
}

#[tokio::test]
async fn a_rejection_keeps_the_call_from_running_and_ends_the_turn() {
    let world = World::new(vec![touch("a")]);
    let person = Person::new([Do::Choose("reject")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    assert!(!world.project().join("a").exists());
    let status = person.updates().into_iter().rev().find_map(|update| match update {
        SessionUpdate::ToolCallUpdate(update) => update.fields.status,
        _ => None,
    });
    assert_eq!(status, Some(ToolCallStatus::Failed));
}

#[tokio::test]
async fn i3_what_a_rule_denies_is_not_even_asked() {
    let world = World::new(vec![touch("a"), answer("I may not.")]);
    *world.deny.lock().unwrap() = Some("Bash(touch *)");
    let person = Person::new([Do::Choose("once")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    assert_eq!(person.asked.lock().unwrap().len(), 0);
    assert!(!world.project().join("a").exists());
    assert!(world.script.heard().contains("Bash(touch *)"), "{}", world.script.heard());
}

#[tokio::test]
async fn what_was_allowed_for_the_session_is_not_asked_again_and_not_saved() {
    let world = World::new(vec![touch("a"), touch("a"), answer("Done.")]);
    let person = Person::new([Do::Choose("session")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    assert_eq!(person.asked.lock().unwrap().len(), 1);
    assert_eq!(*world.saved.0.lock().unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn what_was_allowed_always_is_saved_as_it_was_shown() {
    let world = World::new(vec![touch("a"), answer("Done.")]);
    let person = Person::new([Do::Choose("always")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    let saved = world.saved.0.lock().unwrap().clone();
    let shown = person.asked.lock().unwrap()[0].options[2].name.clone();
    assert_eq!(saved.len(), 1);
    assert!(shown.contains(&saved[0]), "{shown} has not {saved:?}");
}

#[tokio::test]
async fn cancelling_at_a_question_ends_the_prompt_as_cancelled() {
    let world = World::new(vec![touch("a")]);
    let person = Person::new([Do::Cancel]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::Cancelled);
    assert!(!world.project().join("a").exists());
}

#[tokio::test]
async fn i6_the_diff_that_is_shown_is_what_is_written() {
    let world = World::new(vec![]);
    let path = world.project().join("new.txt");
    let script = vec![
        response([call("t1", "Write", json!({ "file_path": path, "content": "hello\n" }))]),
        answer("Done."),
    ];
    *world.script.responses() = script.into();
    let person = Person::new([Do::Choose("once")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    let asked = person.asked.lock().unwrap().clone();
    let content = asked[0].tool_call.fields.content.clone().unwrap();
    let ToolCallContent::Diff(diff) = &content[0] else { panic!("{content:?}") };
    assert_eq!((&diff.path, diff.old_text.as_deref()), (&path, None));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), diff.new_text);
}

#[tokio::test]
async fn a_question_of_the_model_is_answered_by_a_choice() {
    let questions = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "warm" }, { "label": "Blue", "description": "cold" }],
    }] });
    let script = vec![response([call("t1", "AskUserQuestion", questions)]), answer("Blue it is.")];
    let world = World::new(script);
    let person = Person::new([Do::Choose("1")]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    let heard = world.script.heard();
    assert!(heard.contains("Which colour?") && heard.contains("Blue"), "{heard}");
    let asked = person.asked.lock().unwrap().clone();
    assert_eq!(asked[0].tool_call.fields.title.as_deref(), Some("Which colour?"));
    assert_eq!(asked[0].options[0].name, "Red");
}

#[tokio::test]
async fn a_plan_is_put_to_the_person_and_the_editor_sees_the_mode_change() {
    let script = vec![
        response([call("t1", "ExitPlanMode", json!({ "plan": "1. Look\n2. Leap" }))]),
        answer("Off we go."),
    ];
    let world = World::in_mode(PermissionMode::Default, script);
    let person = Person::new([Do::Choose("once")]);
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let session = session(&agent, &world).await?;
        let plan =
            agent_client_protocol::v1::schema::SetSessionModeRequest::new(session.clone(), "plan");
        agent.send_request(plan).block_task().await?;
        prompt(&agent, &session, "Plan it.").await
    })
    .await;
    let asked = person.asked.lock().unwrap().clone();
    let content = asked[0].tool_call.fields.content.clone().unwrap();
    let ToolCallContent::Content(plan) = &content[0] else { panic!("{content:?}") };
    assert_eq!(words(&plan.content), "1. Look\n2. Leap");
    assert_eq!(asked[0].options.len(), 2);
    let modes: Vec<_> = person
        .updates()
        .into_iter()
        .filter_map(|update| match update {
            SessionUpdate::CurrentModeUpdate(update) => Some(update.current_mode_id.to_string()),
            _ => None,
        })
        .collect();
    assert_eq!(modes, ["default"]);
}
