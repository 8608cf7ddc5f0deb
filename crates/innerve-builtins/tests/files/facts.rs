//! What a tool for files promises, one promise per test; the numbers are those of the specification of the tools.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use innerve_builtins::grep::GrepTool;
use serde_json::json;

use crate::kit::{Bench, lines, refused};

/// Whether a line is one of the names that these tests give.
fn named(line: &str) -> bool {
    line.strip_suffix(".txt").is_some_and(|number| number.parse::<u32>().is_ok())
}

#[tokio::test]
async fn fact_79_an_empty_file_is_a_reminder_and_no_error() {
    let text = Bench::with(&[("a", "")]).read("a").await.unwrap();
    assert_eq!(text, "<system-reminder>The file exists and is empty.</system-reminder>");
}

#[tokio::test]
async fn fact_80_dev_zero_and_a_link_to_it_are_refused_unopened() {
    let bench = Bench::new();
    symlink("/dev/zero", bench.path("zero")).unwrap();
    for path in ["/dev/zero", "zero"] {
        let read = tokio::time::timeout(Duration::from_secs(5), bench.read(path)).await.unwrap();
        let (code, words) = refused(read);
        assert_eq!(code, "file:not_a_file");
        assert!(words.contains("was not opened"), "{words}");
    }
}

#[tokio::test]
async fn fact_81_a_name_with_a_narrow_blank_is_found_by_a_plain_one_and_other_forms_of_accents() {
    let bench = Bench::with(&[("Shot 1.00\u{202f}PM.txt", "x\n"), ("e\u{301}t\u{e9}.txt", "y\n")]);
    assert_eq!(bench.read("Shot 1.00 PM.txt").await.unwrap(), "1\tx\n");
    assert_eq!(bench.read("\u{e9}te\u{301}.txt").await.unwrap(), "1\ty\n");
    // A name that is there as it was given is taken as it is.
    bench.put("Shot 1.00 PM.txt", "plain\n");
    assert_eq!(bench.read("Shot 1.00 PM.txt").await.unwrap(), "1\tplain\n");
}

#[tokio::test]
async fn fact_82_a_large_file_gives_a_first_page_and_is_not_read_enough_to_be_edited() {
    let bench = Bench::new();
    bench.put("a", lines(0..4_000, |number| format!("{number:099}\n")));
    let text = bench.read("a").await.unwrap();
    assert!(
        text.contains("PARTIAL view") && text.contains("Continue with offset"),
        "{}",
        text.len()
    );
    let (code, words) = refused(bench.edit("a", &format!("{:099}", 3_999), "x").await);
    assert_eq!(code, "file:not_read");
    assert!(words.contains("read"), "{words}");
    let input = json!({ "file_path": "a", "limit": 4_000 });
    assert_eq!(refused(bench.call(&bench.read_tool(), input).await).0, "tool:invalid");
}

#[tokio::test]
async fn fact_83_unread_is_refused_a_new_time_is_accepted_and_new_content_is_refused() {
    let bench = Bench::with(&[("a", "one\ntwo\n")]);
    assert_eq!(refused(bench.edit("a", "one", "1").await).0, "file:not_read");
    bench.read("a").await.unwrap();
    let later = SystemTime::now() + Duration::from_mins(1);
    fs::File::options().write(true).open(bench.path("a")).unwrap().set_modified(later).unwrap();
    bench.edit("a", "one", "1").await.unwrap();
    bench.put("a", "1\nTWO\n");
    assert_eq!(refused(bench.edit("a", "1", "eins").await).0, "file:stale");
}

#[tokio::test]
async fn fact_84_crlf_utf_16_mark_and_missing_end_all_stay() {
    let utf16 = |text: &str| {
        let mut bytes = b"\xFF\xFE".to_vec();
        bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    };
    let bench = Bench::new();
    bench.put("a", utf16("eins\r\nzwei\r\ndrei"));
    bench.read("a").await.unwrap();
    bench.edit("a", "eins\nzwei", "1\n2").await.unwrap();
    assert_eq!(bench.bytes("a"), utf16("1\r\n2\r\ndrei"));
}

#[tokio::test]
async fn fact_85_two_matches_are_counted() {
    let bench = Bench::with(&[("a", "x\ny\nx\n")]);
    bench.read("a").await.unwrap();
    let (code, words) = refused(bench.edit("a", "x", "z").await);
    assert_eq!(code, "edit:ambiguous");
    assert!(words.contains('2'), "{words}");
}

#[tokio::test]
async fn fact_86_straight_quotes_find_curly_ones_which_stay_curly() {
    let bench = Bench::with(&[("a", "say “hi” to ‘all’\n")]);
    bench.read("a").await.unwrap();
    bench.edit("a", "say \"hi\" to 'all'", "say \"bye\" to 'all'").await.unwrap();
    assert_eq!(bench.text("a"), "say “bye” to ‘all’\n");
}

#[tokio::test]
async fn fact_87_three_hundred_files_are_paged_by_two_hundred_and_fifty() {
    let bench = Bench::new();
    for number in 0..300 {
        bench.put(&format!("{number}.txt"), "x\n");
    }
    let page = async |input| {
        serde_json::to_value(bench.output(&GrepTool::new(None), input).await.unwrap()).unwrap()
    };
    let first = page(json!({ "pattern": "x" })).await;
    assert_eq!(first["appliedLimit"], 250, "{first}");
    let text = bench.grep(json!({ "pattern": "x" })).await.unwrap();
    assert_eq!(text.lines().filter(|line| named(line)).count(), 250);
    let all = page(json!({ "pattern": "x", "head_limit": 0 })).await;
    assert!(all.get("appliedLimit").is_none_or(serde_json::Value::is_null), "{all}");
    let text = bench.grep(json!({ "pattern": "x", "head_limit": 0 })).await.unwrap();
    assert_eq!(text.lines().filter(|line| named(line)).count(), 300);
}

#[tokio::test]
async fn fact_88_what_version_control_keeps_is_not_searched() {
    let bench = Bench::new();
    for folder in [".jj", ".git", ".svn", ".hg", ".bzr", ".sl"] {
        bench.put(&format!("{folder}/a"), "needle\n");
    }
    assert!(
        bench.grep(json!({ "pattern": "needle" })).await.unwrap().starts_with("No files found")
    );
    assert!(bench.glob(json!({ "pattern": "**/a" })).await.unwrap().starts_with("No files found"));
}

#[tokio::test]
async fn fact_89_a_hundred_and_fifty_names_are_cut_at_a_hundred_with_a_note() {
    let bench = Bench::new();
    for number in 0..150 {
        bench.put(&format!("{number}.txt"), "");
    }
    let text = bench.glob(json!({ "pattern": "*.txt" })).await.unwrap();
    assert_eq!(text.lines().filter(|line| named(line)).count(), 100);
    assert!(text.contains("(the newest 100 of 150 files;"), "{text}");
}

#[tokio::test]
async fn text_in_a_legacy_encoding_is_readable_and_said_to_be_a_guess() {
    let bench = Bench::new();
    bench.put("a", b"Tr\xE8s bien, d\xE9j\xE0 vu, na\xEFf et \xE9l\xE8ve\nascii\n");
    let text = bench.read("a").await.unwrap();
    assert!(text.starts_with("1\tTrès bien, déjà vu, naïf et élève\n2\tascii\n"), "{text}");
    assert!(text.contains("windows-1252") && text.contains("guess"), "{text}");
    bench.edit("a", "ascii", "plain").await.unwrap();
    assert_eq!(bench.bytes("a"), b"Tr\xE8s bien, d\xE9j\xE0 vu, na\xEFf et \xE9l\xE8ve\nplain\n");
}

#[cfg(feature = "media")]
#[tokio::test]
async fn an_image_of_more_than_half_a_megabyte_is_encoded_again() {
    use image::{ImageFormat, RgbImage};
    let bench = Bench::new();
    // Noise, which PNG cannot make smaller.
    let mut state = 7_u32;
    let picture = RgbImage::from_fn(600, 600, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, _] = state.to_be_bytes();
        image::Rgb([a, b, c])
    });
    picture.save_with_format(bench.path("a.png"), ImageFormat::Png).unwrap();
    let before = bench.bytes("a.png").len();
    assert!(before > 500_000);
    let output = bench.output(&bench.read_tool(), json!({ "file_path": "a.png" })).await.unwrap();
    let data = serde_json::to_value(output).unwrap();
    assert_eq!(data["mediaType"], "image/jpeg");
    assert!(data["base64"].as_str().unwrap().len() < before);
}

#[cfg(feature = "pdf")]
mod pdf {
    use super::*;

    /// A PDF whose pages say these texts.
    fn pdf(pages: &[&str]) -> Vec<u8> {
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!(
                "<< /Type /Pages /Count {} /Kids [{}] >>",
                pages.len(),
                (0..pages.len())
                    .map(|index| format!("{} 0 R", 4 + 2 * index))
                    .collect::<Vec<_>>()
                    .join(" ")
            ),
            "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
                .to_owned(),
        ];
        for (index, text) in pages.iter().enumerate() {
            objects.push(format!(
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Contents {} 0 R /Resources << /Font << /F1 3 0 R >> >> >>",
                5 + 2 * index
            ));
            let content = format!("BT /F1 12 Tf 20 100 Td ({text}) Tj ET");
            objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
        }
        let mut out = "%PDF-1.4\n".to_owned();
        let mut places = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            places.push(out.len());
            out.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
        }
        let table = out.len();
        out.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
        for place in places {
            out.push_str(&format!("{place:010} 00000 n \n"));
        }
        out.push_str(&format!(
            "trailer\n<< /Size {} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n",
            objects.len() + 1
        ));
        out.into_bytes()
    }

    #[tokio::test]
    async fn the_pages_of_a_pdf_are_read_as_text() {
        let bench = Bench::new();
        bench.put("a.pdf", pdf(&["Hello", "World"]));
        let text = bench.read("a.pdf").await.unwrap();
        assert!(text.contains("--- page 1 of 2 ---\nHello\n--- page 2 of 2 ---\nWorld"), "{text}");
        let input = json!({ "file_path": "a.pdf", "pages": "2" });
        let text = bench.call(&bench.read_tool(), input).await.unwrap();
        assert!(text.contains("World") && !text.contains("Hello"), "{text}");
        let input = json!({ "file_path": "a.pdf", "pages": "3" });
        let (_, words) = refused(bench.call(&bench.read_tool(), input).await);
        assert!(words.contains("2 pages"), "{words}");
    }

    #[tokio::test]
    async fn a_long_pdf_is_read_by_pages_that_are_named() {
        let bench = Bench::new();
        bench.put("a.pdf", pdf(&["x"; 25]));
        let (_, words) = refused(bench.read("a.pdf").await);
        assert!(words.contains("25 pages") && words.contains("pages: \"1-10\""), "{words}");
        let input = json!({ "file_path": "a.pdf", "pages": "1-20" });
        assert!(bench.call(&bench.read_tool(), input).await.unwrap().contains("Pages 1–20 of 25"));
        let input = json!({ "file_path": "a.pdf", "pages": "1-21" });
        assert_eq!(refused(bench.call(&bench.read_tool(), input).await).0, "tool:invalid");
    }

    #[tokio::test]
    async fn a_broken_pdf_is_an_error_in_words() {
        let bench = Bench::new();
        bench.put("a.pdf", "%PDF-1.7\nthis is none");
        assert_eq!(refused(bench.read("a.pdf").await).0, "tool:failed");
        let mut nested = b"%PDF-1.4\n1 0 obj\n".to_vec();
        nested.extend(vec![b'['; 200_000]);
        bench.put("b.pdf", nested);
        assert_eq!(refused(bench.read("b.pdf").await).0, "tool:failed");
    }
}
