//! Several sessions, past sessions, and modes.

use agent_client_protocol::v1::schema::{
    EnvVariable, LoadSessionRequest, McpServer, McpServerStdio, NewSessionRequest, SessionUpdate,
    SetSessionModeRequest, StopReason, ToolCallStatus,
};
use innerve_permission::PermissionMode;
use serde_json::json;

use crate::kit::{Do, Person, World, connected, initialize, prompt, session, words};
use crate::script::{answer, call, response, text};

#[tokio::test]
async fn sessions_of_one_process_do_not_mix() {
    let (world, person) = (World::new(vec![answer("One."), answer("Two.")]), Person::new([]));
    let (first, second) = connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let first = session(&agent, &world).await?;
        let second = session(&agent, &world).await?;
        prompt(&agent, &second, "Are you the second?").await?;
        prompt(&agent, &first, "Are you the first?").await?;
        Ok((first, second))
    })
    .await;
    assert_ne!(first, second);
    let told: Vec<_> =
        person.updates.lock().unwrap().iter().map(|told| told.session_id.clone()).collect();
    assert_eq!(told, [second, first]);
    let heard = world.script.heard();
    assert!(heard.contains("first") && !heard.contains("second"), "{heard}");
}

#[tokio::test]
async fn i7_a_past_session_is_shown_as_it_was_and_goes_on() {
    let script = vec![
        response([text("Let me."), call("t1", "Bash", json!({ "command": "echo hi" }))]),
        answer("It says hi."),
        answer("As I said: hi."),
    ];
    let world = World::new(script);
    let person = Person::new([]);
    let id = connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let id = session(&agent, &world).await?;
        prompt(&agent, &id, "What does it say?").await?;
        Ok(id)
    })
    .await;
    let later = Person::new([]);
    connected(&world, &later, async |agent| {
        initialize(&agent, &later).await?;
        let load = LoadSessionRequest::new(id.clone(), world.project());
        let loaded = agent.send_request(load).block_task().await?;
        assert_eq!(loaded.modes.unwrap().current_mode_id.to_string(), "default");
        let updates = later.updates();
        let [
            SessionUpdate::UserMessageChunk(asked),
            SessionUpdate::AgentMessageChunk(_),
            SessionUpdate::ToolCall(call),
            SessionUpdate::ToolCallUpdate(ended),
            SessionUpdate::AgentMessageChunk(said),
        ] = &updates[..]
        else {
            panic!("{updates:?}")
        };
        assert_eq!(words(&asked.content), "What does it say?");
        assert_eq!(call.title, "`echo hi`");
        assert_eq!(ended.fields.status, Some(ToolCallStatus::Completed));
        assert_eq!(words(&said.content), "It says hi.");
        assert_eq!(prompt(&agent, &id, "Sure?").await?, StopReason::EndTurn);
        // Once more, in the same process.
        let load = LoadSessionRequest::new(id.clone(), world.project());
        agent.send_request(load).block_task().await?;
        Ok(())
    })
    .await;
    assert!(world.script.heard().contains("It says hi."));
}

#[tokio::test]
async fn a_session_that_never_was_cannot_be_loaded() {
    let (world, person) = (World::new(vec![]), Person::new([]));
    let error = connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let load = LoadSessionRequest::new("session-9", world.project());
        Ok(agent.send_request(load).block_task().await.unwrap_err())
    })
    .await;
    assert_eq!(error.data.unwrap()["code"], "acp:opening");
}

#[tokio::test]
async fn modes_that_are_not_available_cannot_be_set() {
    let touch = response([call("t1", "Bash", json!({ "command": "touch a" }))]);
    let world = World::new(vec![touch]);
    let person = Person::new([Do::Choose("reject")]);
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let request = NewSessionRequest::new(world.project());
        let opened = agent.send_request(request).block_task().await?;
        let modes = opened.modes.unwrap();
        let ids: Vec<_> = modes.available_modes.iter().map(|mode| mode.id.to_string()).collect();
        assert_eq!(ids, ["default", "acceptEdits", "plan"]);
        for mode in ["bypassPermissions", "auto", "bubble", "yolo"] {
            let request = SetSessionModeRequest::new(opened.session_id.clone(), mode);
            agent.send_request(request).block_task().await.unwrap_err();
        }
        prompt(&agent, &opened.session_id, "Go on.").await
    })
    .await;
    assert_eq!(person.asked.lock().unwrap().len(), 1, "nothing was bypassed");
}

#[tokio::test]
async fn a_mode_that_is_set_holds_for_the_next_call() {
    let world = World::new(vec![]);
    let path = world.project().join("new.txt");
    let write = call("t1", "Write", json!({ "file_path": path, "content": "a" }));
    *world.script.responses() = vec![response([write]), answer("Done.")].into();
    let person = Person::new([]);
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let id = session(&agent, &world).await?;
        let request = SetSessionModeRequest::new(id.clone(), PermissionMode::AcceptEdits.name());
        agent.send_request(request).block_task().await?;
        prompt(&agent, &id, "Go on.").await
    })
    .await;
    assert_eq!(person.asked.lock().unwrap().len(), 0);
    assert!(path.exists());
}

#[tokio::test]
async fn servers_and_directories_of_the_editor_reach_the_host() {
    let (world, person) = (World::new(vec![]), Person::new([]));
    connected(&world, &person, async |agent| {
        initialize(&agent, &person).await?;
        let server = McpServerStdio::new("notes", "/bin/notes")
            .args(vec!["-v".to_owned()])
            .env(vec![EnvVariable::new("A", "b")]);
        let request = NewSessionRequest::new(world.project())
            .mcp_servers(vec![McpServer::Stdio(server)])
            .additional_directories(vec!["/srv".into()]);
        agent.send_request(request).block_task().await?;
        let relative = NewSessionRequest::new("project");
        agent.send_request(relative).block_task().await.unwrap_err();
        Ok(())
    })
    .await;
    let openings = world.openings.lock().unwrap();
    let [opening] = &openings[..] else { panic!("{openings:?}") };
    let wanted = json!({ "command": "/bin/notes", "args": ["-v"], "env": { "A": "b" } });
    assert_eq!(opening.mcp_servers["notes"], wanted);
    assert_eq!(opening.additional_directories, [std::path::PathBuf::from("/srv")]);
}
