//! A flood of output is fitted into a conversation, and nothing of it is lost.
//!
//! `cargo run -p innerve-budget --example flood`

use std::error::Error;
use std::io::{self, Write as _};

use innerve_budget::{FitOutcome, Fitting, Limit, MemoryStore, fit_error};
use innerve_protocol::ToolUseId;

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    // A host keeps files; this store keeps what it is given in memory, at most 64 MiB of it.
    let store = MemoryStore::new(64 << 20);
    let tool_use_id = ToolUseId::from("toolu_1");
    let fitting = Fitting {
        tool: "Bash",
        tool_use_id: &tool_use_id,
        limit: Limit::of_tool(30_000),
        spooled: None,
        store: Some(&store),
    };

    let log = "warning: unused variable\n".repeat(20_000);
    let results = [("a flood", log.as_str()), ("a line", "3 tests passed"), ("nothing", "")];
    for (what, text) in results {
        let fitted = fitting.fit(text.into());
        let sent = fitted.content.plain_text();
        writeln!(out, "{what}: {} bytes, of which the model is sent {}", text.len(), sent.len())?;
        for line in sent.lines().take(5) {
            writeln!(out, "  | {line}")?;
        }
        if let FitOutcome::Persisted { path, .. } = fitted.outcome {
            let whole = store.get(&path).is_some_and(|stored| stored == text);
            writeln!(out, "  all of it is in {}: {whole}", path.display())?;
        }
    }

    // Errors keep both ends: the cause tends to be in one of them.
    let panic = format!("thread panicked\n{}exit code 101", "  at frame\n".repeat(5_000));
    let cut = fit_error(&panic);
    let ends = cut.starts_with("thread panicked") && cut.ends_with("exit code 101");
    writeln!(out, "an error: {} bytes become {}, with both ends: {ends}", panic.len(), cut.len())?;
    Ok(())
}
