//! Whatever the file and the edit, every byte outside the match stays.

use innerve_tool::Tool as _;
use proptest::prelude::*;
use serde_json::json;

use crate::kit::Bench;

/// Pieces that make trouble: line endings of all kinds, blanks, quotes, what is no text.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-c]{1,3}".prop_map(String::into_bytes),
        prop::sample::select(vec![
            b"\n".to_vec(),
            b"\r\n".to_vec(),
            b"\r".to_vec(),
            b"  \n".to_vec(),
            b"\t".to_vec(),
            "“ä”".as_bytes().to_vec(),
            b"\"a\"".to_vec(),
            b"\xFF".to_vec(),
            b"\xF0\x9F".to_vec(),
        ]),
    ]
}

fn bytes(pieces: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(piece(), pieces).prop_map(|pieces| pieces.concat())
}

fn encoded(bytes: &[u8], mark: &[u8]) -> Vec<u8> {
    let mut file = mark.to_vec();
    if mark.len() == 2 {
        let text = String::from_utf8_lossy(bytes);
        let little = mark == b"\xFF\xFE";
        file.extend(
            text.encode_utf16()
                .flat_map(|unit| if little { unit.to_le_bytes() } else { unit.to_be_bytes() }),
        );
    } else {
        file.extend_from_slice(bytes);
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_outside_the_match_is_kept(
        before in bytes(0..8),
        target in "[X-Z]{1,4}(\n[X-Z]{1,3}){0,2}",
        is_crlf in any::<bool>(),
        after in bytes(0..8),
        new in "[a-z$&\\\\ \n]{1,10}",
        mark in prop::sample::select(vec![&b""[..], b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF"]),
    ) {
        let in_file = if is_crlf { target.replace('\n', "\r\n") } else { target.clone() };
        let (front, middle, back) =
            (encoded(&before, mark), encoded(in_file.as_bytes(), mark), encoded(&after, mark));
        let (middle, back) = (&middle[mark.len()..], &back[mark.len()..]);
        let file = [&front, middle, back].concat();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let changed = runtime.block_on(async {
            let bench = Bench::new();
            bench.put("f", &file);
            bench.read("f").await.unwrap();
            let tool = bench.edit_tool();
            let input = json!({ "file_path": "f", "old_string": target, "new_string": new });
            let input = bench.parsed(&tool, input).unwrap();
            tool.call(input, None, bench.context()).await.map(|_| bench.bytes("f"))
        });
        let changed = changed.map_err(|error| TestCaseError::fail(error.message().to_owned()))?;
        prop_assert!(changed.starts_with(&front), "the start changed");
        prop_assert!(changed.ends_with(back), "the end changed");
        let inside = &changed[front.len()..changed.len() - back.len()];
        // In between is the new text, with one kind of line ending or the other.
        let lf = encoded(new.as_bytes(), mark);
        let crlf = encoded(new.replace('\n', "\r\n").as_bytes(), mark);
        let target_has_end = target.contains('\n');
        if target_has_end {
            let wanted = if is_crlf { &crlf } else { &lf };
            prop_assert_eq!(inside, &wanted[mark.len()..]);
        } else {
            prop_assert!(inside == &lf[mark.len()..] || inside == &crlf[mark.len()..]);
        }
    }

    #[test]
    fn no_edit_panics(file in bytes(0..10), old in "[a-c\"' \n\t]{0,4}", new in "[a-c“” \r\n]{0,4}") {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let bench = Bench::new();
            bench.put("f", &file);
            drop(bench.read("f").await);
            if bench.edit("f", &old, &new).await.is_err() {
                assert_eq!(bench.bytes("f"), file, "a refused edit changes nothing");
            }
        });
    }
}
