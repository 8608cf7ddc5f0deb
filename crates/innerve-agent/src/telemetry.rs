//! Telemetry: the spans and events of a run, made of fixed words and of numbers.
//!
//! INVARIANT: as in the pipeline, nothing here holds a text that a model, a person, a file or a server wrote, unless the
//! host asked for names (`Pipeline::with_naming`).

use std::time::Duration;

use innerve_model::{ErrorClass, ModelError, known_model, price};
use innerve_permission::PermissionMode;
use innerve_pipeline::Naming;
use innerve_protocol::{ContentBlock, RetryNotice, Usage};
use tracing::field::Empty;
use tracing::{Level, Span, event, info, info_span};

use crate::response::Response;
use crate::{RunSummary, SessionEnv};

/// The span of a run, from a prompt to its end.
pub(crate) fn interaction(env: &SessionEnv) -> Span {
    let span = info_span!(
        "innerve.interaction",
        session.id = Empty,
        prompt.id = Empty,
        model = model(env.pipeline.naming(), &env.config.model),
        agent_depth = env.depth,
        outcome = Empty,
        turns = Empty,
        input_tokens = Empty,
        output_tokens = Empty,
        cost_usd = Empty,
    );
    if !span.is_disabled() {
        // An id that is no plain one was made by somebody else, and may say more than it should.
        if env.session_id.is_plain() {
            span.record("session.id", env.session_id.as_str());
        }
        span.record("prompt.id", crate::random_id());
    }
    span
}

/// A person, or an agent above, wrote.
pub(crate) fn user_prompt(prompt: &[ContentBlock]) {
    let length = || -> usize {
        prompt.iter().filter_map(ContentBlock::as_text).map(|text| text.chars().count()).sum()
    };
    info!(prompt_length = length(), blocks = prompt.len(), "user_prompt");
    event!(target: "innerve::metrics", Level::TRACE, monotonic_counter.innerve.prompt.count = 1_u64);
}

/// A session begins.
pub(crate) fn session(start: &'static str) {
    event!(target: "innerve::metrics", Level::TRACE, monotonic_counter.innerve.session.count = 1_u64, start);
}

/// The span of a request to a model, retries included.
pub(crate) fn llm_request(naming: Naming, name: &str, max_tokens: u32, messages: usize) -> Span {
    info_span!(
        "innerve.llm_request",
        model = model(naming, name),
        max_tokens,
        messages,
        input_tokens = Empty,
        output_tokens = Empty,
        cache_read_tokens = Empty,
        cache_creation_tokens = Empty,
        stop_reason = Empty,
        error_type = Empty,
    )
}

/// A request was answered, or was not.
pub(crate) fn answered(
    span: &Span,
    naming: Naming,
    name: &str,
    response: &Response,
    elapsed: Duration,
) {
    if span.is_disabled() {
        return;
    }
    let usage = &response.usage;
    let tokens = |count: Option<u64>| count.unwrap_or_default();
    span.record("input_tokens", tokens(usage.input_tokens));
    span.record("output_tokens", tokens(usage.output_tokens));
    span.record("cache_read_tokens", tokens(usage.cache_read_input_tokens));
    span.record("cache_creation_tokens", tokens(usage.cache_creation_input_tokens));
    let stop = response.stop.as_ref().map(|(reason, _)| stop_name(reason));
    if let Some(stop) = stop {
        span.record("stop_reason", stop);
    }
    let cost = price(name).map(|price| price.cost(usage));
    let duration_ms = whole(elapsed);
    span.in_scope(|| match &response.error {
        Some(error) => failed(span, error, duration_ms),
        None if response.interrupted => info!(duration_ms, "api_interrupted"),
        None => info!(duration_ms, cost_usd = cost, stop_reason = stop, "api_request"),
    });
    count_tokens(model(naming, name), usage, cost);
}

fn failed(span: &Span, error: &ModelError, duration_ms: u64) {
    let class = error.class().code();
    span.record("error_type", class);
    info!(error_type = class, status_code = error.http_status(), duration_ms, "api_error");
}

fn count_tokens(model: &str, usage: &Usage, cost: Option<f64>) {
    for (kind, count) in [
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("cacheRead", usage.cache_read_input_tokens),
        ("cacheCreation", usage.cache_creation_input_tokens),
    ] {
        if let Some(count) = count {
            event!(target: "innerve::metrics", Level::TRACE, monotonic_counter.innerve.token.usage = count,
                r#type = kind,
                model);
        }
    }
    if let Some(cost) = cost {
        event!(target: "innerve::metrics", Level::TRACE, monotonic_counter.innerve.cost.usage = cost, model);
    }
}

/// A request is sent again.
pub(crate) fn retrying(notice: &RetryNotice) {
    // The class is a text, which a recording might have made up.
    let class = serde_json::from_value::<ErrorClass>(notice.class.clone().into());
    let class = class.map_or("error", ErrorClass::code);
    info!(error_type = class, attempt = notice.attempt, delay_ms = notice.delay_ms, "api_retry");
}

/// The agent's mode has changed.
pub(crate) fn mode_changed(from: PermissionMode, to: PermissionMode) {
    if from != to {
        info!(from = from.name(), to = to.name(), "permission_mode_changed");
    }
}

/// A run is over.
pub(crate) fn ended(summary: &RunSummary, elapsed: Duration) {
    let span = Span::current();
    if span.is_disabled() {
        return;
    }
    let reason = summary.terminal.reason.name();
    span.record("outcome", reason);
    span.record("turns", summary.turns);
    span.record("input_tokens", summary.usage.total_input());
    span.record("output_tokens", summary.usage.output_tokens.unwrap_or_default());
    if let Some(cost) = summary.cost_usd {
        span.record("cost_usd", cost);
    }
    let refused = summary.permission_denials.len();
    info!(outcome = reason, refused, duration_ms = whole(elapsed), "interaction_ended");
}

/// A conversation was compacted; sizes are in tokens, about.
pub(crate) fn compacted(trigger: &'static str, before: u64, after: u64) {
    info!(trigger, pre_tokens = before, post_tokens = after, "compaction");
}

/// A sub-agent is done.
pub(crate) fn subagent_completed(kind: &'static str, summary: &RunSummary, elapsed: Duration) {
    info!(
        agent_type = kind,
        outcome = summary.terminal.reason.name(),
        turns = summary.turns,
        duration_ms = whole(elapsed),
        "subagent_completed"
    );
}

/// Something of the host itself panicked; what it said is not told.
pub(crate) fn internal_error() {
    info!(error_type = "panic", "internal_error");
}

/// The model's name as it may leave the machine: that of a known one, or `custom`.
fn model(naming: Naming, name: &str) -> &str {
    match naming {
        Naming::Classes => known_model(name).unwrap_or("custom"),
        Naming::Given => name,
    }
}

fn stop_name(reason: &innerve_protocol::StopReason) -> &'static str {
    use innerve_protocol::StopReason as Stop;
    match reason {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence => "stop_sequence",
        Stop::PauseTurn => "pause_turn",
        Stop::Refusal => "refusal",
        Stop::ModelContextWindowExceeded => "model_context_window_exceeded",
        Stop::Other(_) => "other",
    }
}

fn whole(elapsed: Duration) -> u64 {
    u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX)
}
