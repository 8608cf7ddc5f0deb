//! What servers send, as a model gets it.

#![expect(clippy::needless_pass_by_value, reason = "values are written in place")]

use serde_json::json;

use super::*;

/// One white pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

fn read(result: Value) -> (Answer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let attachments = Attachments::new(folder.path().join("files"));
    (answer(&result, &attachments, &"toolu_1".into()), folder)
}

#[track_caller]
fn text(result: Value) -> String {
    match read(result).0.content {
        ToolResultContent::Text(text) => text,
        other @ (ToolResultContent::Absent | ToolResultContent::Blocks(_)) => panic!("{other:?}"),
    }
}

#[test]
fn texts_are_joined_and_errors_are_kept_apart() {
    assert_eq!(
        text(json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})),
        "a\nb"
    );
    let (failed, _folder) =
        read(json!({"content": [{"type": "text", "text": "no"}], "isError": true}));
    assert!(failed.is_error);
}

#[test]
fn an_answer_without_content_says_so_and_structure_stands_in_for_text() {
    for empty in
        [json!({}), json!({"content": []}), json!({"content": [{"type": "text", "text": " "}]})]
    {
        assert!(text(empty).contains("no output"));
    }
    assert_eq!(text(json!({"content": [], "structuredContent": {"n": 1}})), r#"{"n":1}"#);
    let both = json!({"content": [{"type": "text", "text": "1"}], "structuredContent": {"n": 1}});
    assert_eq!(text(both), "1");
}

#[test]
fn i8_structure_is_text_however_deep_it_is() {
    // As deep as a line of a server may be; no JSON of a server gets into a record as such.
    let deep = (0..120).fold(json!([]), |inner, _| json!([inner]));
    let shown = text(json!({"content": [], "structuredContent": deep}));
    assert_eq!(shown, deep.to_string());
}

#[test]
fn images_are_shown_and_what_only_calls_itself_one_is_a_file() {
    let (shown, _folder) =
        read(json!({"content": [{"type": "image", "mimeType": "image/png", "data": PNG}]}));
    assert!(matches!(shown.content, ToolResultContent::Blocks(ref blocks) if blocks.len() == 1));
    let lie = STANDARD.encode("not an image");
    let words = text(json!({"content": [{"type": "image", "mimeType": "image/png", "data": lie}]}));
    assert!(words.contains("saved in"), "{words}");
}

#[test]
fn i9_binaries_are_saved_in_full_and_named() {
    let data = STANDARD.encode(b"%PDF-1.7 \x00\xff");
    let blob = json!({"uri": "file:///a.pdf", "mimeType": "application/pdf", "blob": data});
    let (answer, folder) = read(json!({"content": [{"type": "resource", "resource": blob}]}));
    let words = answer.content.plain_text();
    assert!(words.contains(".pdf") && !words.contains(&data), "{words}");
    let path = folder.path().join("files/toolu1-0.pdf");
    assert!(words.contains(&path.display().to_string()), "{words}");
    assert_eq!(std::fs::read(path).unwrap(), b"%PDF-1.7 \x00\xff");
}

#[test]
fn an_identifier_cannot_lead_out_of_the_folder_and_no_file_is_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let attachments = Attachments::new(folder.path().join("files"));
    let id = "../../x".into();
    let first = attachments.save(&id, "bin", b"1").unwrap();
    let second = attachments.save(&id, "bin", b"2").unwrap();
    assert_ne!(first, second);
    assert!(first.starts_with(folder.path().join("files")));
    assert_eq!(std::fs::read(first).unwrap(), b"1");
}

#[test]
fn i8_a_flood_of_blocks_is_told_in_a_sentence() {
    let blocks: Vec<Value> = (0..100_000).map(|_| json!({"type": "text", "text": "x"})).collect();
    let words = text(json!({ "content": blocks }));
    assert!(words.len() < 1_000, "{}", words.len());
    assert!(words.contains("99800 more blocks"), "{words}");
}

#[test]
fn odd_blocks_are_told_and_never_panic() {
    for (block, words) in [
        (json!({"type": "hologram"}), "`hologram`"),
        (json!(null), "left out"),
        (json!({"type": "image", "mimeType": "image/png", "data": "%%%"}), "cannot be decoded"),
        (json!({"type": "resource"}), "empty resource"),
        (json!({"type": "resource_link", "uri": "file:///a", "name": "a"}), "file:///a"),
        (
            json!({"type": "resource", "resource": {"uri": "x:y", "text": "words"}}),
            "[Resource x:y]\nwords",
        ),
    ] {
        let told = text(json!({ "content": [block] }));
        assert!(told.contains(words), "{told}");
    }
}
