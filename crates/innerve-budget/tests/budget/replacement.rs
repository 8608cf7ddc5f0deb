//! The results of one message together: what is replaced, and that it stays so.

use innerve_budget::{MemoryStore, ReplacementRecord, ReplacementState, ResultStore};
use innerve_protocol::{ContentBlock, Message, Role, ToolResult, ToolResultContent, ToolUse};
use proptest::prelude::*;
use serde_json::json;

const BUDGET: usize = ReplacementState::CHARS_PER_MESSAGE;

fn call(id: &str, tool: &str) -> ContentBlock {
    ContentBlock::ToolUse(ToolUse::new(id, tool, json!({})))
}

fn result(id: &str, content: impl Into<ToolResultContent>) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult::ok(id.into(), content))
}

/// One round of parallel calls of one tool, with results of these lengths.
fn round_of(tool: &str, name: &str, lengths: &[usize]) -> Vec<Message> {
    let id = |index: usize| format!("{name}_{index}");
    let calls = (0..lengths.len()).map(|index| call(&id(index), tool)).collect();
    let results = lengths
        .iter()
        .enumerate()
        .map(|(index, length)| result(&id(index), "x".repeat(*length)))
        .collect();
    vec![Message::new(Role::Assistant, calls), Message::new(Role::User, results)]
}

fn round(name: &str, lengths: &[usize]) -> Vec<Message> {
    round_of("Bash", name, lengths)
}

fn bounds_itself(tool: &str) -> bool {
    tool == "Read"
}

fn apply(
    state: &mut ReplacementState,
    messages: &mut [Message],
    store: Option<&dyn ResultStore>,
) -> Vec<String> {
    let records = state.apply(messages, bounds_itself, store);
    records.into_iter().map(|record| record.tool_use_id.to_string()).collect()
}

/// Which results are replaced at the first sight of a conversation.
#[track_caller]
fn check(mut messages: Vec<Message>, replaced: &[&str]) -> Vec<Message> {
    let store = MemoryStore::new(u64::MAX);
    let found = apply(&mut ReplacementState::new(), &mut messages, Some(&store));
    assert_eq!(found, replaced);
    messages
}

fn lengths(messages: &[Message]) -> Vec<usize> {
    let results = messages.iter().flat_map(|message| &message.content);
    let results = results.filter_map(ContentBlock::as_tool_result);
    results.map(|result| result.content.plain_text().chars().count()).collect()
}

#[test]
fn f93_the_earliest_of_five_equal_results_is_replaced_and_that_is_enough() {
    let messages = check(round("a", &[45_000; 5]), &["a_0"]);
    let lengths = lengths(&messages);
    assert!(lengths[0] < 3_000 && lengths.iter().sum::<usize>() <= BUDGET, "{lengths:?}");
    assert_eq!(lengths[1..], [45_000; 4]);
}

#[test]
fn the_largest_go_first_until_the_rest_fits() {
    check(round("a", &[10_000, 50_000, 40_000, 50_000, 50_000, 30_000]), &["a_1"]);
    check(round("a", &[50_000; 8]), &["a_0", "a_1", "a_2", "a_3", "a_4"]);
    check(round("a", &[20_000, 20_000, 190_000]), &["a_2"]);
}

#[test]
fn exactly_the_budget_is_within_it() {
    check(round("a", &[50_000; 4]), &[]);
    check(round("a", &[50_000, 50_000, 50_000, 50_000, 1]), &["a_0"]);
}

#[test]
fn each_message_has_its_own_budget() {
    let messages = [round("a", &[50_000; 4]), round("b", &[50_000; 4])].concat();
    check(messages, &[]);
}

#[test]
fn adjacent_user_messages_count_together() {
    let calls = (0..5).map(|index| call(&index.to_string(), "Bash")).collect();
    let mut messages = vec![Message::new(Role::Assistant, calls)];
    messages.extend((0..5).map(|index| {
        Message::new(Role::User, vec![result(&index.to_string(), "x".repeat(45_000))])
    }));
    check(messages, &["0"]);
}

#[test]
fn i12_f93_what_is_sent_later_has_the_same_bytes() {
    let store = MemoryStore::new(u64::MAX);
    let mut state = ReplacementState::new();
    let original = round("a", &[45_000; 5]);
    let mut first = original.clone();
    apply(&mut state, &mut first, Some(&store));
    // Whether the host keeps the original or what was sent: the bytes are the same, and nothing is saved again.
    for mut later in [original, first.clone()] {
        later.extend(round("b", &[100]));
        assert_eq!(apply(&mut state, &mut later, None), [""; 0]);
        assert_eq!(later[..2], first);
    }
    assert_eq!(store.len(), 1);
}

#[test]
fn f94_what_was_sent_in_full_is_never_replaced() {
    let store = MemoryStore::new(u64::MAX);
    let mut state = ReplacementState::new();
    let mut messages = round("a", &[50_000; 4]);
    assert_eq!(apply(&mut state, &mut messages, Some(&store)), [""; 0]);
    // More results turn up for the same message.
    messages[0].content.push(call("late", "Bash"));
    messages[1].content.push(result("late", "y".repeat(40_000)));
    let before = lengths(&messages);
    assert_eq!(apply(&mut state, &mut messages, Some(&store)), ["late"]);
    assert_eq!(lengths(&messages)[..4], before[..4]);
    // Nor when the frozen ones alone are too much.
    messages[0].content.push(call("last", "Bash"));
    messages[1].content.push(result("last", "z".repeat(10)));
    assert_eq!(apply(&mut state, &mut messages, Some(&store)), [""; 0]);
}

#[test]
fn what_bounds_itself_fails_or_shows_a_picture_is_neither_counted_nor_replaced() {
    check(round_of("Read", "r", &[120_000, 120_000]), &[]);
    let mut messages = round("a", &[50_000; 3]);
    let wrapper = lengths(&check(round("w", &[45_000; 5]), &["w_0"]))[0];
    assert!(wrapper > 0);
    let image = json!({"type": "image", "source": {"type": "url", "url": "u"}});
    let picture =
        vec![ContentBlock::text("x".repeat(60_000)), serde_json::from_value(image).unwrap()];
    let failed = ToolResult::error("failed".into(), "x".repeat(60_000));
    messages[0].content.extend([
        call("r", "Read"),
        call("picture", "Shot"),
        call("failed", "Bash"),
    ]);
    messages[1].content.extend([
        result("r", "x".repeat(120_000)),
        result("picture", picture),
        ContentBlock::ToolResult(failed),
    ]);
    check(messages, &[]);
}

#[test]
fn small_results_are_not_replaced_by_larger_wrappers() {
    let messages = check(round("a", &vec![100; 2_100]), &[]);
    assert!(lengths(&messages).iter().all(|length| *length == 100));
}

#[test]
fn what_cannot_be_saved_stays_and_is_frozen() {
    let mut state = ReplacementState::new();
    let mut messages = round("a", &[45_000; 5]);
    let before = messages.clone();
    assert_eq!(apply(&mut state, &mut messages, Some(&MemoryStore::new(0))), [""; 0]);
    let store = MemoryStore::new(u64::MAX);
    assert_eq!(apply(&mut state, &mut messages, Some(&store)), [""; 0]);
    assert_eq!(messages, before);
}

#[test]
fn i12_f95_a_resumed_session_sends_the_same_bytes_without_reading_files() {
    let store = MemoryStore::new(u64::MAX);
    let mut state = ReplacementState::new();
    let original = [round("a", &[45_000; 5]), round("b", &[10])].concat();
    let mut sent = original.clone();
    let records = state.apply(&mut sent, bounds_itself, Some(&store));
    assert_eq!(state.records().collect::<Vec<_>>(), records);

    let log: Vec<String> =
        records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    let read = log.iter().map(|line| serde_json::from_str::<ReplacementRecord>(line).unwrap());
    let mut resumed = ReplacementState::resume(&original, read);
    assert_eq!(resumed, state);
    let mut again = original;
    assert_eq!(resumed.apply(&mut again, bounds_itself, None), []);
    assert_eq!(again, sent);
}

#[test]
fn history_without_a_record_is_frozen() {
    let mut messages = round("a", &[45_000; 5]);
    let mut resumed = ReplacementState::resume(&messages, []);
    let store = MemoryStore::new(u64::MAX);
    assert_eq!(apply(&mut resumed, &mut messages, Some(&store)), [""; 0]);
}

#[test]
fn a_record_says_its_kind() {
    let record =
        ReplacementRecord { tool_use_id: "toolu_1".into(), replacement: "short".to_owned() };
    assert_eq!(
        serde_json::to_value(record).unwrap(),
        json!({"kind": "content_replacement", "tool_use_id": "toolu_1", "replacement": "short"})
    );
}

#[test]
fn a_fork_decides_alike_for_the_past_and_alone_for_the_future() {
    let store = MemoryStore::new(u64::MAX);
    let mut parent = ReplacementState::new();
    let mut messages = round("a", &[45_000; 5]);
    let original = messages.clone();
    apply(&mut parent, &mut messages, Some(&store));
    let mut child = parent.clone();
    let mut forked = original;
    forked.extend(round("c", &[45_000; 5]));
    assert_eq!(apply(&mut child, &mut forked, Some(&store)), ["c_0"]);
    assert_eq!(forked[..2], messages);
    assert_eq!(parent.replacement(&"c_0".into()), None);
}

#[test]
fn a_compaction_forgets_what_left() {
    let store = MemoryStore::new(u64::MAX);
    let mut state = ReplacementState::new();
    let mut messages = [round("a", &[45_000; 5]), round("b", &[45_000; 5])].concat();
    apply(&mut state, &mut messages, Some(&store));
    state.retain(&messages[2..]);
    assert_eq!(state.replacement(&"a_0".into()), None);
    assert!(state.replacement(&"b_0".into()).is_some());
    assert_eq!(state, ReplacementState::resume(&messages[2..], state.records()));
}

#[test]
fn a_replacement_does_not_spread_to_a_later_result_with_the_same_id() {
    let mut messages = round("a", &[45_000; 5]);
    messages.extend(round("a", &[7]));
    let messages = check(messages, &["a_0"]);
    assert_eq!(lengths(&messages)[5], 7);
}

/// Rounds of results, some small, some large, by a tool that bounds itself or not.
fn rounds() -> impl Strategy<Value = Vec<Vec<Message>>> {
    let length = prop_oneof![0_usize..300, 1_000_usize..60_000];
    let round = (prop::collection::vec(length, 0..12), any::<bool>());
    prop::collection::vec(round, 1..5).prop_map(|rounds| {
        let of = |(index, (lengths, reads)): (usize, (Vec<usize>, bool))| {
            round_of(if reads { "Read" } else { "Bash" }, &format!("r{index}"), &lengths)
        };
        rounds.into_iter().enumerate().map(of).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn i12_what_was_sent_never_changes(rounds in rounds()) {
        let store = MemoryStore::new(u64::MAX);
        let mut state = ReplacementState::new();
        let mut original: Vec<Message> = Vec::new();
        let mut sent: Vec<Message> = Vec::new();
        for round in rounds {
            original.extend(round);
            let mut request = original.clone();
            state.apply(&mut request, bounds_itself, Some(&store));
            prop_assert_eq!(&request[..sent.len()], &sent[..]);
            sent = request;
        }
        // Once more, without a store: not a byte differs.
        let mut again = original;
        prop_assert_eq!(state.apply(&mut again, bounds_itself, None), vec![]);
        prop_assert_eq!(again, sent);
    }

    #[test]
    fn i8_replaceable_results_of_a_message_come_within_the_budget(rounds in rounds()) {
        let store = MemoryStore::new(u64::MAX);
        let mut messages = rounds.concat();
        ReplacementState::new().apply(&mut messages, bounds_itself, Some(&store));
        for pair in messages.chunks(2) {
            let reads = pair[0].tool_uses().any(|tool_use| tool_use.name == "Read");
            prop_assert!(reads || lengths(pair).iter().sum::<usize>() <= BUDGET);
        }
    }

    #[test]
    fn i9_what_is_replaced_is_saved(rounds in rounds()) {
        let store = MemoryStore::new(u64::MAX);
        let original = rounds.concat();
        let mut messages = original.clone();
        let records = ReplacementState::new().apply(&mut messages, bounds_itself, Some(&store));
        prop_assert_eq!(store.len(), records.len());
        for record in records {
            let path = format!("/results/{}.txt", record.tool_use_id);
            prop_assert!(record.replacement.contains(&path));
            let results = original.iter().flat_map(|message| &message.content);
            let result = results.filter_map(ContentBlock::as_tool_result)
                .find(|result| result.tool_use_id == record.tool_use_id).unwrap();
            prop_assert_eq!(store.get(path.as_ref()), Some(result.content.plain_text()));
        }
    }
}
