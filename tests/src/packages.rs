//! MCP servers and an editor's side of ACP that others wrote, from npm and PyPI: installed once into the target directory.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages of npm, at the versions that the tests were written for.
const NPM: &[&str] = &[
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/inspector@0.15.0",
];
/// Packages of PyPI.
const PYPI: &[&str] = &["mcp-server-time==2026.10.19", "agent-client-protocol==0.12.1"];

/// The folder with the programs of npm's packages; `None` where there is no npm, which is said.
///
/// # Panics
/// When there is one and the packages cannot be installed.
pub fn npm_programs() -> Option<PathBuf> {
    if !runs("npm") || !runs("node") {
        println!(
            "SKIPPED: there is no npm (or no node) on this machine, which this test's programs come from"
        );
        return None;
    }
    let folder = folder().join("npm");
    once(&folder, &NPM.join("\n"), |folder| {
        fs::write(folder.join("package.json"), "{\"private\": true}").expect("a folder");
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save"]).args(NPM);
        npm.current_dir(folder);
        npm
    });
    Some(folder.join("node_modules/.bin"))
}

/// The folder with the programs of PyPI's packages; `None` where there is no Python, which is said.
///
/// # Panics
/// When there is one and the packages cannot be installed.
pub fn pypi_programs() -> Option<PathBuf> {
    if !runs("python3") {
        println!(
            "SKIPPED: there is no python3 on this machine, which this test's programs are written for"
        );
        return None;
    }
    let folder = folder().join("pypi");
    once(&folder, &PYPI.join("\n"), |folder| {
        let made = Command::new("python3").args(["-m", "venv"]).arg(folder.join("venv")).status();
        assert!(made.is_ok_and(|status| status.success()), "a virtual environment can be made");
        let mut pip = Command::new(folder.join("venv/bin/pip"));
        pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(PYPI);
        pip
    });
    Some(folder.join("venv/bin"))
}

/// The MCP server in plain Python that the tests of `innerve-mcp` use; `None` where there is no Python, which is said.
pub fn python_server() -> Option<String> {
    if !runs("python3") {
        println!(
            "SKIPPED: there is no python3 on this machine, which the test server is written for"
        );
        return None;
    }
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/innerve-mcp/tests/servers/server.py");
    Some(path.canonicalize().expect("the test server is there").display().to_string())
}

fn runs(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// `target/mcp-packages`, beside the profile that the tests were built in.
fn folder() -> PathBuf {
    // target/debug/deps/e2e-… → target
    let test_binary = env::current_exe().expect("the test binary has a path");
    let target = test_binary.ancestors().nth(3).expect("it lies in target/*/deps");
    target.join("mcp-packages")
}

/// Installs once, however many tests run side by side; what was installed for other versions is put away.
fn once(folder: &Path, what: &str, install: impl FnOnce(&Path) -> Command) {
    fs::create_dir_all(folder).expect("the target directory can be written");
    let lock = folder.with_extension("lock");
    let mut options = OpenOptions::new();
    let lock: File = options.write(true).create(true).truncate(false).open(lock).expect("a file");
    lock.lock().expect("files there can be locked");
    let done = folder.join("installed.txt");
    if fs::read_to_string(&done).is_ok_and(|text| text == what) {
        return;
    }
    fs::remove_dir_all(folder).expect("a folder");
    fs::create_dir_all(folder).expect("a folder");
    let output = install(folder).output().expect("the installer runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "packages cannot be installed: {said}");
    fs::write(done, what).expect("a file");
}
