//! Searches as a model writes them.

use std::path::PathBuf;
use std::sync::Mutex;

use innerve_permission::PermissionMode;
use innerve_tool::{CancellationToken, Reporter, SessionView, Silent};

use super::*;

/// A catalog whose second half comes when it has settled.
struct Shelf {
    early: Vec<&'static str>,
    late: Vec<&'static str>,
    settled: Mutex<bool>,
    pending: Vec<String>,
}

impl Shelf {
    fn new(early: &[&'static str], late: &[&'static str]) -> Arc<Self> {
        Arc::new(Self {
            early: early.to_vec(),
            late: late.to_vec(),
            settled: Mutex::new(false),
            pending: vec!["The server `slow` has failed.".to_owned()],
        })
    }
}

impl ToolCatalog for Shelf {
    fn entries(&self) -> Vec<CatalogEntry> {
        let mut names = self.early.clone();
        if *self.settled.lock().unwrap() {
            names.extend(&self.late);
        }
        let entry = |name: &str| CatalogEntry { name: name.to_owned(), ..CatalogEntry::default() };
        names.into_iter().map(entry).collect()
    }

    fn settled(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { *self.settled.lock().unwrap() = true })
    }

    fn pending(&self) -> Vec<String> {
        self.pending.clone()
    }
}

fn context() -> CallContext<()> {
    let session = SessionView {
        session_id: "s".into(),
        agent_id: None,
        depth: 0,
        mode: PermissionMode::Default,
        original_cwd: PathBuf::from("/w"),
        additional_directories: Vec::new(),
        home: PathBuf::from("/h"),
        tools: vec!["Read".to_owned(), "ToolSearch".to_owned()],
    };
    CallContext {
        tool_use_id: "call".into(),
        cwd: PathBuf::from("/w"),
        cancellation: CancellationToken::new(),
        progress: Reporter::new("call".into(), Arc::new(Silent)),
        session: Arc::new(session),
    }
}

/// What the model sees: references by name, then the text.
async fn search(
    shelf: &Arc<Shelf>,
    query: &str,
    max_results: Option<u32>,
) -> (Vec<String>, String) {
    let tool = ToolSearchTool::new(Arc::clone(shelf) as Arc<dyn ToolCatalog>);
    let input = ToolSearchInput { query: query.to_owned(), max_results };
    let output = tool.call(input, None, context()).await.unwrap();
    let content = tool.render(&output.data);
    let references = match &content {
        ToolResultContent::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| {
                if let ContentBlock::ToolReference(found) = block {
                    Some(found.tool_name.clone())
                } else {
                    None
                }
            })
            .collect(),
        ToolResultContent::Absent | ToolResultContent::Text(_) => Vec::new(),
    };
    let loads = output.changes.iter().any(|change| matches!(change, SessionChange::LoadTools(_)));
    assert_eq!(loads, !references.is_empty());
    (references, content.plain_text())
}

#[tokio::test]
async fn selected_names_are_loaded_and_missing_ones_are_named() {
    let shelf = Shelf::new(&["mcp__a__One", "mcp__a__two"], &[]);
    let (found, text) = search(&shelf, "select:MCP__A__one,Missing,mcp__a__One,Read", None).await;
    assert_eq!(found, ["mcp__a__One"]);
    assert!(text.contains("`Missing`") && text.contains("`Read`"), "{text}");
}

#[tokio::test]
async fn as_many_are_found_as_were_asked_for() {
    let shelf = Shelf::new(&["mcp__a__x1", "mcp__a__x2", "mcp__a__x3"], &[]);
    let (found, text) = search(&shelf, "mcp__a", Some(2)).await;
    assert_eq!(found, ["mcp__a__x1", "mcp__a__x2"]);
    assert!(text.contains("1 more"), "{text}");
    let (all, text) = search(&shelf, "mcp__a", None).await;
    assert_eq!((all.len(), text.as_str()), (3, ""));
}

#[tokio::test]
async fn nothing_found_is_no_error_and_says_who_may_bring_more() {
    let shelf = Shelf::new(&["mcp__a__x"], &[]);
    let (found, text) = search(&shelf, "zebra", None).await;
    assert!(found.is_empty());
    assert!(text.contains("1 in all") && text.contains("`slow` has failed"), "{text}");
}

#[tokio::test]
async fn a_server_that_is_still_starting_is_waited_for() {
    let shelf = Shelf::new(&[], &["mcp__late__tool"]);
    assert_eq!(search(&shelf, "select:mcp__late__tool", None).await.0, ["mcp__late__tool"]);
}
