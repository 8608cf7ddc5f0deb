//! Prompts, what the editor is told of them, and how they end.

use agent_client_protocol::Error;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, CancelNotification, ContentBlock, EmbeddedResource,
    EmbeddedResourceResource, Plan, PlanEntryStatus, PromptRequest, ResourceLink, SessionUpdate,
    StopReason, TextResourceContents, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind,
};
use innerve_pipeline::Step;
use serde_json::json;

use crate::kit::{Person, World, connected, initialize, one_prompt, prompt, session, words};
use crate::script::{Say, answer, call, piece, response, text, thinking};

#[tokio::test]
async fn an_editor_is_told_what_the_agent_can_do() {
    let (world, person) = (World::new(vec![]), Person::new([]));
    let told = connected(&world, &person, async |agent| initialize(&agent, &person).await).await;
    assert_eq!(told.protocol_version, ProtocolVersion::V1);
    assert!(told.agent_capabilities.load_session);
    assert!(told.agent_capabilities.prompt_capabilities.embedded_context);
    assert!(told.agent_capabilities.prompt_capabilities.image);
    assert!(!told.agent_capabilities.prompt_capabilities.audio);
    assert_eq!(told.auth_methods, []);
    assert_eq!(told.agent_info.unwrap().name, "innerve");
}

#[tokio::test]
async fn text_and_thoughts_come_as_they_are_written() {
    let script = vec![response([thinking("Hm."), vec![piece("Hel")], text("lo.")])];
    let (world, person) = (World::new(script), Person::new([]));
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    let updates = person.updates();
    let SessionUpdate::AgentThoughtChunk(thought) = &updates[0] else { panic!("{updates:?}") };
    assert_eq!(words(&thought.content), "Hm.");
    assert_eq!(person.read(), "Hello.");
    assert_eq!(updates.len(), 3);
}

#[tokio::test]
async fn a_call_is_shown_with_kind_and_place() {
    let world = World::new(vec![]);
    let path = world.file("notes.txt", "one\ntwo\n");
    let read = call("t1", "Read", json!({ "file_path": path, "offset": 2 }));
    *world.script.responses() = vec![response([text("Let me see."), read]), answer("Two.")].into();
    let person = Person::new([]);
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    let updates = person.updates();
    let call = updates.iter().find_map(|update| match update {
        SessionUpdate::ToolCall(call) => Some(call),
        _ => None,
    });
    let call = call.unwrap();
    assert_eq!((call.kind, call.status), (ToolKind::Read, ToolCallStatus::InProgress));
    assert_eq!(call.title, "Read notes.txt");
    assert_eq!(call.locations, [ToolCallLocation::new(path).line(2)]);
    let ended = updates.iter().find_map(|update| match update {
        SessionUpdate::ToolCallUpdate(update) => Some(update),
        _ => None,
    });
    assert_eq!(&ended.unwrap().tool_call_id, &call.tool_call_id);
}

#[tokio::test]
async fn i1_a_call_takes_all_fourteen_steps() {
    let script =
        vec![response([call("t1", "Bash", json!({ "command": "echo hi" }))]), answer("Done.")];
    let (world, person) = (World::new(script), Person::new([]));
    assert_eq!(one_prompt(&world, &person).await, StopReason::EndTurn);
    let steps = world.steps.0.lock().unwrap().clone();
    assert_eq!(steps, Step::ALL);
    let last = person.updates().into_iter().rev().find_map(|update| match update {
        SessionUpdate::ToolCallUpdate(update) => Some(update),
        _ => None,
    });
    let fields = last.unwrap().fields;
    assert_eq!(fields.status, Some(ToolCallStatus::Completed));
    let [ToolCallContent::Content(content)] = &fields.content.unwrap()[..] else { panic!() };
    assert_eq!(words(&content.content), "```\nhi\n```");
}

#[tokio::test]
async fn a_list_of_things_to_do_is_the_editors_plan() {
    let todos = json!({ "todos": [
        { "content": "Read", "status": "completed", "activeForm": "Reading" },
        { "content": "Write", "status": "in_progress", "activeForm": "Writing" },
        { "content": "Test", "status": "pending", "activeForm": "Testing" },
    ] });
    let script = vec![response([call("t1", "TodoWrite", todos)]), answer("Done.")];
    let (world, person) = (World::new(script), Person::new([]));
    one_prompt(&world, &person).await;
    let updates = person.updates();
    let [SessionUpdate::Plan(Plan { entries, .. }), SessionUpdate::AgentMessageChunk(_)] =
        &updates[..]
    else {
        panic!("{updates:?}")
    };
    let shown: Vec<_> =
        entries.iter().map(|entry| (entry.content.as_str(), entry.status.clone())).collect();
    assert_eq!(
        shown,
        [
            ("Read", PlanEntryStatus::Completed),
            ("Write", PlanEntryStatus::InProgress),
            ("Test", PlanEntryStatus::Pending)
        ]
    );
}

#[tokio::test]
async fn what_is_attached_reaches_the_model() {
    let (world, person) = (World::new(vec![answer("I see.")]), Person::new([]));
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let session = session(&agent, &world).await?;
        let resource = TextResourceContents::new("fn main() {}", "file:///repo/main.rs");
        let resource = EmbeddedResourceResource::TextResourceContents(resource);
        let blocks: Vec<ContentBlock> = vec![
            "Compare ".into(),
            ContentBlock::Resource(EmbeddedResource::new(resource)),
            " with ".into(),
            ContentBlock::ResourceLink(ResourceLink::new("lib.rs", "file:///repo/lib.rs")),
        ];
        agent.send_request(PromptRequest::new(session, blocks)).block_task().await
    })
    .await;
    let heard = world.script.heard();
    assert!(heard.contains("Compare @/repo/main.rs with @/repo/lib.rs"), "{heard}");
    assert!(heard.contains("fn main() {}"), "{heard}");
}

#[tokio::test]
async fn a_prompt_is_cancelled_while_the_model_writes_and_the_next_one_goes_on() {
    let script = vec![vec![piece("Let me th"), Say::Hang], answer("Yes?")];
    let (world, person) = (World::new(script), Person::new([]));
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let session = session(&agent, &world).await?;
        let request = PromptRequest::new(session.clone(), vec!["Think.".into()]);
        let asked = agent.send_request(request);
        while person.read().is_empty() {
            tokio::task::yield_now().await;
        }
        agent.send_notification(CancelNotification::new(session.clone()))?;
        assert_eq!(asked.block_task().await?.stop_reason, StopReason::Cancelled);
        assert_eq!(prompt(&agent, &session, "Hello?").await?, StopReason::EndTurn);
        Ok(())
    })
    .await;
    assert_eq!(person.read(), "Let me thYes?");
}

#[tokio::test]
async fn a_cancellation_right_behind_a_prompt_is_not_lost() {
    let script = vec![vec![Say::Hang]];
    let (world, person) = (World::new(script), Person::new([]));
    let stop = connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let session = session(&agent, &world).await?;
        let request = PromptRequest::new(session.clone(), vec!["Think.".into()]);
        let asked = agent.send_request(request);
        agent.send_notification(CancelNotification::new(session))?;
        asked.block_task().await
    })
    .await
    .stop_reason;
    assert_eq!(stop, StopReason::Cancelled);
}

#[tokio::test]
async fn a_failure_of_the_model_is_an_error_that_says_so() {
    let (world, person) =
        (World::new(vec![vec![Say::Fail("the provider says no")]]), Person::new([]));
    let error = connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let session = session(&agent, &world).await?;
        Ok::<Error, Error>(prompt(&agent, &session, "Go.").await.unwrap_err())
    })
    .await;
    assert!(error.message.contains("the provider says no"), "{error:?}");
    assert_eq!(error.data.unwrap()["reason"], "model_error");
}

#[tokio::test]
async fn what_is_not_there_is_refused_and_the_connection_goes_on() {
    let (world, person) = (World::new(vec![answer("Yes.")]), Person::new([]));
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let nowhere = "nowhere".to_owned().into();
        let error = prompt(&agent, &nowhere, "Go.").await.unwrap_err();
        assert_eq!(i32::from(error.code), -32_002);
        assert!(error.message.contains("`nowhere`"), "{error:?}");
        agent.send_request(AuthenticateRequest::new("any")).block_task().await.unwrap_err();
        let session = session(&agent, &world).await?;
        let empty = PromptRequest::new(session.clone(), vec![]);
        agent.send_request(empty).block_task().await.unwrap_err();
        assert_eq!(prompt(&agent, &session, "Still there?").await?, StopReason::EndTurn);
        Ok(())
    })
    .await;
}
