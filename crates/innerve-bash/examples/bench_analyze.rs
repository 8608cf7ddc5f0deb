//! Times `analyze` beside the bare parse of the same text, and over a corpus of commands.
//!
//! `cargo run --release -p innerve-bash --example bench_analyze [-- --json]`; `cargo xtask bench analyze` runs it and holds it to
//! its bounds.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use innerve_bash::analyze;

/// The commands of the corpus: the second column of each row.
const CORPUS: &str = include_str!("../tests/corpus/everyday.txt");

/// How often a text is read; the median counts.
const ROUNDS: usize = 301;

/// One measured quantity.
struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    /// The most it may be.
    bound: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rows = measure();
    let mut out = io::stdout().lock();
    if std::env::args().any(|argument| argument == "--json") {
        let rows: Vec<String> = rows.iter().map(json).collect();
        writeln!(out, "[{}]", rows.join(","))?;
        return Ok(());
    }
    for row in &rows {
        let bound =
            row.bound.map_or(String::new(), |bound| format!("  at most {bound} {}", row.unit));
        writeln!(out, "{:<44} {:>10.2} {}{bound}", row.name, row.value, row.unit)?;
    }
    Ok(())
}

/// Names and units hold no character that JSON escapes.
fn json(row: &Row) -> String {
    let bound = row.bound.map_or("null".to_owned(), |bound| bound.to_string());
    format!(
        r#"{{"name":"{}","value":{:.3},"unit":"{}","bound":{bound}}}"#,
        row.name, row.value, row.unit
    )
}

fn measure() -> Vec<Row> {
    // The table is built and the processor woken before anything counts.
    for _ in 0..2_000 {
        black_box(analyze(black_box("git status")));
    }
    let mut rows = Vec::new();
    let mut compare = |name: &str, text: &str, bound: Option<f64>| {
        let (analyzed, bare) = side_by_side(text);
        let row =
            |what, value, unit, bound| Row { name: format!("{name}: {what}"), value, unit, bound };
        rows.push(row("analyze", analyzed, "us", None));
        rows.push(row("bare parse", bare, "us", None));
        rows.push(row("ratio", analyzed / bare, "x", bound));
        analyzed
    };
    compare("git status", "git status", Some(3.0));
    compare(
        "a pipeline",
        "cd src && grep -rn 'foo' . 2>/dev/null | sort | uniq -c | head -20",
        None,
    );
    let small = script(2_000);
    let large = script(10_000);
    let two = compare("2 kB script", &small, Some(3.0)) / kilobytes(&small);
    let ten = compare("10 kB script", &large, None) / kilobytes(&large);
    rows.push(Row {
        name: "10 kB against 2 kB, per byte".to_owned(),
        value: ten / two,
        unit: "x",
        bound: Some(1.5),
    });
    let mut times: Vec<f64> = commands().iter().map(|text| micros(text, analyze)).collect();
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times.get(times.len() * part / 100).copied().unwrap_or_default();
    for (name, part, bound) in
        [("median", 50, Some(40.0)), ("95th percentile", 95, None), ("99th percentile", 99, None)]
    {
        rows.push(Row { name: format!("corpus: {name}"), value: at(part), unit: "us", bound });
    }
    rows
}

/// The commands of the corpus.
fn commands() -> Vec<String> {
    CORPUS
        .lines()
        .filter_map(|line| line.split(" ┃ ").nth(1))
        .map(|command| command.replace('⏎', "\n"))
        .collect()
}

/// A script of about `length` bytes as an agent would write it: less than a hundred commands however long it is.
fn script(length: usize) -> String {
    let mut text = String::new();
    for number in 1.. {
        let line = format!(
            "grep -rn --include='*.rs' --exclude-dir=target 'fn parse_number_{number} or its caller' crates/module_{number}/src \
             \"$HOME/projects/tool-{number}\" 2>/dev/null | head -{number} # step {number}: where it is used\n"
        );
        if text.len() + line.len() > length {
            break;
        }
        text.push_str(&line);
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "the length of a text of some kilobytes")]
fn kilobytes(text: &str) -> f64 {
    text.len() as f64 / 1000.0
}

/// Medians of both, taken in turn so that both see the same machine.
fn side_by_side(text: &str) -> (f64, f64) {
    let mut analyzed = Vec::with_capacity(ROUNDS);
    let mut bare = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        analyzed.push(time(|| drop(black_box(analyze(black_box(text))))));
        bare.push(time(|| drop(black_box(parse(black_box(text))))));
    }
    (median(analyzed), median(bare))
}

/// The parse alone, with a parser of its own as the analyzer has one.
fn parse(text: &str) -> Option<tree_sitter::Tree> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(text, None)
}

fn micros<T>(text: &str, work: impl Fn(&str) -> T) -> f64 {
    median((0..21).map(|_| time(|| drop(black_box(work(black_box(text)))))).collect())
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e6)
}
