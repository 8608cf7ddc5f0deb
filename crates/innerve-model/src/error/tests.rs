//! Tests of the classes and words of errors.
use super::failure::read_overflow;
use super::*;

#[track_caller]
fn check(http: u16, kind: &str, message: &str, expected: ErrorClass) {
    let error = Failure {
        http: (http != 0).then_some(http),
        kind: (!kind.is_empty()).then(|| kind.to_owned()),
        message: message.to_owned(),
        ..Failure::default()
    }
    .into_error();
    assert_eq!(error.class(), expected, "{http} {kind} {message}");
}

#[test]
fn statuses_and_kinds_have_their_classes() {
    check(400, "invalid_request_error", "max_tokens: must be positive", ErrorClass::Invalid);
    check(
        400,
        "invalid_request_error",
        "prompt is too long: 210000 tokens > 200000 maximum",
        ErrorClass::Overflow,
    );
    check(
        400,
        "invalid_request_error",
        "messages.3.content.0.image.source: too large",
        ErrorClass::Media,
    );
    check(400, "invalid_request_error", "Your credit balance is too low", ErrorClass::Billing);
    check(400, "context_length_exceeded", "", ErrorClass::Overflow);
    check(401, "authentication_error", "invalid x-api-key", ErrorClass::Auth);
    check(402, "billing_error", "", ErrorClass::Billing);
    check(403, "permission_error", "", ErrorClass::Auth);
    check(404, "not_found_error", "model: x", ErrorClass::NotFound);
    check(408, "", "", ErrorClass::Timeout);
    check(409, "conflict_error", "", ErrorClass::Server);
    check(413, "", "<html>too large</html>", ErrorClass::Overflow);
    check(422, "", "", ErrorClass::Invalid);
    check(429, "rate_limit_error", "slow down", ErrorClass::RateLimit);
    check(429, "rate_limit_error", "monthly spend limit reached", ErrorClass::Billing);
    check(429, "insufficient_quota", "", ErrorClass::Billing);
    check(500, "api_error", "", ErrorClass::Server);
    check(500, "", "the request exceeds the available context size", ErrorClass::Overflow);
    check(502, "", "<html>bad gateway</html>", ErrorClass::Server);
    check(503, "", "The engine is currently overloaded", ErrorClass::Overloaded);
    check(504, "timeout_error", "", ErrorClass::Timeout);
    check(529, "overloaded_error", "", ErrorClass::Overloaded);
    check(307, "", "", ErrorClass::Invalid);
    check(0, "overloaded_error", "Overloaded", ErrorClass::Overloaded);
    check(0, "api_error", "", ErrorClass::Server);
    check(0, "rate_limit_error", "", ErrorClass::RateLimit);
    check(0, "invalid_request_error", "", ErrorClass::Invalid);
}

#[test]
fn the_numbers_of_an_overflow_are_read() {
    let read =
        |text: &str| read_overflow(text).map(|found| (found.input, found.max_tokens, found.limit));
    assert_eq!(
        read("prompt is too long: 210001 tokens > 200000 maximum"),
        Some((210_001, None, 200_000))
    );
    assert_eq!(
        read(
            "input length and `max_tokens` exceed context limit: 188000 + 20000 > 200000, decrease input length"
        ),
        Some((188_000, Some(20_000), 200_000))
    );
    assert_eq!(read("prompt is too long"), None);
}

#[test]
fn a_refused_key_names_the_variable_to_set() {
    let error = Failure {
        http: Some(401),
        kind: Some("authentication_error".to_owned()),
        message: "invalid x-api-key".to_owned(),
        key_source: "ANTHROPIC_API_KEY".to_owned(),
        ..Failure::default()
    }
    .into_error();
    assert_eq!(
        error.to_string(),
        "the provider refused the key (HTTP 401, authentication_error: invalid x-api-key); set ANTHROPIC_API_KEY to a valid key"
    );
}

#[test]
fn messages_are_one_bounded_line() {
    let error = ModelError::new(ErrorClass::Server, "ä\n".repeat(5000));
    assert!(error.message().len() <= 1024);
    assert!(!error.message().contains('\n'));
}

#[test]
fn the_providers_word_on_retrying_counts_first() {
    let failure = |http, should_retry| {
        Failure { http: Some(http), should_retry, ..Failure::default() }.into_error()
    };
    assert!(failure(500, None).is_retryable());
    assert!(!failure(500, Some(false)).is_retryable());
    assert!(!failure(400, None).is_retryable());
    assert!(failure(400, Some(true)).is_retryable());
}

#[test]
fn a_wait_that_was_asked_for_is_told() {
    let failure = Failure {
        http: Some(429),
        message: "slow down".to_owned(),
        retry_after: Some(Duration::from_millis(6200)),
        ..Failure::default()
    };
    let expected = "the provider's rate limit is reached (HTTP 429: slow down); try again in 7 s";
    assert_eq!(failure.into_error().to_string(), expected);
}

#[test]
fn codes_are_these_and_no_others() {
    let codes: Vec<&str> = ErrorClass::ALL.iter().map(|class| class.code()).collect();
    assert_eq!(
        codes.join(" "),
        "overflow rate_limit overloaded server timeout stream_stalled connection_refused transport certificate auth billing \
         invalid not_found media stream_truncated malformed cancelled replay"
    );
    assert_eq!(
        ErrorClass::Replay as usize + 1,
        codes.len(),
        "all classes, of which this is the last"
    );
    // Recordings write the class by its code.
    for class in ErrorClass::ALL {
        assert_eq!(serde_json::to_value(class).unwrap(), class.code());
    }
}
