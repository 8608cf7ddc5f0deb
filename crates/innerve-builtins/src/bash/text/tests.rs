//! What a terminal's bytes come out as.

use proptest::prelude::*;

use super::*;

fn text_of(pieces: &[&[u8]]) -> String {
    let mut page = Page::new(100_000, 100);
    let mut decoder = Decoder::default();
    for piece in pieces {
        decoder.push(piece, &mut page);
    }
    decoder.finish(&mut page);
    page.finish().whole().unwrap().to_owned()
}

#[track_caller]
fn check(input: &[u8], expected: &str) {
    assert_eq!(text_of(&[input]), expected);
    let single: Vec<&[u8]> = input.chunks(1).collect();
    assert_eq!(text_of(&single), expected, "byte by byte");
}

#[test]
fn controls_that_do_nothing_are_shown() {
    check(b"a\0\x01\x7Fb\n", "a\u{2400}\u{2401}\u{2421}b\n");
    check(b"old\r\0\0new\x0C\n", "\u{2400}\u{2400}new\u{240C}\n");
    check(&[0; 10_000], &"\u{2400}".repeat(10_000));
}

#[test]
fn a_block_gives_what_its_bytes_give_one_by_one_wherever_the_special_ones_lie() {
    // Around the sizes of the blocks that are looked at together.
    for size in [0, 1, 23, 24, 25, 63, 64, 65, 127, 128, 129, 4_095, 4_096, 4_097, 9_000] {
        for (special, text) in [
            (&b"\0"[..], "\u{2400}"),
            (b"\0\0\x01\n\0", "\u{2400}\u{2400}\u{2401}\n\u{2400}"),
            (b"\x1b[31m", ""),
            (b"\x07", ""),
            ("\u{A0}\u{E9}".as_bytes(), "\u{A0}\u{E9}"),
            (b"\xFF\xC2", "\u{FFFD}\u{FFFD}"),
        ] {
            let plain = "x".repeat(size);
            let input = [plain.as_bytes(), special, plain.as_bytes(), special, b"\n"].concat();
            check(&input, &format!("{plain}{text}{plain}{text}\n"));
        }
    }
}

#[test]
fn plain_text_stays() {
    check(b"", "");
    check(b"one\ntwo\tthree\n\n", "one\ntwo\tthree\n\n");
    check("汉字 é \u{1F600}\n".as_bytes(), "汉字 é \u{1F600}\n");
}

#[test]
fn escape_sequences_go() {
    check(b"\x1b[1;31mred\x1b[0m end\n", "red end\n");
    check(b"\x1b]0;title\x07shown\n", "shown\n");
    check(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "link\n");
    check(b"\x1b(Bplain\x1b=\x1bM\n", "plain\n");
    check(b"\x1bPq...\x1b\\after", "after");
    check("\u{9b}31mred".as_bytes(), "red");
    check(b"\x1b[38;2;1;2;3mx\x1b[K\n", "x\n");
}

#[test]
fn a_stray_escape_hides_no_lines() {
    check(b"\x1b]never closed\nnext line\n", "\nnext line\n");
    check(b"\x1b[12\nnext\n", "\nnext\n");
    check(b"\x1b", "");
    check("\x1b汉".as_bytes(), "汉");
    let mut long = b"\x1b]".to_vec();
    long.extend(std::iter::repeat_n(b'x', MAX_SEQUENCE * 2));
    assert!(text_of(&[&long]).len() >= MAX_SEQUENCE - 1);
}

#[test]
fn overwritten_lines_collapse() {
    check(b"10%\r50%\r100%\ndone\n", "100%\ndone\n");
    check(b"a\r\nb\r\n", "a\nb\n");
    check(b"a\r\r\nb", "a\nb");
    check(b"kept\r", "kept");
    check(b"10%\r\x1b[K100%\n", "100%\n");
    check(b"gone\r\x1b[K\n", "\n");
    check(b"before\n1\r2\r3", "before\n3");
    check(b"|\x08/\x08-\x08done\n", "done\n");
}

#[test]
fn controls_become_visible() {
    check(b"a\0b\x01c\x7f\x07\n", "a\u{2400}b\u{2401}c\u{2421}\n");
    check("a\u{85}b".as_bytes(), "a\u{FFFD}b");
}

#[test]
fn invalid_bytes_become_replacement_characters() {
    check(b"a\xFFb\xC0\xAFc\n", "a\u{FFFD}b\u{FFFD}\u{FFFD}c\n");
    check(b"cut \xE6\xB1", "cut \u{FFFD}");
    check(b"\xE6\xB1x", "\u{FFFD}x");
}

#[test]
fn two_streams_do_not_break_each_others_characters() {
    let (mut out, mut err, mut page) =
        (Decoder::default(), Decoder::default(), Page::new(1000, 100));
    let character = "汉".as_bytes();
    out.push(&character[..2], &mut page);
    err.push(b"error\n", &mut page);
    out.push(&character[2..], &mut page);
    assert_eq!(page.finish().whole(), Some("error\n汉"));
}

#[test]
fn a_long_text_keeps_its_ends() {
    let mut page = Page::new(10, 5);
    let mut decoder = Decoder::default();
    for number in 0..1000 {
        decoder.push(format!("{number}é\n").as_bytes(), &mut page);
    }
    let window = page.finish();
    assert_eq!(window.chars(), 2890 + 2000);
    assert_eq!(window.whole(), None);
    assert_eq!(window.ends(10, 5), ("0é\n1é\n2é\n3", 4890 - 15, "999é\n".to_owned()));
    assert_eq!(window.ends(3, 2), ("0é\n", 4890 - 5, "é\n".to_owned()));
}

#[test]
fn the_ends_of_a_text_that_fits_are_the_text() {
    let mut page = Page::new(10, 5);
    Decoder::default().push(b"0123456789", &mut page);
    let window = page.finish();
    assert_eq!(window.ends(5, 5), ("0123456789", 0, String::new()));
    assert_eq!(window.ends(2, 3), ("01", 5, "789".to_owned()));
}

#[test]
fn one_endless_line_takes_bounded_memory() {
    let mut page = Page::new(1000, 1000);
    let mut decoder = Decoder::default();
    let piece = "汉".repeat(20_000);
    for _ in 0..50 {
        decoder.push(piece.as_bytes(), &mut page);
        assert!(page.line.len() <= piece.len() + MAX_HELD_LINE);
        assert!(page.window.tail.len() <= 2 * page.window.tail_bytes);
    }
    assert_eq!(page.finish().chars(), 1_000_000);
}

fn pieces() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let piece = prop_oneof![
        Just(b"\x1b[31m".to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\n".to_vec()),
        Just("汉é\u{1F600}".as_bytes().to_vec()),
        Just(b"\x1b]0;t\x07".to_vec()),
        prop::collection::vec(any::<u8>(), 0..8),
        "[a-z ]{0,12}".prop_map(String::into_bytes),
    ];
    prop::collection::vec(piece, 0..40)
}

proptest! {
    #[test]
    fn it_does_not_matter_where_the_bytes_are_split(parts in pieces(), size in 1_usize..7) {
        let whole = parts.concat();
        let split: Vec<&[u8]> = whole.chunks(size).collect();
        prop_assert_eq!(text_of(&[&whole]), text_of(&split));
    }

    #[test]
    fn ends_never_overlap_and_count_exactly(text in "[aé汉\n]{0,60}", head in 0_usize..20, tail in 0_usize..20) {
        let mut page = Page::new(20, 20);
        Decoder::default().push(text.as_bytes(), &mut page);
        let window = page.finish();
        let (first, left_out, last) = window.ends(head, tail);
        let all = text.chars().count();
        prop_assert_eq!(first.chars().count() + usize::try_from(left_out).unwrap() + last.chars().count(), all);
        prop_assert!(text.starts_with(first) && text.ends_with(&last));
    }
}
