//! The program from outside, in a home of its own: the permission verbs `rules` and `hook`, and its telemetry.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod cases;
mod hook;
mod kit;
mod lint;
mod list;
#[cfg(feature = "otlp")]
mod otlp;
mod replay;
mod telemetry;

#[test]
fn every_test_file_is_a_module() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verbs");
    let main = std::fs::read_to_string(here.join("main.rs")).unwrap();
    for entry in std::fs::read_dir(here).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let module = name.trim_end_matches(".rs");
        assert!(module == "main" || main.contains(&format!("mod {module};")), "{name} is not run");
    }
}
