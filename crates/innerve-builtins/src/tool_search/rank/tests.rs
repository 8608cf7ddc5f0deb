//! Which tools come first.

use serde_json::{Map, json};

use super::*;

/// Tools as servers of many kinds describe them, and what a model would type to find some of them.
const TOOLS: &str = include_str!("../samples/tools.txt");
const QUERIES: &str = include_str!("../samples/queries.txt");

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty())
}

fn full_name(name: &str) -> String {
    format!("mcp__{}", name.trim().replacen(' ', "__", 1))
}

fn catalog() -> Vec<CatalogEntry> {
    lines(TOOLS)
        .map(|line| {
            let [name, description, parameters] =
                line.split('|').collect::<Vec<_>>().try_into().unwrap();
            let fields = parameters.split_whitespace();
            let fields: Map<_, _> =
                fields.map(|field| (field.to_owned(), json!({ "type": "string" }))).collect();
            CatalogEntry {
                name: full_name(name),
                description: description.trim().to_owned(),
                input_schema: json!({ "type": "object", "properties": fields }),
                ..CatalogEntry::default()
            }
        })
        .collect()
}

#[track_caller]
fn check(tools: &[(&str, &str)], query: &str, expected: &[&str]) {
    let entries: Vec<CatalogEntry> = tools
        .iter()
        .map(|(name, description)| CatalogEntry {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            ..CatalogEntry::default()
        })
        .collect();
    let found: Vec<&str> = rank(&entries, query).iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(found, expected, "{query}");
}

#[test]
fn the_right_tool_is_among_the_first_five_for_95_percent_of_the_queries() {
    let entries = catalog();
    assert!(entries.len() >= 300, "{}", entries.len());
    let mut missed = Vec::new();
    let mut first = 0;
    let queries: Vec<&str> = lines(QUERIES).collect();
    assert!(queries.len() >= 60, "{}", queries.len());
    for line in &queries {
        let (query, tool) = line.split_once("=>").unwrap();
        let wanted = full_name(tool);
        assert!(entries.iter().any(|entry| entry.name == wanted), "no such tool: {wanted}");
        let found = rank(&entries, query.trim());
        match found.iter().position(|entry| entry.name == wanted) {
            Some(place) if place < 5 => first += usize::from(place == 0),
            place => missed.push((query.trim(), wanted, place)),
        }
    }
    let hits = queries.len() - missed.len();
    println!(
        "{hits} of {} among the first five, {first} first; missed: {missed:#?}",
        queries.len()
    );
    assert!(hits * 100 >= queries.len() * 95, "{hits} of {}: {missed:#?}", queries.len());
}

#[test]
fn the_same_query_gives_the_same_order_whatever_the_order_of_the_tools() {
    let forth = catalog();
    let mut back = forth.clone();
    back.reverse();
    for query in ["list", "create", "file", "search messages", "get user"] {
        let names = |entries: &[CatalogEntry]| -> Vec<String> {
            rank(entries, query).iter().map(|entry| entry.name.clone()).collect()
        };
        assert_eq!(names(&forth), names(&back), "{query}");
    }
}

const SOME: &[(&str, &str)] = &[
    ("mcp__slack__post_message", "Posts a message"),
    ("mcp__slack__list_channels", "Lists channels"),
    ("mcp__gmail__send", "Sends mail; works with Slack too"),
    ("mcp__slackline__count", "Counts slacklines"),
    ("WebFetch", "Fetches a page"),
];

#[test]
fn an_exact_name_wins_outright() {
    check(SOME, "mcp__gmail__send", &["mcp__gmail__send"]);
    check(SOME, "MCP__GMAIL__SEND", &["mcp__gmail__send"]);
    check(SOME, "webfetch", &["WebFetch"]);
}

#[test]
fn a_server_gives_its_tools_and_no_other_servers() {
    let own = &["mcp__slack__list_channels", "mcp__slack__post_message"];
    check(SOME, "mcp__slack", own);
    check(SOME, "mcp__slack__", own);
    check(SOME, "mcp__slack__*", own);
}

#[test]
fn a_word_with_plus_must_be_in_the_name_or_the_hint() {
    check(
        SOME,
        "+slack send",
        &["mcp__slack__post_message", "mcp__slack__list_channels", "mcp__slackline__count"],
    );
    check(SOME, "+calendar send", &[]);
}

#[test]
fn what_says_nothing_and_what_matches_nothing_finds_nothing() {
    check(SOME, "quantum", &[]);
    check(SOME, "+++ !!", &[]);
    check(SOME, "", &[]);
    check(&[], "send", &[]);
}

#[test]
fn endings_do_not_keep_words_apart() {
    for (a, b) in [
        ("issues", "issue"),
        ("creating", "create"),
        ("created", "create"),
        ("queries", "query"),
        ("boxes", "box"),
        ("planning", "plan"),
        ("merged", "merge"),
        ("meetings", "meeting"),
        ("searches", "search"),
        ("classes", "class"),
    ] {
        assert_eq!(stem(a), stem(b), "{a} {b}");
    }
    for word in ["status", "analysis", "class", "string", "need", "us", "is"] {
        assert_eq!(stem(word), word);
    }
}

#[test]
fn names_are_split_where_a_person_would() {
    let split = |text| words(text).collect::<Vec<_>>();
    assert_eq!(split("mcp__a-b__getUserByID2"), ["mcp", "a", "b", "get", "user", "by", "id2"]);
    assert_eq!(split("größe messen"), ["größ", "messen"]);
}

#[test]
fn select_takes_names_apart() {
    let select = |text| Query::parse(text);
    assert_eq!(select("select:A, B,,C"), Query::Select(vec!["A".into(), "B".into(), "C".into()]));
    assert_eq!(select(" SELECT:A"), Query::Select(vec!["A".into()]));
    assert_eq!(select("selection: a"), Query::Words("selection: a".to_owned()));
    assert_eq!(select("sélect:é"), Query::Words("sélect:é".to_owned()));
}
