//! The user guide: every command in it is run, and must print what the guide says.
//!
//! A page is read from top to bottom in one world. A block ` ```json file=NAME ` is written to that file; `~/` in the name
//! is the home. In a block ` ```console ` a line `$ COMMAND` is run by bash in the project's folder, with `> ` lines as its
//! continuation, and the lines behind it are what it prints, on both outputs; `…` alone stands for any lines, and within a
//! line for any text. A last line `[exit N]` is its exit code, if that is not 0. Blocks of other kinds are for reading.

use std::fs;
use std::path::{Path, PathBuf};

use innerve_tests::World;

/// What the guide calls the home and the project.
const HOME: &str = "/home/you";
const PROJECT: &str = "/home/you/project";

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide");
    let mut pages: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

/// A fenced block: the words behind the fence, the line it begins in, and its lines.
struct Block {
    kind: Vec<String>,
    line: usize,
    lines: Vec<String>,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(kind) => {
                open = true;
                let kind = kind.split_whitespace().map(str::to_owned).collect();
                blocks.push(Block { kind, line: index + 2, lines: Vec::new() });
            }
            None if open => blocks.last_mut().unwrap().lines.push(line.to_owned()),
            None => {}
        }
    }
    blocks
}

/// A command of a console block, its line, and what it should print.
struct Step {
    command: String,
    line: usize,
    output: Vec<String>,
    code: i32,
}

fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (index, line) in block.lines.iter().enumerate() {
        let code = line.strip_prefix("[exit ").and_then(|rest| rest.strip_suffix(']'));
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step {
                command: command.to_owned(),
                line: block.line + index,
                output: Vec::new(),
                code: 0,
            }),
            (None, Some(step)) => match (line.strip_prefix("> "), code) {
                (Some(more), _) if step.output.is_empty() => {
                    step.command.push('\n');
                    step.command.push_str(more);
                }
                (_, Some(code)) => step.code = code.parse().unwrap(),
                (_, None) => step.output.push(line.clone()),
            },
            (None, None) => panic!("line {}: output before a command", block.line + index),
        }
    }
    steps
}

/// Whether the output is like the pattern; `…` alone in a line stands for any lines, within a line for any text.
fn is_like(pattern: &[String], output: &[&str]) -> bool {
    match (pattern.split_first(), output.split_first()) {
        (None, None) => true,
        (None, Some(_)) => false,
        (Some((first, rest)), _) if first.trim() == "…" => {
            (0..=output.len()).any(|skipped| is_like(rest, &output[skipped..]))
        }
        (Some(_), None) => false,
        (Some((first, rest)), Some((line, lines))) => {
            line_is_like(first, line) && is_like(rest, lines)
        }
    }
}

fn line_is_like(pattern: &str, line: &str) -> bool {
    let Some((before, after)) = pattern.split_once('…') else { return pattern == line };
    let Some(rest) = line.strip_prefix(before) else { return false };
    rest.char_indices()
        .map(|(at, _)| at)
        .chain([rest.len()])
        .any(|at| line_is_like(after, &rest[at..]))
}

fn run(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let name = page.file_name().unwrap().to_str().unwrap();
    let world = World::new().file(".git/HEAD", "ref: refs/heads/main\n");
    let home = world.root().join("home");
    let mut problems = Vec::new();
    for block in blocks(&text) {
        let file = block.kind.iter().find_map(|word| word.strip_prefix("file="));
        if let Some(file) = file {
            let path = match file.strip_prefix("~/") {
                Some(file) => home.join(file),
                None => world.work(file),
            };
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, block.lines.join("\n") + "\n").unwrap();
            if file.ends_with(".sh") {
                use std::os::unix::fs::PermissionsExt as _;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        if block.kind.first().is_none_or(|kind| kind != "console") {
            continue;
        }
        for step in steps(&block) {
            let innerve = world.innerve([]).env("XDG_CONFIG_HOME", home.join(".config"));
            let ended = innerve.by_shell(&format!("exec 2>&1\n{}", step.command));
            let output = ended
                .stdout()
                .replace(&*world.work("").to_string_lossy(), PROJECT)
                .replace(&*home.to_string_lossy(), HOME);
            let lines: Vec<&str> = output.lines().map(str::trim_end).collect();
            let code = ended.code();
            if code != step.code || !is_like(&step.output, &lines) {
                problems.push(format!(
                    "docs/guide/{name}:{}: $ {}\n── the guide (exit {})\n{}\n── the program (exit {code})\n{output}",
                    step.line,
                    step.command,
                    step.code,
                    step.output.join("\n"),
                ));
            }
        }
    }
    problems
}

#[test]
fn every_command_of_the_guide_prints_what_the_guide_says() {
    let problems: Vec<String> = pages().iter().flat_map(|page| run(page)).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
fn every_page_has_commands_and_the_contents_name_it() {
    let pages = pages();
    let contents = pages.iter().find(|page| page.ends_with("README.md")).unwrap();
    let contents = fs::read_to_string(contents).unwrap();
    for page in pages.iter().filter(|page| !page.ends_with("README.md")) {
        let name = page.file_name().unwrap().to_str().unwrap();
        assert!(contents.contains(&format!("]({name})")), "README.md does not name {name}");
        let text = fs::read_to_string(page).unwrap();
        let count: usize = blocks(&text)
            .iter()
            .filter(|block| block.kind.first().is_some_and(|kind| kind == "console"))
            .map(|block| steps(block).len())
            .sum();
        assert!(count > 0, "{name} shows no command");
    }
}

/// The first block of Rust in a page, without the lines that are compiled and not shown.
fn rust(page: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = fs::read_to_string(root.join(page)).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("```rust")).skip(1);
    let lines = lines.take_while(|line| *line != "```");
    lines.filter(|line| !line.starts_with("# ")).map(str::to_owned).collect()
}

#[test]
fn the_example_in_the_readme_is_the_one_that_is_compiled() {
    let shown = rust("README.md");
    assert!(shown.len() > 10);
    assert_eq!(shown, rust("crates/innerve-permission/README.md"));
}

#[test]
fn a_page_that_says_something_else_is_found() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<String>>();
    assert!(is_like(&lines("a\n…\nd"), &["a", "b", "c", "d"]));
    assert!(is_like(&lines("took … ms"), &["took 12 ms"]));
    assert!(!is_like(&lines("a\n…\nd"), &["a", "b"]));
    assert!(!is_like(&lines("a"), &["a", "b"]));
    assert!(!is_like(&lines("took … ms"), &["took 12 s"]));
    let block = &blocks("```console\n$ a \\\n> b\nout\n[exit 3]\n$ c\n```\n")[0];
    let steps = steps(block);
    assert_eq!((steps[0].command.as_str(), steps[0].code, steps[0].line), ("a \\\nb", 3, 2));
    assert_eq!((steps[0].output.join(""), steps[1].command.as_str()), ("out".to_owned(), "c"));
}
