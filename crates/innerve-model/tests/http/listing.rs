//! The list of models that a provider offers.

use std::time::Duration;

use innerve_model::{Anthropic, Dialect, Endpoint, ErrorClass, OpenAi};

use crate::server::{Reply, Server};

const LIST: &str = r#"{"object":"list","data":[{"id":"large","object":"model"},{"id":"small"}]}"#;

fn json(body: &str) -> Reply {
    Reply::error(200, body).header("content-type", "application/json")
}

fn endpoint(server: &Server) -> Endpoint {
    Endpoint::new(&server.url)
        .api_key("sk-test-key", "KEY")
        .idle_timeout(Duration::from_millis(300))
}

#[tokio::test]
async fn both_formats_list_their_models() {
    let server = Server::start([json(LIST), json(LIST).chunk(1)]).await;
    let anthropic = Anthropic::new(endpoint(&server)).unwrap();
    assert_eq!(anthropic.list_models().await.unwrap(), ["large", "small"]);
    let openai = OpenAi::new(endpoint(&server), Dialect::new()).unwrap();
    assert_eq!(openai.list_models().await.unwrap(), ["large", "small"]);
    let seen = server.seen();
    assert_eq!(seen[0].path, "/v1/models?limit=1000");
    assert_eq!(seen[0].header("x-api-key"), Some("sk-test-key"));
    assert!(seen[0].header("anthropic-version").is_some());
    assert_eq!(seen[1].path, "/v1/models");
    assert_eq!(seen[1].header("authorization"), Some("Bearer sk-test-key"));
}

#[tokio::test]
async fn a_refused_key_a_strange_answer_and_silence_are_told_apart() {
    let replies = [
        Reply::api_error(401, "authentication_error", "invalid x-api-key"),
        json("<html>welcome</html>"),
        json("{\"data\":").then_stall(),
        json("{\"data\":").then_cut(),
    ];
    let server = Server::start(replies).await;
    let model = Anthropic::new(endpoint(&server)).unwrap();
    let mut classes = Vec::new();
    for _ in 0..4 {
        let error = model.list_models().await.unwrap_err();
        assert!(!error.to_string().contains("sk-test-key"));
        classes.push(error.class());
    }
    assert_eq!(
        classes,
        [ErrorClass::Auth, ErrorClass::Malformed, ErrorClass::Timeout, ErrorClass::Transport]
    );
}
