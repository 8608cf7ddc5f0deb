//! Read.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use innerve_builtins::FileAccess;
use innerve_builtins::read::{ReadOutput, ReadTool};
use innerve_protocol::{ContentBlock, ImageSource, ToolResultContent};
use innerve_tool::{Tool as _, code};
use serde_json::{Value, json};

use crate::kit::{Bench, lines, refused};

#[tokio::test]
async fn lines_are_numbered_and_line_endings_are_shown_as_line_feeds() {
    let bench = Bench::with(&[("a.txt", "one\r\ntwo\n\nfour")]);
    assert_eq!(bench.read("a.txt").await.unwrap(), "1\tone\n2\ttwo\n3\t\n4\tfour\n");
}

#[tokio::test]
async fn relative_paths_and_the_home_directory_are_understood() {
    let bench = Bench::with(&[("home/a", "at home\n"), ("d/b", "inside\n")]);
    assert_eq!(bench.read("~/a").await.unwrap(), "1\tat home\n");
    assert_eq!(bench.read("./d/../d/b").await.unwrap(), "1\tinside\n");
}

#[tokio::test]
async fn utf_16_and_byte_order_marks_are_decoded() {
    let bench = Bench::new();
    let mut bytes = b"\xFF\xFE".to_vec();
    bytes.extend("a\r\n\u{1F600}b".encode_utf16().flat_map(u16::to_le_bytes));
    bench.put("le", &bytes);
    bench.put("bom", b"\xEF\xBB\xBFname: x\n");
    let mut bytes = b"\xFE\xFF".to_vec();
    bytes.extend("ä\n".encode_utf16().flat_map(u16::to_be_bytes));
    bench.put("be", &bytes);
    assert_eq!(bench.read("le").await.unwrap(), "1\ta\n2\t\u{1F600}b\n");
    assert_eq!(bench.read("bom").await.unwrap(), "1\tname: x\n");
    assert_eq!(bench.read("be").await.unwrap(), "1\tä\n");
}

#[tokio::test]
async fn an_odd_byte_among_text_is_replaced() {
    let bench = Bench::new();
    bench.put("mixed", b"caf\xC3\xA9 na\xC3\xAFf \xFF\n");
    assert_eq!(bench.read("mixed").await.unwrap(), "1\tcaf\u{e9} na\u{ef}f \u{fffd}\n");
}

// openclaw/openclaw#121828
#[tokio::test]
async fn an_empty_file_is_said_to_exist_and_be_empty() {
    let bench = Bench::with(&[("empty", ""), ("three", "a\nb\nc\n")]);
    bench.put("mark", b"\xEF\xBB\xBF");
    for name in ["empty", "mark", "/dev/null"] {
        let text = bench.read(name).await.unwrap();
        assert!(
            text.contains("exists and is empty") && text.contains("<system-reminder>"),
            "{text}"
        );
    }
    let input = json!({ "file_path": "three", "offset": 9 });
    let text = bench.call(&bench.read_tool(), input).await.unwrap();
    assert!(text.contains("3 lines") && text.contains("line 9"), "{text}");
}

// openclaw/openclaw#121828; NousResearch/hermes-agent#82075
#[tokio::test]
async fn devices_pipes_and_sockets_are_refused_before_they_are_opened() {
    let bench = Bench::new();
    let fifo = bench.path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    symlink(&fifo, bench.path("to-fifo")).unwrap();
    symlink("/dev/zero", bench.path("to-zero")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    for name in [
        "fifo",
        "to-fifo",
        "to-zero",
        "socket",
        "/dev/zero",
        "/dev/urandom",
        "/dev/full",
        "/dev/stdin",
        "/dev/tty",
        "/dev/fd/0",
        "/proc/self/fd/0",
    ] {
        let read = tokio::time::timeout(Duration::from_secs(5), bench.read(name));
        let (code, words) = refused(read.await.expect("no hang"));
        assert_eq!(code, "file:not_a_file", "{name}");
        assert!(words.contains("device, FIFO or socket"), "{words}");
    }
    drop(socket);
}

// A name as macOS gives it to screenshots, with U+202F before "PM".
#[tokio::test]
async fn a_name_with_another_kind_of_blank_is_found() {
    let bench = Bench::with(&[("Shot at 1.00\u{202f}PM.txt", "x\n")]);
    assert_eq!(bench.read("Shot at 1.00 PM.txt").await.unwrap(), "1\tx\n");
}

#[tokio::test]
async fn a_missing_file_is_told_with_similar_names() {
    let bench = Bench::with(&[("main.rs", ""), ("lib.rs", "")]);
    for (name, hint) in [("mian.rs", "`main.rs`"), ("MAIN.RS", "`main.rs`"), ("lib.py", "`lib.rs`")]
    {
        let (code, words) = refused(bench.read(name).await);
        assert_eq!(code, code::NOT_FOUND);
        assert!(words.contains(hint), "{words}");
    }
    let (_, words) = refused(bench.read("no/such/dir").await);
    assert!(words.contains("nor does its directory"), "{words}");
}

#[tokio::test]
async fn hidden_names_are_neither_hinted_at_nor_listed() {
    let bench = Bench::with(&[(".env", "A=1\n"), ("env", "")]);
    let access: FileAccess =
        bench.access.clone().with_hidden(std::sync::Arc::new(|path| path.ends_with(".env")));
    let tool = ReadTool::new(access);
    let error = bench.call(&tool, json!({ "file_path": ".ens" })).await.unwrap_err();
    assert!(!error.message().contains("`.env`"), "{}", error.message());
    let text = bench.call(&tool, json!({ "file_path": "." })).await.unwrap();
    assert!(text.contains("env") && !text.contains(".env"), "{text}");
}

#[tokio::test]
async fn a_directory_is_listed() {
    let bench = Bench::with(&[("b.txt", ""), ("a/x", ""), (".hidden", "")]);
    symlink(bench.path("a"), bench.path("link")).unwrap();
    let text = bench.read(".").await.unwrap();
    assert!(text.ends_with("with 4 entries:\n.hidden\na/\nb.txt\nlink/"), "{text}");
    for number in 0..1_100 {
        bench.put(&format!("many/{number:04}"), "");
    }
    let text = bench.read("many").await.unwrap();
    assert!(text.contains("its first 1000 entries:\n0000\n"), "{}", &text[..80]);
    assert!(text.ends_with("\n0999"), "{}", &text[text.len() - 20..]);
}

// anthropics/claude-code 2.1.140
#[tokio::test]
async fn numbers_given_as_text_are_taken_as_meant() {
    let lines: String = lines(1..=20, |n| format!("l{n}\n"));
    let bench = Bench::with(&[("a", &lines)]);
    for (offset, limit) in [(" +10 ", "2"), ("10", " 2 ")] {
        let input = json!({ "file_path": "a", "offset": offset, "limit": limit });
        let text = bench.call(&bench.read_tool(), input).await.unwrap();
        assert!(text.starts_with("10\tl10\n11\tl11\n\n"), "{text}");
    }
    let zero = json!({ "file_path": "a", "offset": 0, "limit": 1 });
    assert!(bench.call(&bench.read_tool(), zero).await.unwrap().starts_with("1\tl1\n"));
}

// anthropics/claude-code 2.1.229
#[tokio::test]
async fn a_path_that_is_no_text_is_a_schema_error() {
    let bench = Bench::new();
    for input in [json!({ "file_path": 123 }), json!({ "file_path": null }), json!({})] {
        let error = bench.call(&bench.read_tool(), input).await.unwrap_err();
        assert_eq!(error.code(), "schema");
        assert!(error.message().contains("file_path"));
    }
    let unknown = json!({ "file_path": "a", "lines": 3 });
    let error = bench.call(&bench.read_tool(), unknown).await.unwrap_err();
    assert!(error.message().contains("`lines`"), "{}", error.message());
}

// anthropics/claude-code 2.1.208
#[tokio::test]
async fn a_nul_byte_in_a_path_is_refused() {
    let bench = Bench::new();
    let (code, words) = refused(bench.read("a\0b").await);
    assert_eq!(code, code::INVALID);
    assert!(words.contains("NUL"), "{words}");
    assert_eq!(refused(bench.read(" ").await).0, code::INVALID);
}

// anthropics/claude-code 2.0.65
#[tokio::test]
async fn the_type_of_an_image_is_told_by_its_bytes() {
    let bench = Bench::new();
    bench.put("x.png", b"\xFF\xD8\xFF\xE0\0\x04ab\xFF\xC0\0\x0B\x08\0\x10\0\x10\x01\0\0\0");
    let tool = bench.read_tool();
    let output = bench.output(&tool, json!({ "file_path": "x.png" })).await.unwrap();
    let ToolResultContent::Blocks(blocks) = tool.render(&output) else { panic!("no blocks") };
    let [ContentBlock::Image(image)] = blocks.as_slice() else { panic!("no image") };
    let ImageSource::Base64 { media_type, data } = &image.source else { panic!("no bytes") };
    assert_eq!(media_type, "image/jpeg");
    assert!(data.starts_with("/9j/"), "{data}");
}

// anthropics/claude-code 2.1.71, 2.1.126
#[cfg(not(feature = "media"))]
#[tokio::test]
async fn an_image_that_a_request_would_not_take_is_refused() {
    let bench = Bench::new();
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x2E\xE0\0\0\x2E\xE0\x08\x02\0\0\0".to_vec();
    bench.put("wide.png", &png);
    let (code, words) = refused(bench.read("wide.png").await);
    assert_eq!(code, "file:too_large");
    assert!(words.contains("12000 × 12000"), "{words}");
    png[16..24].copy_from_slice(&[0, 0, 0, 9, 0, 0, 0, 9]);
    png.resize(4_000_000, 7);
    bench.put("heavy.png", &png);
    assert!(refused(bench.read("heavy.png").await).1.contains("4000000 bytes"));
}

#[tokio::test]
async fn binary_files_and_pdfs_are_refused() {
    let bench = Bench::new();
    bench.put("a.bin", b"\x7fELF\0\0\0");
    bench.put("a.pdf", b"%PDF-1.7\n...");
    assert_eq!(refused(bench.read("a.bin").await).0, "file:binary");
    let words = refused(bench.read("a.pdf").await).1;
    assert!(words.contains(if cfg!(feature = "pdf") { "damaged" } else { "pdftotext" }), "{words}");
}

// anthropics/claude-code 2.1.145
#[tokio::test]
async fn a_large_file_gives_its_first_page_and_says_how_to_go_on() {
    let text: String = lines(1..=20_000, |n| format!("this is line number {n}\n"));
    let bench = Bench::with(&[("big", &text)]);
    let text = bench.read("big").await.unwrap();
    assert!(text.len() < 120_000, "{}", text.len());
    assert!(text.contains("PARTIAL view: lines 1–2000 of 20000."), "{}", &text[text.len() - 300..]);
    assert!(text.contains("offset: 2001"));
    // The page is bounded by size as well.
    let wide: String = lines(1..=1_000, |n| format!("{n} {}\n", "x".repeat(1_000)));
    bench.put("wide", &wide);
    let text = bench.read("wide").await.unwrap();
    assert!(
        text.len() < 110_000 && text.contains("PARTIAL view: lines 1–99 of 1000."),
        "{}",
        text.len()
    );
    // What follows the note works.
    let next = json!({ "file_path": "wide", "offset": 100, "limit": 99 });
    assert!(bench.call(&bench.read_tool(), next).await.unwrap().starts_with("100\t100 "));
}

#[tokio::test]
async fn a_range_that_is_too_large_is_an_error_with_sizes() {
    let wide: String = lines(1..=1_000, |n| format!("{n} {}\n", "x".repeat(1_000)));
    let bench = Bench::with(&[("wide", &wide)]);
    let input = json!({ "file_path": "wide", "offset": 1, "limit": 500 });
    let (code, words) = refused(bench.call(&bench.read_tool(), input).await);
    assert_eq!(code, code::INVALID);
    assert!(words.contains("25000 tokens") && words.contains("ask for 99 lines"), "{words}");
}

// openclaw/openclaw#121828
#[tokio::test]
async fn one_huge_line_is_cut_with_a_note() {
    let bench = Bench::with(&[("a", &"y".repeat(3_000_000))]);
    let text = bench.read("a").await.unwrap();
    assert!(text.contains("… [2998000 more characters]"), "{}", &text[text.len() - 60..]);
    assert!(text.len() < 3_000);
}

// anthropics/claude-code 1.0.82
#[tokio::test]
async fn a_few_lines_of_a_large_file_are_streamed() {
    let bench = Bench::new();
    let line = format!("{}\n", "z".repeat(99));
    bench.put("log", line.repeat(300_000));
    let input = json!({ "file_path": "log", "offset": 250_000, "limit": 2 });
    let before = resident();
    let text = bench.call(&bench.read_tool(), input).await.unwrap();
    let grown = resident().saturating_sub(before);
    assert!(text.starts_with("250000\tzzz"), "{}", &text[..40]);
    assert!(text.contains("Lines 250000–250001 of 300000"), "{text}");
    assert!(grown < 16 << 20, "grown by {grown} bytes for a file of 30 MB");
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

#[tokio::test]
async fn files_of_the_kernel_that_have_no_size_are_read() {
    let bench = Bench::new();
    let text = bench.read("/proc/self/status").await.unwrap();
    assert!(text.starts_with("1\tName:"), "{text}");
}

#[tokio::test]
async fn a_cancelled_read_ends() {
    let bench = Bench::with(&[("a", "x\n")]);
    bench.cancellation.cancel();
    let error = bench.read("a").await.unwrap_err();
    assert_eq!(error.code(), code::INTERRUPTED);
}

#[tokio::test]
async fn the_output_says_what_is_shown() {
    let bench = Bench::with(&[("a", "1\n2\n3\n")]);
    let input = json!({ "file_path": "a", "offset": 2, "limit": 1 });
    let output = bench.output(&bench.read_tool(), input).await.unwrap();
    let ReadOutput::Text { start_line, num_lines, total_lines, partial, .. } = output else {
        panic!("no text")
    };
    assert_eq!((start_line, num_lines, total_lines, partial), (2, 1, Some(3), false));
}

#[tokio::test]
async fn a_name_is_found_however_its_accents_are_written() {
    for (on_disk, asked) in
        [("cafe\u{301}.txt", "caf\u{e9}.txt"), ("caf\u{e9}.txt", "cafe\u{301}.txt")]
    {
        let bench = Bench::with(&[(on_disk, "menu\n")]);
        assert_eq!(bench.read(asked).await.unwrap(), "1\tmenu\n");
    }
}

#[tokio::test]
async fn lines_that_were_just_shown_are_not_shown_again_at_once() {
    let content = lines(1..=300, |number| format!("line {number}\n"));
    let bench = Bench::with(&[("f", &content), ("small", "x\n")]);
    let tool = bench.read_tool();
    let read = |input: Value| bench.call(&tool, input);
    let whole = || json!({ "file_path": "f" });
    let shown = read(whole()).await.unwrap();
    assert!(shown.starts_with("1\tline 1\n"));
    assert!(read(whole()).await.unwrap().contains("has not changed since you read"));
    // They may be gone from the conversation meanwhile: who asks once more gets them.
    assert_eq!(read(whole()).await.unwrap(), shown);
    // Other lines, changed content and small files are always shown.
    let part = || json!({ "file_path": "f", "offset": 2, "limit": 200 });
    assert!(read(part()).await.unwrap().starts_with("2\tline 2\n"));
    bench.put("f", content.replace("line 7\n", "line seven\n"));
    assert!(read(part()).await.unwrap().contains("line seven"));
    assert!(read(part()).await.unwrap().contains("has not changed"));
    for _ in 0..2 {
        assert_eq!(read(json!({ "file_path": "small" })).await.unwrap(), "1\tx\n");
    }
    // The record of what was read stays, so that edits go on.
    bench.edit("f", "line seven", "line 7").await.unwrap();
}

#[tokio::test]
async fn a_notebook_is_shown_by_its_cells() {
    let notebook = json!({
        "cells": [
            { "cell_type": "markdown", "id": "intro", "source": ["# Title\n", "text"] },
            { "cell_type": "code", "source": "plot()", "outputs": [
                { "output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"] },
                { "output_type": "display_data", "data": { "image/png": "AAAA", "text/plain": ["<Figure>"] } },
                { "output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["\u{1b}[0;31mred\u{1b}[0m here"] },
            ] },
            { "cell_type": "code", "id": "long", "source": "", "outputs": [
                { "output_type": "stream", "text": "x".repeat(20_000) },
            ] },
        ],
        "nbformat": 4, "nbformat_minor": 5, "metadata": {},
    });
    let bench = Bench::with(&[("n.ipynb", &serde_json::to_string_pretty(&notebook).unwrap())]);
    let text = bench.read("n.ipynb").await.unwrap();
    let path = bench.path("n.ipynb");
    assert_eq!(
        text,
        format!(
            "<cell id=\"intro\" type=\"markdown\">\n# Title\ntext\n</cell>\n\
             <cell id=\"cell-1\" type=\"code\">\nplot()\n</cell>\n\
             <output>\none\ntwo\n\n<Figure>\n[image/png, 3 bytes]\nE: bad\nred here\n</output>\n\
             <cell id=\"long\" type=\"code\">\n\n</cell>\n\
             <output>[20000 characters; to see them: jq '.cells[2].outputs' '{}']</output>\n",
            path.display()
        )
    );
    // With lines asked for, or where it is none, it is text as any other.
    let raw = json!({ "file_path": "n.ipynb", "limit": 1 });
    assert!(bench.call(&bench.read_tool(), raw).await.unwrap().starts_with("1\t{\n"));
    bench.put("n.ipynb", "not JSON\n");
    assert_eq!(bench.read("n.ipynb").await.unwrap(), "1\tnot JSON\n");
    bench.put("n.ipynb", r#"{"cells": [], "nbformat": 4}"#);
    assert!(bench.read("n.ipynb").await.unwrap().contains("has no cells"));
}

#[tokio::test]
async fn of_a_large_notebook_the_first_cells_are_shown_and_it_is_not_edited_unread() {
    let cells: Vec<Value> = (0..100)
        .map(|number| json!({ "cell_type": "code", "source": format!("{number}{}", "y".repeat(5_000)) }))
        .collect();
    let notebook = json!({ "cells": cells, "nbformat": 4, "nbformat_minor": 4 });
    let bench = Bench::with(&[("n.ipynb", &notebook.to_string())]);
    let text = bench.read("n.ipynb").await.unwrap();
    assert!(text.contains("PARTIAL view: the first 19 of 100 cells"), "{}", text.len());
    let tool = innerve_builtins::notebook::NotebookEditTool::new(bench.access.clone());
    let edit = json!({ "notebook_path": "n.ipynb", "cell_id": "cell-0", "new_source": "x" });
    assert_eq!(refused(bench.call(&tool, edit).await).0, "file:not_read");
}

/// A gray image of one line, as a PNG whose data is stored as it is (RFC 1950, RFC 1951, PNG specification).
fn png_line(width: u32) -> Vec<u8> {
    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let body = [kind, data].concat();
        let crc = !body.iter().fold(!0_u32, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg())
            })
        });
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [&length[..], &body, &crc.to_be_bytes()].concat()
    }
    let line = vec![0_u8; width as usize + 1];
    let length = u16::try_from(line.len()).unwrap();
    // All bytes are zero, so that one sum is 1 and the other counts them.
    let adler = (u32::from(length) << 16) | 1;
    let data = [
        &[0x78, 0x01, 1][..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        &line,
        &adler.to_be_bytes(),
    ];
    let header = [&width.to_be_bytes()[..], &1_u32.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", &header),
        chunk(b"IDAT", &data.concat()),
        chunk(b"IEND", b""),
    ]
    .concat()
}

#[tokio::test]
async fn b330_an_image_too_large_to_be_sent_is_scaled_down_or_refused() {
    let bench = Bench::new();
    bench.put("wide.png", png_line(12_000));
    let read = bench.output(&bench.read_tool(), json!({ "file_path": "wide.png" })).await;
    if cfg!(feature = "media") {
        let ReadOutput::Image { media_type, original_size, base64, .. } = read.unwrap() else {
            panic!("an image");
        };
        assert_eq!((media_type.as_str(), original_size), ("image/jpeg", 12_069));
        assert!(base64.len() < 12_000);
    } else {
        let error = read.unwrap_err();
        assert!(error.message().contains("has 12000 × 1 pixels"), "{}", error.message());
    }
}
