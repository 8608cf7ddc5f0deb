//! What is publicly known of Anthropic's models: sizes, kinds of thinking, prices.

use innerve_protocol::{Capabilities, Usage};

/// Tokens per price unit.
const MILLION: f64 = 1_000_000.0;
/// US dollars for one search of the web, whatever the model (Anthropic, "Pricing").
const WEB_SEARCH: f64 = 0.01;

/// The price of a model's tokens, in US dollars per million (Anthropic, "Pricing").
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Input tokens.
    input: f64,
    /// Output tokens.
    output: f64,
    /// Reads from the cache, as a part of `input`.
    cache_read: f64,
    /// Above so many input tokens, every price of the request is multiplied.
    long_prompt: Option<(u64, f64)>,
}

impl Price {
    /// A price with Anthropic's usual cache multipliers: reads 0.1, five-minute writes 1.25, one-hour writes 2.
    pub const fn new(input: f64, output: f64) -> Self {
        Self { input, output, cache_read: 0.1, long_prompt: None }
    }

    /// US dollars per million input tokens.
    pub fn input(self) -> f64 {
        self.input
    }

    /// US dollars per million output tokens.
    pub fn output(self) -> f64 {
        self.output
    }

    /// What one response cost in US dollars, the provider's own searches of the web included.
    ///
    /// Cache writes count as five-minute ones unless `usage` tells them apart.
    pub fn cost(self, usage: &Usage) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        let count = |count: Option<u64>| count.unwrap_or_default() as f64;
        let written = count(usage.cache_creation_input_tokens);
        let one_hour = usage
            .extra
            .get("cache_creation")
            .and_then(|detail| detail.get("ephemeral_1h_input_tokens")?.as_u64());
        let one_hour = count(one_hour).min(written);
        let input = count(usage.input_tokens)
            + count(usage.cache_read_input_tokens) * self.cache_read
            + (written - one_hour) * 1.25
            + one_hour * 2.0;
        let factor = match self.long_prompt {
            Some((limit, factor)) if usage.total_input() > limit => factor,
            Some(_) | None => 1.0,
        };
        let searches = usage
            .extra
            .get("server_tool_use")
            .and_then(|detail| detail.get("web_search_requests")?.as_u64());
        (input * self.input + count(usage.output_tokens) * self.output) * factor / MILLION
            + count(searches) * WEB_SEARCH
    }
}

/// The list price of a model, `None` if it is not known.
///
/// Names may carry a date, `-latest`, or a cloud's prefix and suffix.
pub fn price(model: &str) -> Option<Price> {
    find(model).map(|row| row.price)
}

/// What an Anthropic model takes, whoever serves it; `None` if it is not known.
///
/// Names may carry a date, `-latest`, or a cloud's prefix and suffix.
pub fn known_capabilities(model: &str) -> Option<Capabilities> {
    let row = find(model)?;
    Some(Capabilities {
        context_window: row.window,
        max_output_tokens: row.output,
        thinking_enabled: matches!(row.thinking, Kinds::Enabled | Kinds::Both),
        thinking_adaptive: matches!(row.thinking, Kinds::Adaptive | Kinds::Both),
        assistant_prefill: matches!(row.thinking, Kinds::None | Kinds::Enabled),
        tool_reference: row.tool_reference,
        // Anthropic, "Web search tool": from Claude 3.5 on.
        web_search: !matches!(row.name, "claude-3-opus" | "claude-3-haiku"),
        max_images: if row.window > 200_000 { 600 } else { 100 },
        ..Capabilities::anthropic()
    })
}

/// The model's name in public lists, without a date, an alias or a cloud's additions; `None` if it is not known.
pub fn known_model(model: &str) -> Option<&'static str> {
    find(model).map(|row| row.name)
}

/// The names of the models of the present generations, those of one family together, the newest first.
pub fn current_models() -> impl Iterator<Item = &'static str> {
    ROWS.iter().filter(|row| row.tool_reference).map(|row| row.name)
}

struct Row {
    name: &'static str,
    window: u64,
    output: u32,
    thinking: Kinds,
    tool_reference: bool,
    price: Price,
}

/// Kinds of thinking that a model takes (Anthropic, "Extended thinking", "Adaptive thinking").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinds {
    None,
    Enabled,
    Both,
    Adaptive,
}

const fn current(name: &'static str, price: Price) -> Row {
    Row {
        name,
        window: 1_000_000,
        output: 128_000,
        thinking: Kinds::Adaptive,
        tool_reference: true,
        price,
    }
}

const fn old(
    name: &'static str,
    output: u32,
    thinking: Kinds,
    tool_reference: bool,
    price: Price,
) -> Row {
    Row { name, window: 200_000, output, thinking, tool_reference, price }
}

const fn with_cache_read(price: Price, cache_read: f64) -> Price {
    Price { cache_read, ..price }
}

const fn with_long_prompt(price: Price, above: u64, factor: f64) -> Price {
    Price { long_prompt: Some((above, factor)), ..price }
}

/// Anthropic, "Models overview" and "Pricing", as of October 2026.
const ROWS: &[Row] = &[
    current("claude-fable-5-1", with_cache_read(Price::new(10.0, 50.0), 0.025)),
    current("claude-fable-5", Price::new(10.0, 50.0)),
    current("claude-mythos-5-1", with_cache_read(Price::new(10.0, 50.0), 0.025)),
    current("claude-mythos-5", Price::new(10.0, 50.0)),
    current("claude-opus-5-5", with_cache_read(Price::new(4.0, 20.0), 0.05)),
    current("claude-opus-5", Price::new(5.0, 25.0)),
    current("claude-opus-4-8", Price::new(5.0, 25.0)),
    current("claude-opus-4-7", Price::new(5.0, 25.0)),
    Row { thinking: Kinds::Both, ..current("claude-opus-4-6", Price::new(5.0, 25.0)) },
    old("claude-opus-4-5", 64_000, Kinds::Enabled, true, Price::new(5.0, 25.0)),
    old("claude-opus-4-1", 32_000, Kinds::Enabled, false, Price::new(15.0, 75.0)),
    old("claude-opus-4-0", 32_000, Kinds::Enabled, false, Price::new(15.0, 75.0)),
    old("claude-opus-4", 32_000, Kinds::Enabled, false, Price::new(15.0, 75.0)),
    old("claude-3-opus", 4_096, Kinds::None, false, Price::new(15.0, 75.0)),
    current("claude-sonnet-5-5", with_cache_read(Price::new(2.0, 10.0), 0.05)),
    current("claude-sonnet-5", Price::new(2.0, 10.0)),
    Row {
        output: 64_000,
        thinking: Kinds::Both,
        ..current("claude-sonnet-4-6", Price::new(3.0, 15.0))
    },
    old("claude-sonnet-4-5", 64_000, Kinds::Enabled, true, Price::new(3.0, 15.0)),
    old("claude-sonnet-4-0", 64_000, Kinds::Enabled, false, Price::new(3.0, 15.0)),
    old("claude-sonnet-4", 64_000, Kinds::Enabled, false, Price::new(3.0, 15.0)),
    old("claude-3-7-sonnet", 64_000, Kinds::Enabled, false, Price::new(3.0, 15.0)),
    old("claude-3-5-sonnet", 8_192, Kinds::None, false, Price::new(3.0, 15.0)),
    current("claude-haiku-5-5", with_long_prompt(Price::new(0.1, 0.5), 100_000, 5.0)),
    old("claude-haiku-4-5", 64_000, Kinds::Enabled, true, Price::new(1.0, 5.0)),
    old("claude-3-5-haiku", 8_192, Kinds::None, false, Price::new(0.8, 4.0)),
    old("claude-3-haiku", 4_096, Kinds::None, false, Price::new(0.25, 1.25)),
];

/// The row whose name `model` has, apart from a cloud's prefix and a date or alias at the end.
fn find(model: &str) -> Option<&'static Row> {
    let name = model.to_ascii_lowercase().replace('.', "-");
    let name = name.find("claude-").and_then(|start| name.get(start..))?;
    ROWS.iter().find(|row| name.strip_prefix(row.name).is_some_and(is_suffix))
}

/// Whether `rest` says which build of a model is meant, and not which model.
fn is_suffix(rest: &str) -> bool {
    let date =
        |text: &str| text.len() >= 8 && text.bytes().take(8).all(|byte| byte.is_ascii_digit());
    match rest.strip_prefix('-') {
        Some(tail) => tail == "latest" || date(tail) || tail.starts_with('v'),
        None => rest.is_empty() || rest.starts_with(['@', '[', ':']),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(model: &str, expected: Option<(f64, f64)>) {
        assert_eq!(price(model).map(|price| (price.input(), price.output())), expected, "{model}");
    }

    #[test]
    fn names_with_dates_and_clouds_are_found_and_others_are_not_guessed() {
        check("claude-opus-4-5-20251101", Some((5.0, 25.0)));
        check("claude-opus-4-20250514", Some((15.0, 75.0)));
        check("claude-3-5-haiku-latest", Some((0.8, 4.0)));
        check("us.anthropic.claude-sonnet-4-5-20250929-v1:0", Some((3.0, 15.0)));
        check("anthropic/claude-opus-4.6", Some((5.0, 25.0)));
        check("claude-sonnet-4@20250514", Some((3.0, 15.0)));
        check("claude-sonnet-4-6[1m]", Some((3.0, 15.0)));
        check("claude-opus-4-9", None);
        check("claude-opus-4-8-fast", None);
        check("gpt-5", None);
        check("", None);
    }

    #[test]
    fn every_row_finds_itself() {
        for row in ROWS {
            assert_eq!(find(row.name).map(|found| found.name), Some(row.name));
        }
    }

    #[track_caller]
    fn check_cost(model: &str, usage: &serde_json::Value, expected: f64) {
        let usage: Usage = serde_json::from_value(usage.clone()).unwrap();
        let cost = price(model).unwrap().cost(&usage);
        assert!((cost - expected).abs() < 1e-9, "{model}: {cost} is not {expected}");
    }

    #[test]
    fn cached_tokens_have_their_own_prices() {
        let model = "claude-sonnet-4-5";
        check_cost(model, &json!({"input_tokens": 1_000_000, "output_tokens": 1_000_000}), 18.0);
        check_cost(model, &json!({"cache_read_input_tokens": 1_000_000}), 0.3);
        check_cost(model, &json!({"cache_creation_input_tokens": 1_000_000}), 3.75);
        check_cost(
            model,
            &json!({"cache_creation_input_tokens": 1_000_000,
                "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 1_000_000}}),
            6.0,
        );
        check_cost("claude-opus-5-5", &json!({"cache_read_input_tokens": 1_000_000}), 0.2);
    }

    #[test]
    fn searches_of_the_web_are_paid_for_one_by_one() {
        check_cost(
            "claude-opus-5-5",
            &json!({"server_tool_use": {"web_search_requests": 3}}),
            0.03,
        );
        let usage = json!({"input_tokens": 200_000, "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 9}});
        check_cost("claude-haiku-5-5", &usage, 0.11);
        check_cost(
            "claude-opus-5-5",
            &json!({"server_tool_use": {"web_search_requests": "3"}}),
            0.0,
        );
    }

    #[test]
    fn the_oldest_models_do_not_search_the_web() {
        let searches = |model| known_capabilities(model).map(|known| known.web_search);
        assert_eq!(searches("claude-3-haiku-20240307"), Some(false));
        assert_eq!(searches("claude-3-5-haiku-latest"), Some(true));
        assert_eq!(searches("claude-opus-5-5"), Some(true));
    }

    #[test]
    fn long_prompts_may_cost_more() {
        check_cost("claude-haiku-5-5", &json!({"input_tokens": 100_000}), 0.01);
        check_cost("claude-haiku-5-5", &json!({"input_tokens": 200_000}), 0.1);
    }

    #[test]
    fn kinds_of_thinking_follow_the_models_age() {
        let kinds = |model| {
            let capabilities = known_capabilities(model)?;
            Some((capabilities.thinking_enabled, capabilities.thinking_adaptive))
        };
        assert_eq!(kinds("claude-3-5-haiku-latest"), Some((false, false)));
        assert_eq!(kinds("claude-sonnet-4-5"), Some((true, false)));
        assert_eq!(kinds("claude-opus-4-6"), Some((true, true)));
        assert_eq!(kinds("claude-opus-5"), Some((false, true)));
        assert_eq!(kinds("claude-next"), None);
    }
}
