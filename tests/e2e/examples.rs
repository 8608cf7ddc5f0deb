//! The crates' examples: each is run, and must print what its snapshot says, so that who reads them learns what is true.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The crate of an example, its name, and its arguments.
const EXAMPLES: &[(&str, &str, &[&str])] = &[
    ("innerve", "whole_agent", &[]),
    ("innerve-acp", "in_an_editor", &[]),
    ("innerve-agent", "agent", &[]),
    ("innerve-bash", "commands", &["git status && rm -rf build"]),
    ("innerve-budget", "flood", &[]),
    ("innerve-builtins", "edit_a_file", &[]),
    ("innerve-hooks", "refuse", &[]),
    ("innerve-mcp", "both_ends", &[]),
    ("innerve-model", "stream", &[]),
    ("innerve-permission", "embed", &[]),
    ("innerve-pipeline", "fourteen_steps", &[]),
    ("innerve-protocol", "stream_and_repair", &[]),
    ("innerve-settings", "layers", &[]),
    ("innerve-tool", "own_tool", &[]),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The folder of the built examples. Where the program was built beforehand (`INNERVE_BIN`, as by `cargo xtask test`), so
/// were they; else they are built with the features of the whole workspace.
fn built() -> PathBuf {
    // target/debug/deps/e2e-… → target/debug
    let test_binary = env::current_exe().unwrap();
    let folder = test_binary.ancestors().nth(2).unwrap().to_path_buf();
    if env::var_os("INNERVE_BIN").is_none() {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        let what =
            ["build", "--quiet", "--workspace", "--examples", "--features", "innerve-cli/acp"];
        cargo.args(what).arg("--target-dir").arg(folder.parent().unwrap());
        if folder.ends_with("release") {
            cargo.arg("--release");
        }
        let status = cargo.current_dir(repository()).status().unwrap();
        assert!(status.success(), "an example does not build");
    }
    folder.join("examples")
}

#[test]
fn every_example_prints_what_its_snapshot_says() {
    let folder = built();
    for (package, name, arguments) in EXAMPLES {
        let mut example = Command::new(folder.join(name));
        let output = example.args(*arguments).env_remove("OPENAI_BASE_URL").output();
        let output = output.unwrap_or_else(|error| {
            panic!("{name}: {error}; build it: cargo build --workspace --examples")
        });
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{package}, {name}: {errors}");
        assert_eq!(errors, "", "{package}, {name}");
        insta::assert_snapshot!(*name, String::from_utf8(output.stdout).unwrap());
    }
}

#[test]
fn every_library_has_an_example_that_its_readme_and_the_guide_name() {
    let guide = fs::read_to_string(repository().join("docs/guide/embedding.md")).unwrap();
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("src/lib.rs").is_file() {
            continue;
        }
        let package = folder.file_name().unwrap().to_str().unwrap();
        let example = EXAMPLES.iter().find(|(of, ..)| *of == package);
        let (_, name, _) = example.unwrap_or_else(|| panic!("{package} has no example"));
        let file = format!("examples/{name}.rs");
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(readme.contains(&file), "{package}/README.md does not name {file}");
        assert!(
            guide.contains(&format!("{package}/{file}")),
            "the guide does not name {package}/{file}"
        );
        let source = fs::read_to_string(folder.join(&file)).unwrap();
        let command = format!("cargo run -p {package} --example {name}");
        assert!(source.contains(&command), "{package}/{file} does not say how to run it");
    }
}
