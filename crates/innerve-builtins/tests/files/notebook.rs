//! Notebooks: cells changed, all other bytes kept.

use innerve_builtins::notebook::NotebookEditTool;
use innerve_tool::Tool as _;
use serde_json::{Value, json};

use crate::kit::{Bench, preview, refused};

/// As Jupyter writes it, with numbers that no JSON library would write so.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "über"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 7,
   "id": "load",
   "metadata": {"x": 1.50e-05},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "loaded\n"
     ]
    }
   ],
   "source": [
    "import os"
   ]
  }
 ],
 "metadata": {"n": 1.0e1, "e": "\u00e9"},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

async fn edit(bench: &Bench, input: Value) -> Result<String, innerve_tool::ToolError> {
    let mut input = input;
    input["notebook_path"] = "n.ipynb".into();
    bench.call(&NotebookEditTool::new(bench.access.clone()), input).await
}

async fn bench(content: &str) -> Bench {
    let bench = Bench::with(&[("n.ipynb", content)]);
    bench.read("n.ipynb").await.unwrap();
    bench
}

#[tokio::test]
async fn a_new_source_takes_old_outputs_with_it_and_nothing_else() {
    let bench = bench(NOTEBOOK).await;
    let input = json!({ "cell_id": "intro", "new_source": "# New\nline" });
    let text = edit(&bench, input).await.unwrap();
    assert!(text.starts_with("Replaced cell intro of `"), "{text}");
    let expected = NOTEBOOK.replace("# Title\\n\",\n    \"über", "# New\\n\",\n    \"line");
    assert_eq!(bench.text("n.ipynb"), expected);

    edit(&bench, json!({ "cell_id": "load", "new_source": "x = 1" })).await.unwrap();
    let cell = r#"  {
   "cell_type": "code",
   "execution_count": null,
   "id": "load",
   "metadata": {
    "x": 0.000015
   },
   "outputs": [],
   "source": [
    "x = 1"
   ]
  }
 ],
 "metadata": {"n": 1.0e1, "e": "\u00e9"},"#;
    let text = bench.text("n.ipynb").replace("1.5e-5", "0.000015");
    assert!(text.contains(cell), "{text}");
    assert_eq!(bench.journal.0.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn cells_come_and_go_and_the_rest_keeps_its_bytes() {
    let bench = bench(NOTEBOOK).await;
    let insert = |after: Option<&str>, kind: &str| json!({ "cell_id": after, "new_source": "new", "cell_type": kind, "edit_mode": "insert" });
    for (after, kind) in
        [(Some("load"), "code"), (Some("intro"), "markdown"), (Some("load"), "code")]
    {
        let text = edit(&bench, insert(after, kind)).await.unwrap();
        let id = text.split(' ').nth(2).unwrap().to_owned();
        assert_eq!(id.len(), 8, "{text}");
        let value: Value = serde_json::from_str(&bench.text("n.ipynb")).unwrap();
        let cells = value["cells"].as_array().unwrap();
        let at = cells.iter().position(|cell| cell["id"] == id.as_str()).unwrap();
        assert_eq!(cells[at - 1]["id"], after.unwrap());
        assert_eq!(cells[at]["cell_type"], kind);
        assert_eq!(cells[at].get("outputs").is_some(), kind == "code");
        let text = edit(&bench, json!({ "cell_id": id, "edit_mode": "delete" })).await.unwrap();
        assert!(text.starts_with(&format!("Deleted cell {id} of")), "{text}");
        assert_eq!(bench.text("n.ipynb"), NOTEBOOK);
    }
    let first = json!({ "new_source": "a\n", "cell_type": "code", "edit_mode": "insert" });
    edit(&bench, first).await.unwrap();
    assert!(bench.text("n.ipynb").starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"code\""));
    for id in ["cell-0", "intro", "load"] {
        edit(&bench, json!({ "cell_id": id, "edit_mode": "delete" })).await.unwrap();
    }
    assert!(bench.text("n.ipynb").starts_with("{\n \"cells\": [],\n"));
    let again = json!({ "new_source": "a", "cell_type": "markdown", "edit_mode": "insert" });
    edit(&bench, again).await.unwrap();
    assert!(
        bench.text("n.ipynb").contains("   ]\n  }\n ],\n \"metadata\""),
        "{}",
        bench.text("n.ipynb")
    );
}

#[tokio::test]
async fn the_form_of_the_file_is_kept() {
    // Compact, source as one text, no ids before format 4.5.
    let compact = r#"{"cells":[{"cell_type":"code","source":"a","outputs":[1],"execution_count":2,"metadata":{}}],"nbformat":4,"nbformat_minor":2,"metadata":{}}"#;
    let bench = bench(compact).await;
    edit(&bench, json!({ "cell_id": "cell-0", "new_source": "b\nc" })).await.unwrap();
    let expected = compact
        .replace("\"a\"", "\"b\\nc\"")
        .replace("[1]", "[]")
        .replace("count\":2,", "count\":null,");
    assert_eq!(bench.text("n.ipynb"), expected);
    let after = json!({ "cell_id": "cell-0", "new_source": "t", "cell_type": "markdown", "edit_mode": "insert" });
    edit(&bench, after).await.unwrap();
    let value: Value = serde_json::from_str(&bench.text("n.ipynb")).unwrap();
    assert_eq!(
        value["cells"][1],
        json!({ "cell_type": "markdown", "metadata": {}, "source": "t" })
    );
    // A change of kind takes the outputs along.
    let markdown = json!({ "cell_id": "cell-0", "new_source": "t", "cell_type": "markdown" });
    edit(&bench, markdown).await.unwrap();
    let value: Value = serde_json::from_str(&bench.text("n.ipynb")).unwrap();
    assert_eq!(value["cells"][0], value["cells"][1]);
}

#[tokio::test]
async fn line_endings_and_marks_are_kept() {
    let windows = format!("\u{feff}{}", NOTEBOOK.replace('\n', "\r\n"));
    let bench = bench(&windows).await;
    edit(&bench, json!({ "cell_id": "load", "new_source": "x\ny" })).await.unwrap();
    let text = bench.text("n.ipynb");
    assert!(text.starts_with('\u{feff}') && text.replace("\r\n", "").find(['\r', '\n']).is_none());
}

#[tokio::test]
async fn what_is_wrong_is_said_and_nothing_is_written() {
    let bench = Bench::with(&[("n.ipynb", NOTEBOOK), ("t.txt", "x")]);
    let replace = |id: &str| json!({ "cell_id": id, "new_source": "x" });
    assert_eq!(refused(edit(&bench, replace("load")).await).0, "file:not_read");
    bench.read("n.ipynb").await.unwrap();
    for (input, words) in [
        (replace("nothing"), "there is no cell `nothing`; the first are intro, load"),
        (replace("cell-9"), "no cell `cell-9`"),
        (json!({ "new_source": "x" }), "cell_id is missing"),
        (json!({ "edit_mode": "delete" }), "cell_id is missing"),
        (json!({ "new_source": "x", "edit_mode": "insert" }), "needs a cell_type"),
    ] {
        let (_, message) = refused(edit(&bench, input).await);
        assert!(message.contains(words), "{message}");
    }
    let tool = NotebookEditTool::new(bench.access.clone());
    let other = json!({ "notebook_path": "t.txt", "cell_id": "a", "new_source": "" });
    assert!(refused(bench.call(&tool, other).await).1.contains("use Edit"));
    bench.put("n.ipynb", NOTEBOOK.replace("Title", "Other"));
    assert_eq!(refused(edit(&bench, replace("load")).await).0, "file:stale");
    for content in
        ["{}", "[]", "{\"cells\": 1, \"nbformat\": 4}", "{\"cells\": [], \"nbformat\": 3}", "x"]
    {
        bench.put("n.ipynb", content);
        bench.read("n.ipynb").await.unwrap();
        let (_, message) = refused(edit(&bench, replace("load")).await);
        assert!(message.contains("no notebook of format 4"), "{message}");
        assert_eq!(bench.text("n.ipynb"), content);
    }
}

#[tokio::test]
async fn what_was_shown_is_written_or_nothing() {
    let bench = bench(NOTEBOOK).await;
    let tool = NotebookEditTool::new(bench.access.clone());
    let input = || json!({ "notebook_path": "n.ipynb", "cell_id": "load", "new_source": "y" });
    let shown = preview(&bench, &tool, input()).await;
    assert_eq!(bench.text("n.ipynb"), NOTEBOOK);
    let parsed = || bench.parsed(&tool, input()).unwrap();
    tool.call(parsed(), Some(shown.clone()), bench.context()).await.unwrap();
    assert_eq!(bench.bytes("n.ipynb"), shown.after);
    bench.put("n.ipynb", NOTEBOOK.replace("Title", "Other"));
    let refused = tool.call(parsed(), Some(shown), bench.context()).await;
    assert_eq!(refused.unwrap_err().code(), "file:stale");
}
