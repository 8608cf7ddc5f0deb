//! Pools: their order never depends on registration, and a removed tool stays removed.

use std::sync::Arc;

use innerve_tool::{DynTool, Lookup, ToolBuilder, ToolPool, ToolSources};
use serde_json::{Value, json};

use crate::kit::{Idle, named};

/// A tool that was called `Task` once.
fn agent(enabled: bool) -> Arc<dyn DynTool> {
    Idle::<serde_json::Map<String, Value>>::new("Agent").once(&["Task"]).enabled(enabled).erased()
}

fn pool(builtins: &[&str], mcp: &[&str]) -> ToolPool {
    let tools = |names: &[&str]| names.iter().map(|name| named(name)).collect();
    ToolPool::assemble(ToolSources { builtins: tools(builtins), mcp: tools(mcp) }, |_| false)
}

fn with_agent(enabled: bool, denied: &'static str) -> ToolPool {
    let builtins = vec![named("Read"), agent(enabled)];
    ToolPool::assemble(ToolSources { builtins, mcp: Vec::new() }, |name| name == denied)
}

/// What a look-up says, in short.
fn found(pool: &ToolPool, name: &str) -> String {
    match pool.find(name) {
        Lookup::Found(tool) => tool.name().to_owned(),
        Lookup::Removed(tool) => format!("removed {}", tool.name()),
        Lookup::Unknown { nearest } => {
            format!("unknown, near {}", nearest.as_deref().unwrap_or("-"))
        }
    }
}

#[test]
fn i12_the_order_is_independent_of_registration_and_mcp_tools_come_last() {
    let expected = ["Bash", "Edit", "Read", "mcp__a__z", "mcp__b__a"];
    let one = pool(&["Read", "Bash", "Edit"], &["mcp__b__a", "mcp__a__z"]);
    let other = pool(&["Edit", "Read", "Bash"], &["mcp__a__z", "mcp__b__a"]);
    assert_eq!(one.names(), expected);
    assert_eq!(other.names(), expected);
    assert_eq!(one.builtin_count(), 3);
    let bytes = |pool: &ToolPool| serde_json::to_string(&pool.definitions()).unwrap();
    assert_eq!(bytes(&one), bytes(&other));
}

#[test]
fn i12_an_mcp_tool_leaves_the_built_in_part_byte_identical() {
    let before = serde_json::to_string(&pool(&["Bash", "Read"], &[]).definitions()).unwrap();
    let after = serde_json::to_string(&pool(&["Bash", "Read"], &["AAA"]).definitions()).unwrap();
    assert!(after.starts_with(before.trim_end_matches(']')), "{after}");
}

#[test]
fn a_built_in_tool_wins_a_clash_of_names() {
    let builtin = named("Read");
    let theirs: Arc<dyn DynTool> = ToolBuilder::new("Read", json!({ "type": "object" }))
        .description("theirs")
        .build(|_, _| async { Ok("".into()) })
        .unwrap();
    let pool = ToolSources { builtins: vec![Arc::clone(&builtin)], mcp: vec![theirs] };
    let pool = ToolPool::assemble(pool, |_| false);
    assert_eq!(pool.names(), ["Read"]);
    assert_eq!(pool.definitions()[0].description, "");
}

#[test]
fn a_former_name_finds_the_tool() {
    assert_eq!(found(&with_agent(true, ""), "Task"), "Agent");
    // An old transcript may name what is switched off now (the engine still judges it).
    let off = with_agent(false, "");
    assert_eq!(off.names(), ["Read"]);
    assert_eq!(found(&off, "Task"), "Agent");
    assert_eq!(found(&off, "Agent"), "removed Agent");
}

#[test]
fn i3_a_former_name_does_not_bring_back_what_a_rule_removed() {
    let denied = with_agent(true, "Agent");
    assert_eq!(denied.names(), ["Read"]);
    assert_eq!(found(&denied, "Agent"), "removed Agent");
    assert_eq!(found(&denied, "Task"), "removed Agent");
}

#[test]
fn an_unknown_name_is_told_the_nearest() {
    let pool = pool(&["Bash", "Grep", "Read"], &[]);
    assert_eq!(found(&pool, "bash"), "unknown, near Bash");
    assert_eq!(found(&pool, "Raed"), "unknown, near Read");
    assert_eq!(found(&pool, "Launch"), "unknown, near -");
    assert_eq!(found(&pool, ""), "unknown, near -");
    assert_eq!(found(&pool, &"x".repeat(100_000)), "unknown, near -");
    assert_eq!(found(&pool, "Ünïcödé"), "unknown, near -");
}

#[test]
fn a_narrowed_pool_knows_nothing_of_what_it_left_out() {
    let builtins = vec![named("Read"), named("Bash"), agent(true)];
    let pool =
        ToolPool::assemble(ToolSources { builtins, mcp: vec![named("mcp__a__b")] }, |name| {
            name == "Bash"
        });
    let narrowed = pool.narrowed(|tool| tool.name() != "Agent");
    assert_eq!(narrowed.names(), ["Read", "mcp__a__b"]);
    assert_eq!(narrowed.builtin_count(), 1);
    assert_eq!(found(&narrowed, "Agent"), "unknown, near -");
    assert_eq!(found(&narrowed, "Task"), "unknown, near -", "not by its former name either");
    assert_eq!(found(&narrowed, "Bash"), "removed Bash");
}

#[test]
fn i12_other_mcp_tools_leave_the_built_in_ones_as_they_are() {
    let before = pool(&["Read", "Bash"], &["mcp__first__z", "mcp__b__a"]);
    let after = before.with_mcp(vec![named("mcp__c__x"), named("Read")], |_| false);
    assert_eq!(after.names(), ["Bash", "Read", "mcp__c__x"]);
    assert_eq!(after.builtin_count(), 2);
    let pairs = before.tools().iter().zip(after.tools()).take(2);
    for (old, new) in pairs {
        assert!(Arc::ptr_eq(old, new), "{}", old.name());
    }
    assert_eq!(found(&after, "mcp__first__z"), "unknown, near -");
}

#[test]
fn i3_a_tool_that_joins_later_is_removed_by_a_deny_rule_and_a_removed_one_stays_so() {
    let before = with_agent(true, "Agent");
    let after =
        before.with_mcp(vec![named("mcp__c__x"), named("mcp__c__y")], |name| name == "mcp__c__y");
    assert_eq!(after.names(), ["Read", "mcp__c__x"]);
    assert_eq!(found(&after, "mcp__c__y"), "removed mcp__c__y");
    assert_eq!(found(&after, "Agent"), "removed Agent");
    assert_eq!(found(&after, "Task"), "removed Agent");
}

#[test]
fn a_narrowed_pool_takes_tools_that_join_later_beside_its_own_built_in_ones() {
    let narrowed = pool(&["Read", "Bash"], &["mcp__a__z"]).narrowed(|tool| tool.name() != "Bash");
    let after = narrowed.with_mcp(vec![named("mcp__c__x")], |_| false);
    assert_eq!(after.names(), ["Read", "mcp__c__x"]);
    assert_eq!(after.builtin_count(), 1);
}
