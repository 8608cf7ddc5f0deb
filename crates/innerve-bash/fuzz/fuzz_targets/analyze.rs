//! Any text is answered: without a panic, with spans inside the text, in bounded time, and always alike.
#![no_main]

use std::time::{Duration, Instant};

use innerve_bash::{Analysis, Class, Span, analyze};
use libfuzzer_sys::fuzz_target;

/// Generous, since a fuzzer slows the code down tenfold.
const PATIENCE: Duration = Duration::from_secs(10);

fuzz_target!(|text: &str| {
    let start = Instant::now();
    let analysis = analyze(text);
    assert!(start.elapsed() < PATIENCE, "the analysis took {:?}", start.elapsed());
    for command in analysis.commands() {
        check(command.span, text);
        assert!(command.complete || command.class >= Class::Write, "{command:?}");
    }
    match &analysis {
        Analysis::Commands(commands) => assert!(!commands.as_slice().is_empty()),
        Analysis::Opaque(opaque) => {
            check(opaque.reason.span, text);
            assert_eq!(analysis.class(), Class::Unknown);
        }
    }
    assert_eq!(analyze(text), analysis);
});

fn check(span: Span, text: &str) {
    assert!(text.get(span.start..span.end).is_some(), "{span:?} is not a part of the text");
}
