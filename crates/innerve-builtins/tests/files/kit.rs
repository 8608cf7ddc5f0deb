//! A directory of its own, the tools on it, and calls as the pipeline makes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use innerve_builtins::FileAccess;
use innerve_builtins::edit::EditTool;
use innerve_builtins::glob::GlobTool;
use innerve_builtins::grep::GrepTool;
use innerve_builtins::host::{HostFiles, MemoryLedger};
use innerve_builtins::read::ReadTool;
use innerve_builtins::write::WriteTool;
use innerve_permission::{PermissionMode, Preview};
use innerve_tool::port::{ChangeJournal, FileChange};
use innerve_tool::{
    CallContext, CancellationToken, InputSchema, Reporter, SessionView, Silent, Tool, ToolError,
};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A directory and what an agent in it knows.
pub(crate) struct Bench {
    directory: TempDir,
    pub(crate) access: FileAccess,
    pub(crate) journal: Arc<Journal>,
    pub(crate) cancellation: CancellationToken,
}

/// Remembers all changes.
#[derive(Default)]
pub(crate) struct Journal(pub(crate) Mutex<Vec<FileChange>>);

impl ChangeJournal for Journal {
    fn record(&self, change: FileChange) -> std::io::Result<()> {
        self.0.lock().unwrap().push(change);
        Ok(())
    }
}

impl Bench {
    pub(crate) fn new() -> Self {
        let journal = Arc::new(Journal::default());
        let access = FileAccess::new(Arc::new(HostFiles), Arc::new(MemoryLedger::new()))
            .with_journal(Arc::clone(&journal) as Arc<dyn ChangeJournal>);
        Self {
            directory: tempfile::tempdir().unwrap(),
            access,
            journal,
            cancellation: CancellationToken::new(),
        }
    }

    /// With these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let bench = Self::new();
        for (name, content) in files {
            bench.put(name, content);
        }
        bench
    }

    pub(crate) fn root(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn context<P>(&self) -> CallContext<P> {
        let id = innerve_protocol::ToolUseId::new("toolu_1");
        CallContext {
            tool_use_id: id.clone(),
            cwd: self.root().to_path_buf(),
            cancellation: self.cancellation.clone(),
            progress: Reporter::new(id, Arc::new(Silent)),
            session: Arc::new(SessionView {
                session_id: innerve_protocol::SessionId::new("s"),
                agent_id: None,
                depth: 0,
                mode: PermissionMode::Default,
                original_cwd: self.root().to_path_buf(),
                additional_directories: Vec::new(),
                home: self.path("home"),
                tools: Vec::new(),
            }),
        }
    }

    /// Schema, preparation, validation, run: gives what the model sees.
    pub(crate) async fn call<T: Tool>(&self, tool: &T, input: Value) -> Result<String, ToolError> {
        let output = self.output(tool, input).await?;
        Ok(tool.render(&output).plain_text())
    }

    /// As [`Self::call`], with the tool's own data.
    pub(crate) async fn output<T: Tool>(
        &self,
        tool: &T,
        input: Value,
    ) -> Result<T::Output, ToolError> {
        let input = self.parsed(tool, input)?;
        tool.validate(&input, &self.context()).await?;
        tool.call(input, None, self.context()).await.map(|output| output.data)
    }

    pub(crate) fn parsed<T: Tool>(
        &self,
        tool: &T,
        mut input: Value,
    ) -> Result<T::Input, ToolError> {
        let schema = InputSchema::of::<T::Input>(tool.name()).unwrap();
        if tool.accepts_text_scalars() {
            schema.coerce_text_scalars(&mut input);
        }
        let issues = schema.issues(&input);
        if !issues.is_empty() {
            let words: Vec<String> = issues.iter().map(ToString::to_string).collect();
            return Err(ToolError::new("schema", words.join("; ")));
        }
        tool.prepare(&mut input, &self.context());
        Ok(serde_json::from_value(input).unwrap())
    }

    pub(crate) fn read_tool(&self) -> ReadTool {
        ReadTool::new(self.access.clone())
    }

    pub(crate) fn edit_tool(&self) -> EditTool {
        EditTool::new(self.access.clone())
    }

    pub(crate) async fn read(&self, name: &str) -> Result<String, ToolError> {
        self.call(&self.read_tool(), json!({ "file_path": name })).await
    }

    pub(crate) async fn edit(&self, name: &str, old: &str, new: &str) -> Result<String, ToolError> {
        let input = json!({ "file_path": name, "old_string": old, "new_string": new });
        self.call(&self.edit_tool(), input).await
    }

    pub(crate) async fn write(&self, name: &str, content: &str) -> Result<String, ToolError> {
        let input = json!({ "file_path": name, "content": content });
        self.call(&WriteTool::new(self.access.clone()), input).await
    }

    pub(crate) async fn grep(&self, input: Value) -> Result<String, ToolError> {
        self.call(&GrepTool::new(None), input).await
    }

    pub(crate) async fn glob(&self, input: Value) -> Result<String, ToolError> {
        self.call(&GlobTool::new(None), input).await
    }
}

/// A text of numbered lines.
pub(crate) fn lines(
    numbers: impl IntoIterator<Item = u32>,
    line: impl Fn(u32) -> String,
) -> String {
    numbers.into_iter().map(line).collect::<Vec<_>>().concat()
}

/// What a person would be shown before approving.
pub(crate) async fn preview<T: Tool>(bench: &Bench, tool: &T, input: Value) -> Preview {
    let input = bench.parsed(tool, input).unwrap();
    tool.preview(&input, &bench.context()).await.unwrap().expect("a preview")
}

/// The code and words of a refusal.
#[track_caller]
pub(crate) fn refused(result: Result<String, ToolError>) -> (&'static str, String) {
    let error = result.expect_err("a refusal");
    (error.code(), error.message().to_owned())
}

/// Reads a file, edits it, and compares every byte.
pub(crate) async fn check_edit(
    before: impl AsRef<[u8]>,
    old: &str,
    new: &str,
    after: impl AsRef<[u8]>,
) {
    let bench = Bench::new();
    bench.put("file.md", before);
    bench.read("file.md").await.unwrap();
    bench.edit("file.md", old, new).await.unwrap();
    let found = bench.bytes("file.md");
    assert_eq!(found, after.as_ref(), "{}", String::from_utf8_lossy(&found));
}
