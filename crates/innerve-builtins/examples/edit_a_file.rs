//! Three built-in tools on real files: an edit is refused, the file is read, the edit is judged, shown and made.
//!
//! `cargo run -p innerve-builtins --example edit_a_file`

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use innerve_builtins::edit::EditTool;
use innerve_builtins::glob::GlobTool;
use innerve_builtins::host::{HostFiles, MemoryLedger};
use innerve_builtins::read::ReadTool;
use innerve_builtins::{FileAccess, show};
use innerve_permission::facts::Place;
use innerve_permission::{Approval, ApprovedBy, NoDisk, PermissionMode, Policy, Voices, judge};
use innerve_protocol::{SessionId, ToolUseId};
use innerve_tool::{
    CallContext, CancellationToken, Lookup, Reporter, SessionView, Silent, ToolPool, ToolSources,
    erase,
};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    fs::write(root.join("greet.sh"), "#!/bin/sh\nname=$1\necho \"Helo, $name\"\n")?;

    // The tools share one view of the files: what was read is what may be edited.
    let files = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()));
    let tools = vec![
        erase(ReadTool::new(files.clone()))?,
        erase(EditTool::new(files))?,
        erase(GlobTool::new(None))?,
    ];
    let pool = ToolPool::assemble(ToolSources { builtins: tools, mcp: vec![] }, |_| false);
    let edit = json!({ "file_path": "greet.sh", "old_string": "Helo", "new_string": "Hello" });
    for (tool, input) in [
        ("Glob", json!({ "pattern": "*.sh" })),
        ("Edit", edit.clone()),
        ("Read", json!({ "file_path": "greet.sh" })),
        ("Edit", edit),
    ] {
        let told = match run(&pool, tool, input.clone(), &root).await {
            Ok(text) => text,
            Err(error) => format!("error: {error}"),
        };
        let call = show::of(tool).call(&input);
        writeln!(
            io::stdout(),
            "{tool} {call}\n{}",
            indented(&told.replace(&format!("{}/", root.display()), ""))
        )?;
    }
    Ok(())
}

/// What `innerve-pipeline` does in full: parse, judge, preview, run on a permit.
async fn run(
    pool: &ToolPool,
    name: &str,
    input: Value,
    root: &Path,
) -> Result<String, Box<dyn Error>> {
    let Lookup::Found(tool) = pool.find(name) else { return Err("no such tool".into()) };
    let context = context(root);
    let mut input = tool.parse(input).map_err(|issues| format!("{issues:?}"))?;
    tool.prepare(&mut input, &context);
    tool.validate(&input, &context).await?;
    let mut policy = Policy::new(root, "/home/u");
    policy.headless = false;
    let place = Place { cwd: root, home: Path::new("/home/u"), disk: &NoDisk };
    let judgement = judge(&policy, tool.facts(&input, &context, place), &Voices::default());
    let preview = tool.preview(&input, &context).await?;
    // Somebody looks at the preview and says yes; what is written is what they saw.
    let permit = judgement.approve(Approval { by: ApprovedBy::Person, preview })?;
    let rendered = tool.invoke(permit, context).await?;
    let text = rendered.content.plain_text();
    let shown = show::of(name).result(&rendered.data, &text);
    let rows = shown.rows.iter().map(|row| row.text.clone());
    Ok([shown.headline].into_iter().chain(rows).collect::<Vec<_>>().join("\n"))
}

fn context(root: &Path) -> CallContext {
    let id = ToolUseId::from("call_1");
    CallContext {
        tool_use_id: id.clone(),
        cwd: root.to_path_buf(),
        cancellation: CancellationToken::new(),
        progress: Reporter::new(id, Arc::new(Silent)),
        session: Arc::new(SessionView {
            session_id: SessionId::new("example"),
            agent_id: None,
            depth: 0,
            mode: PermissionMode::Default,
            original_cwd: root.to_path_buf(),
            additional_directories: Vec::new(),
            home: "/home/u".into(),
            tools: Vec::new(),
        }),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}\n")).collect();
    lines.concat()
}
