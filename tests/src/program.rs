//! Finds the program under test, and builds it once if nobody has.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The built program: `INNERVE_BIN`, or the one beside this test binary, built first.
///
/// # Panics
/// When it cannot be built.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| match env::var_os("INNERVE_BIN") {
        Some(path) => {
            let path = PathBuf::from(path);
            assert!(path.is_file(), "INNERVE_BIN names no file: {}", path.display());
            path
        }
        None => build(),
    })
}

fn build() -> PathBuf {
    // target/debug/deps/e2e-… → target/debug
    let test_binary = env::current_exe().expect("the test binary has a path");
    let folder = test_binary.parent().and_then(Path::parent).expect("it lies in target/*/deps");
    let program = folder.join(format!("innerve{}", env::consts::EXE_SUFFIX));
    let mut stamp = Stamp::lock(&folder.join(".innerve-tests-built"));
    if stamp.is_of_this_run() && program.is_file() {
        return program;
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--package", "innerve-cli", "--features", "acp"]);
    cargo.arg("--target-dir").arg(folder.parent().expect("a target directory"));
    if folder.ends_with("release") {
        cargo.arg("--release");
    }
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    let status = cargo.status().expect("cargo runs");
    assert!(status.success(), "the program does not build; build it yourself and set INNERVE_BIN");
    stamp.write();
    program
}

/// Under cargo-nextest each test is a process: the first one builds, the others wait and see that it did.
struct Stamp {
    file: File,
    run: Option<String>,
}

impl Stamp {
    fn lock(path: &Path) -> Self {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("the target directory can be made");
        }
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).expect("the target directory can be written");
        file.lock().expect("files there can be locked");
        Self { file, run: env::var("NEXTEST_RUN_ID").ok() }
    }

    fn is_of_this_run(&mut self) -> bool {
        let mut text = String::new();
        let read = self.file.read_to_string(&mut text);
        read.is_ok() && self.run.as_deref().is_some_and(|run| run == text)
    }

    fn write(&mut self) {
        let Some(run) = &self.run else { return };
        self.file.rewind().expect("a file");
        self.file.set_len(0).expect("a file");
        self.file.write_all(run.as_bytes()).expect("a file");
    }
}
