//! Questions to the person at the editor: the pipeline's `Approver` as permission requests.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    SessionUpdate, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use innerve_permission::{Decision, Resolution};
use innerve_pipeline::{Answer, ApprovalRequest, Approver, Grant, GrantScope};
use innerve_tool::{BoxFuture, CancellationToken};
use serde_json::{Map, Value};

use crate::Editor;
use crate::show;

const ONCE: &str = "once";
const SESSION: &str = "session";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";

/// Asks through an editor.
pub(crate) struct EditorApprover {
    editor: Editor,
}

/// What a person chose.
enum Chosen {
    Option(String),
    /// There is no choice any more.
    Over(Answer),
}

impl EditorApprover {
    pub(crate) fn new(editor: Editor) -> Self {
        Self { editor }
    }

    async fn permission(
        &self,
        request: ApprovalRequest,
        cancellation: &CancellationToken,
    ) -> Answer {
        let rules: Vec<String> =
            request.resolution.suggestions.iter().map(|rule| rule.0.clone()).collect();
        let id = request.tool_use_id.to_string();
        let fields = described(&request, self.editor.cwd());
        let options = options(&request, &rules);
        let chosen = self.choose(ToolCallUpdate::new(id.clone(), fields), options, cancellation);
        let answer = match chosen.await {
            Chosen::Option(option) => answer(&option, rules),
            Chosen::Over(answer) => answer,
        };
        if matches!(answer, Answer::Allow { .. }) {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
            let update = SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields));
            // Without an editor the run ends by itself.
            let _gone = self.editor.tell(update);
        }
        answer
    }

    /// Puts each question of the model as one with a choice of answers.
    async fn questions(
        &self,
        request: ApprovalRequest,
        cancellation: &CancellationToken,
    ) -> Answer {
        let Some(questions) = request.input.get("questions").and_then(Value::as_array) else {
            return Answer::Unavailable("the questions cannot be read".to_owned());
        };
        let mut answers = Map::new();
        for question in questions {
            let word = |value: &Value, field: &str| {
                value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let text = word(question, "question");
            let choices: Vec<(String, String)> = question
                .get("options")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|choice| (word(choice, "label"), word(choice, "description")))
                .collect();
            let described: Vec<String> = choices
                .iter()
                .filter(|(_, description)| !description.is_empty())
                .map(|(label, description)| format!("- **{label}**: {description}"))
                .collect();
            let mut fields = ToolCallUpdateFields::new().title(text.clone());
            if !described.is_empty() {
                fields = fields.content(vec![described.join("\n").into()]);
            }
            let mut options: Vec<PermissionOption> = choices
                .iter()
                .enumerate()
                .map(|(index, (label, _))| {
                    let kind = PermissionOptionKind::AllowOnce;
                    PermissionOption::new(index.to_string(), label.clone(), kind)
                })
                .collect();
            options.push(PermissionOption::new(
                REJECT,
                "None of these",
                PermissionOptionKind::RejectOnce,
            ));
            let call = ToolCallUpdate::new(request.tool_use_id.to_string(), fields);
            let chosen = match self.choose(call, options, cancellation).await {
                Chosen::Option(chosen) => chosen,
                Chosen::Over(answer) => return answer,
            };
            let label = chosen.parse().ok().and_then(|index: usize| choices.get(index));
            let Some((label, _)) = label else { return Answer::Deny { comment: None } };
            answers.insert(text, Value::String(label.clone()));
        }
        let mut edited = request.input.clone();
        if let Some(fields) = edited.as_object_mut() {
            fields.insert("answers".to_owned(), Value::Object(answers));
        }
        Answer::Allow { remember: None, edited: Some(edited) }
    }

    async fn choose(
        &self,
        call: ToolCallUpdate,
        options: Vec<PermissionOption>,
        cancellation: &CancellationToken,
    ) -> Chosen {
        let Some(session) = self.editor.session() else {
            let why = "the session is not open yet".to_owned();
            return Chosen::Over(Answer::Unavailable(why));
        };
        let request = RequestPermissionRequest::new(session, call, options);
        // Dropped before it is answered, it takes the question back.
        let asked = self.editor.connection().send_request(request).block_task();
        let response = tokio::select! {
            response = asked => response,
            () = cancellation.cancelled() => return Chosen::Over(Answer::Interrupted),
        };
        match response.map(|response| response.outcome) {
            Ok(RequestPermissionOutcome::Selected(selected)) => {
                Chosen::Option(selected.option_id.to_string())
            }
            Ok(RequestPermissionOutcome::Cancelled) => Chosen::Over(Answer::Interrupted),
            Ok(_) => Chosen::Over(Answer::Unavailable("the editor's answer is unknown".to_owned())),
            Err(error) => {
                let why = format!("the editor cannot ask: {}", error.message);
                Chosen::Over(Answer::Unavailable(why))
            }
        }
    }
}

impl Approver for EditorApprover {
    fn ask(
        &self,
        request: ApprovalRequest,
        cancellation: CancellationToken,
    ) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            if request.tool == "AskUserQuestion" {
                return self.questions(request, &cancellation).await;
            }
            self.permission(request, &cancellation).await
        })
    }
}

fn options(request: &ApprovalRequest, rules: &[String]) -> Vec<PermissionOption> {
    let option = |id: &'static str, name: &str, kind| PermissionOption::new(id, name, kind);
    if request.tool == "ExitPlanMode" {
        return vec![
            option(ONCE, "Approve the plan", PermissionOptionKind::AllowOnce),
            option(REJECT, "Keep planning", PermissionOptionKind::RejectOnce),
        ];
    }
    let mut options = vec![option(ONCE, "Allow", PermissionOptionKind::AllowOnce)];
    if !rules.is_empty() {
        let shown = rules.join(", ");
        let lasting = PermissionOptionKind::AllowAlways;
        options.push(option(SESSION, &format!("Allow {shown} for this session"), lasting));
        options.push(option(ALWAYS, &format!("Always allow {shown}"), lasting));
    }
    options.push(option(REJECT, "Reject", PermissionOptionKind::RejectOnce));
    options
}

/// What an option stands for; one that was not offered is a no.
fn answer(option: &str, rules: Vec<String>) -> Answer {
    let scope = match option {
        ONCE => return Answer::once(),
        SESSION => GrantScope::Session,
        ALWAYS => GrantScope::Always,
        _ => return Answer::Deny { comment: None },
    };
    if rules.is_empty() {
        return Answer::Deny { comment: None };
    }
    Answer::Allow { remember: Some(Grant { scope, rules }), edited: None }
}

/// The call as it is asked about: what it would do, and why it is asked.
fn described(request: &ApprovalRequest, cwd: &Path) -> ToolCallUpdateFields {
    let mut content = match &request.preview {
        Some(preview) => vec![show::preview(preview)],
        None => show::intent(&request.tool, &request.input, cwd),
    };
    let who =
        request.agent.as_ref().map(|agent| format!("Sub-agent {agent}: ")).unwrap_or_default();
    content.push(format!("{who}{}", reasons(&request.resolution)).into());
    show::fields(&request.tool, &request.input, cwd)
        .status(ToolCallStatus::Pending)
        .content(content)
        .raw_input(request.input.clone())
}

/// Why it is asked: the parts that lack approval, or the one reason.
fn reasons(resolution: &Resolution) -> String {
    let open = resolution.parts.iter().filter(|part| part.decision != Decision::Allow);
    let parts: Vec<String> = open
        .map(|part| {
            let message = &part.reason.message;
            if message.contains(&part.text) {
                format!("- {message}")
            } else {
                format!("- `{}`: {message}", part.text)
            }
        })
        .collect();
    if parts.len() > 1 { parts.join("\n") } else { resolution.reason.message.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_an_option_that_was_not_offered_is_a_no() {
        let rules = || vec!["Bash(make *)".to_owned()];
        let grant = |scope| Some(Grant { scope, rules: rules() });
        let allow = |remember| Answer::Allow { remember, edited: None };
        assert_eq!(answer("once", rules()), Answer::once());
        assert_eq!(answer("session", rules()), allow(grant(GrantScope::Session)));
        assert_eq!(answer("always", rules()), allow(grant(GrantScope::Always)));
        for other in ["reject", "", "Always", "0"] {
            assert_eq!(answer(other, rules()), Answer::Deny { comment: None });
        }
        assert_eq!(answer("always", Vec::new()), Answer::Deny { comment: None });
    }
}
