//! Times `analyze` beside the bare parse of the same text, and over a corpus of commands.
//!
//! `cargo run --release -p innerve-bash --example bench_analyze` prints samples as JSON; `cargo xtask bench analyze` makes a table of
//! them and holds it to its bounds.

use std::error::Error;
use std::hint::black_box;
use std::io::{self, Write as _};
use std::time::Instant;

use innerve_bash::analyze;

/// The commands of the corpus: the second column of each row.
const CORPUS: &str = include_str!("../tests/corpus/everyday.txt");

/// How often a text is read.
const ROUNDS: usize = 301;

/// How often each command of the corpus is read.
const CORPUS_ROUNDS: usize = 21;

/// One measured quantity.
struct Row {
    name: String,
    samples: Vec<f64>,
    unit: &'static str,
    /// The most it may be.
    bound: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let rows: Vec<String> = measure().iter().map(json).collect();
    writeln!(io::stdout().lock(), "[{}]", rows.join(","))?;
    Ok(())
}

/// Names and units hold no character that JSON escapes.
fn json(row: &Row) -> String {
    let bound = row.bound.map_or("null".to_owned(), |bound| bound.to_string());
    let samples: Vec<String> = row.samples.iter().map(|sample| format!("{sample:.4}")).collect();
    format!(
        r#"{{"name":"analyze: {}","samples":[{}],"unit":"{}","bound":{bound}}}"#,
        row.name,
        samples.join(","),
        row.unit
    )
}

fn measure() -> Vec<Row> {
    // The table is built and the processor woken before anything counts.
    for _ in 0..2_000 {
        drop(black_box(analyze(black_box("git status"))));
    }
    let mut rows = Vec::new();
    let mut compare = |name: &str, text: &str, bound: Option<f64>| {
        let (analyzed, bare) = side_by_side(text);
        let ratios = analyzed.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
        let row = |what, samples, unit, bound| Row {
            name: format!("{name}, {what}"),
            samples,
            unit,
            bound,
        };
        rows.push(row("analyze", analyzed.clone(), "us", None));
        rows.push(row("bare parse", bare, "us", None));
        rows.push(row("ratio", ratios, "x", bound));
        analyzed
    };
    compare("git status", "git status", Some(3.0));
    compare(
        "a pipeline",
        "cd src && grep -rn 'foo' . 2>/dev/null | sort | uniq -c | head -20",
        None,
    );
    let (small, large) = (script(2_000), script(10_000));
    let two = compare("2 kB script", &small, Some(3.0));
    let ten = compare("10 kB script", &large, None);
    let factor = kilobytes(&small) / kilobytes(&large);
    rows.push(Row {
        name: "10 kB against 2 kB, per byte".to_owned(),
        samples: ten.iter().zip(&two).map(|(ten, two)| factor * ten / two).collect(),
        unit: "x",
        bound: Some(1.5),
    });
    // The corpus as a whole, again and again: each round gives its own percentiles.
    let commands = commands();
    let mut parts =
        [("median", 50, Some(40.0)), ("95th percentile", 95, None), ("99th percentile", 99, None)]
            .map(|(name, part, bound)| {
                let name = format!("corpus, {name}");
                (part, Row { name, samples: Vec::new(), unit: "us", bound })
            });
    for _ in 0..CORPUS_ROUNDS {
        let mut times: Vec<f64> = commands
            .iter()
            .map(|text| time(|| drop(black_box(analyze(black_box(text))))))
            .collect();
        times.sort_by(f64::total_cmp);
        for (part, row) in &mut parts {
            row.samples.extend(times.get(times.len() * *part / 100));
        }
    }
    rows.extend(parts.into_iter().map(|(_, row)| row));
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

/// The microseconds of both, taken in turn so that both see the same machine.
fn side_by_side(text: &str) -> (Vec<f64>, Vec<f64>) {
    let mut analyzed = Vec::with_capacity(ROUNDS);
    let mut bare = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        analyzed.push(time(|| drop(black_box(analyze(black_box(text))))));
        bare.push(time(|| drop(black_box(parse(black_box(text))))));
    }
    (analyzed, bare)
}

/// The parse alone, with a parser of its own as the analyzer has one.
fn parse(text: &str) -> Option<tree_sitter::Tree> {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    parser.parse(text, None)
}

fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64() * 1e6
}
