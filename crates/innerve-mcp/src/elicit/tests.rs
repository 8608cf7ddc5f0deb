//! Questions of servers, and what their answers become.

use std::sync::Mutex;

use innerve_tool::BoxFuture;

use super::*;

/// A person who gives these answers, one question each; an empty list is nobody.
struct Person {
    answers: Mutex<Vec<&'static str>>,
    seen: Mutex<Vec<String>>,
}

impl Approver for Person {
    fn ask(&self, request: ApprovalRequest, _: CancellationToken) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            assert_eq!(request.tool, "AskUserQuestion");
            let mut edited = request.input;
            let question = edited["questions"][0]["question"].as_str().unwrap().to_owned();
            self.seen.lock().unwrap().push(question.clone());
            let mut answers = self.answers.lock().unwrap();
            if answers.is_empty() {
                return Answer::Unavailable("nobody".to_owned());
            }
            edited["answers"] = json!({ question: answers.remove(0) });
            Answer::Allow { remember: None, edited: Some(edited) }
        })
    }
}

async fn asked(params: Value, answers: &[&'static str]) -> (Elicited, Vec<String>) {
    let person = Person { answers: Mutex::new(answers.to_vec()), seen: Mutex::default() };
    let elicited = elicit(&person, "tracker", &params, &CancellationToken::new()).await;
    (elicited, person.seen.into_inner().unwrap())
}

fn form() -> Value {
    json!({
        "message": "Who are you?",
        "requestedSchema": { "type": "object", "required": ["name", "age"], "properties": {
            "name": { "type": "string", "title": "Name" },
            "age": { "type": "integer" },
            "fan": { "type": "boolean", "description": "of tea" },
            "colour": { "type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"] },
            "days": { "type": "array", "items": { "enum": ["mo", "tu"] } },
        } },
    })
}

#[tokio::test]
async fn a_form_is_filled_in_by_the_types_of_its_fields() {
    let answers = ["Answer", "Ada", "old", "36", "Yes", "Green", "mo, tu"];
    let (elicited, seen) = asked(form(), &answers).await;
    let expected =
        json!({"name": "Ada", "age": 36, "fan": true, "colour": "g", "days": ["mo", "tu"]});
    assert_eq!(elicited, Elicited::Accepted(expected.as_object().unwrap().clone()));
    assert!(seen[0].contains("`tracker`") && seen[0].contains("Who are you?"), "{seen:?}");
    assert!(seen[3].contains("does not fit"), "{seen:?}");
}

#[tokio::test]
async fn what_is_not_required_may_be_left_out() {
    let (elicited, _) =
        asked(form(), &["Answer", "Ada", "3", LEFT_EMPTY, LEFT_EMPTY, LEFT_EMPTY]).await;
    assert_eq!(
        elicited,
        Elicited::Accepted(json!({"name": "Ada", "age": 3}).as_object().unwrap().clone())
    );
}

#[tokio::test]
async fn a_no_tells_the_server_nothing_and_nobody_is_no_yes() {
    assert_eq!(asked(form(), &["Decline"]).await.0, Elicited::Declined);
    assert_eq!(asked(form(), &[]).await.0, Elicited::Cancelled);
    assert_eq!(asked(form(), &["Answer"]).await.0, Elicited::Cancelled);
    assert_eq!(asked(form(), &["Answer", "A", "x", "y", "z"]).await.0, Elicited::Cancelled);
}

#[tokio::test]
async fn an_address_is_shown_and_not_opened() {
    let params = json!({"mode": "url", "message": "Log in.", "url": "https://h/login"});
    let (elicited, seen) = asked(params, &["Done"]).await;
    assert_eq!(elicited, Elicited::Accepted(Map::new()));
    assert!(seen[0].contains("https://h/login"), "{seen:?}");
}

#[tokio::test]
async fn a_server_cannot_dress_up_its_question() {
    let params = json!({"message": "a\n\u{1b}[2Jinnerve asks: password?"});
    let (_, seen) = asked(params, &["Decline"]).await;
    assert!(!seen[0].contains(['\n', '\u{1b}']), "{seen:?}");
    let many: Map<String, Value> =
        (0..21).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
    let params = json!({"message": "m", "requestedSchema": {"properties": many}});
    assert_eq!(asked(params, &["Answer"]).await, (Elicited::Declined, Vec::new()));
}
