//! What the model gets to see, and what goes to disk.

use std::io::Read as _;

use innerve_protocol::{ContentBlock, ImageSource, ToolResultContent};

use super::*;

#[tokio::test]
async fn a_character_on_the_border_of_two_reads_stays_whole() {
    let bench = Bench::with(HostProcesses::new(), |options| options.max_output_chars = 100_000);
    for length in [65_534, 65_535] {
        let text =
            bench.text(&format!("head -c {length} /dev/zero | tr '\\0' a; printf '汉\\n'")).await;
        assert!(text.ends_with("a汉"), "{length}");
        assert!(!text.contains('\u{FFFD}'), "{length}");
    }
    let text = bench.text("printf '\\xe6\\xb1'; sleep 0.1; printf '\\x89\\n'").await;
    assert_eq!(text, "汉");
}

#[tokio::test]
async fn invalid_bytes_are_shown_as_replacements() {
    let bench = Bench::new();
    assert_eq!(bench.text("printf 'a\\xffb\\0c\\n'").await, "a\u{FFFD}b\u{2400}c");
    let output = bench.run("head -c 4096 /bin/ls").await.unwrap();
    assert_eq!(output.data.bytes, 4096);
}

#[tokio::test]
async fn colours_and_progress_bars_are_for_people() {
    let bench = Bench::new();
    let command = "printf '\\e[32mok\\e[0m\\n'; for i in 1 2 3; do printf '\\r%s%%' $i; done; echo";
    assert_eq!(bench.text(command).await, "ok\n3%");
}

#[tokio::test]
async fn no_output_is_an_empty_text() {
    let bench = Bench::new();
    let output = bench.run("true").await.unwrap();
    assert_eq!(bench.tool.render(&output.data), ToolResultContent::Text(String::new()));
}

#[tokio::test]
async fn thirty_thousand_characters_stay_and_one_more_goes_to_a_file() {
    let bench = Bench::new();
    let output = bench.run("head -c 30000 /dev/zero | tr '\\0' a").await.unwrap();
    assert_eq!(output.spooled, None);
    assert_eq!(bench.tool.render(&output.data).plain_text(), "a".repeat(30_000));
    assert_eq!(bench.spooled_files(), 0);

    let output = bench.run("head -c 30001 /dev/zero | tr '\\0' a").await.unwrap();
    let spooled = output.spooled.unwrap();
    assert_eq!(spooled.bytes, 30_001);
    assert_eq!(fs::read_to_string(&spooled.path).unwrap(), "a".repeat(30_001));
    let text = bench.tool.render(&output.data).plain_text();
    assert!(text.chars().count() > 30_000, "so that the budget takes the file");
    assert!(
        text.starts_with("Output of 30001 bytes, 1 lines."),
        "{}",
        text.lines().next().unwrap()
    );
    assert_eq!(output.data.persisted_output_path.as_deref(), spooled.path.to_str());
}

#[tokio::test]
async fn the_first_two_kilobytes_of_a_long_output_show_both_its_ends() {
    let bench = Bench::new();
    let command = "for i in $(seq 1 200000); do echo line $i; done; echo FINAL SUMMARY";
    let output = bench.run(command).await.unwrap();
    let text = bench.tool.render(&output.data).plain_text();
    let preview: String = text.chars().take(2000).collect();
    assert!(preview.contains("200001 lines") && preview.contains("\nFINAL SUMMARY\n"), "{preview}");
    assert!(
        preview.contains("\nline 199999\n") && preview.contains("\nline 1\nline 2\n"),
        "{preview}"
    );
    assert!(text.ends_with("FINAL SUMMARY"));
}

#[tokio::test]
async fn notes_stand_before_an_output_that_is_cut() {
    let bench = Bench::new();
    let text = bench.text("cd /usr; seq 100000").await;
    assert!(text.starts_with("Shell cwd was reset to "), "{}", text.lines().next().unwrap());
    let text = bench.text("cd /usr; seq 3").await;
    assert!(text.starts_with("1\n2\n3\nShell cwd was reset to "), "{text}");
}

#[tokio::test]
async fn a_file_that_reached_its_cap_is_told_with_both_sizes() {
    let mut bench = Bench::new();
    bench.tool = BashTool::new(
        Arc::new(HostProcesses::new()),
        Arc::new(DiskSpool::new(&bench.spool).with_cap(50_000)),
        Arc::new(HostClock),
        BashOptions::default(),
    );
    let output = bench.run("head -c 80000 /dev/zero | tr '\\0' a").await.unwrap();
    let text = bench.tool.render(&output.data).plain_text();
    assert!(text.starts_with("Output of 80000 bytes"), "{}", text.lines().next().unwrap());
    let spooled = output.spooled.unwrap();
    assert_eq!((spooled.bytes, spooled.total), (50_000, 80_000));
}

#[tokio::test]
async fn many_wide_characters_are_cut_between_characters() {
    let bench = Bench::new();
    let output = bench.run("yes '汉字' | head -c 3000000").await.unwrap();
    let text = bench.tool.render(&output.data).plain_text();
    assert!(!text.trim_end_matches('\u{FFFD}').contains('\u{FFFD}'));
    let (_, words) = bench.failure("yes '汉字' | head -n 400000; exit 3").await;
    assert!(words.chars().count() <= 10_000 && !words.contains('\u{FFFD}'));
}

#[tokio::test]
async fn a_flood_takes_bounded_memory_and_is_on_disk_to_the_byte() {
    let bench = Bench::new();
    bench.text("yes warm | head -c 1000000").await;
    let before = memory("VmRSS");
    let peak = std::thread::spawn(|| {
        let mut peak = 0;
        for _ in 0..100 {
            peak = peak.max(memory("VmRSS"));
            std::thread::sleep(Duration::from_millis(10));
        }
        peak
    });
    let output = bench.run("yes flood | head -c 50000000").await.unwrap();
    let growth = peak.join().unwrap().max(memory("VmRSS")).saturating_sub(before);
    assert!(growth <= 16 * 1024, "memory grew by {growth} kB");
    assert_eq!((output.data.bytes, output.data.lines), (50_000_000, 8_333_334));

    let mut file = fs::File::open(output.spooled.unwrap().path).unwrap();
    let mut position = 0;
    let mut piece = vec![0; 600_000];
    loop {
        let length = file.read(&mut piece).unwrap();
        if length == 0 {
            break;
        }
        for byte in &piece[..length] {
            assert_eq!(*byte, b"flood\n"[position % 6], "at {position}");
            position += 1;
        }
    }
    assert_eq!(position, 50_000_000);
}

/// A value of `/proc/self/status` in kB.
fn memory(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_failure_leaves_no_file() {
    let bench = Bench::new();
    let (_, words) = bench.failure("yes | head -c 1000000; exit 2").await;
    assert!(words.starts_with("Exit code 2\n[output of 1000000 bytes, 500000 lines"), "{words}");
    assert_eq!(bench.spooled_files(), 0);
}

#[tokio::test]
async fn an_image_on_standard_output_is_shown() {
    let bench = Bench::new();
    fs::write(bench.project.join("a.png"), b"\x89PNG\r\n\x1A\nbody").unwrap();
    for command in ["cat a.png", "printf 'data:image/png;base64,'; base64 -w0 a.png; echo"] {
        let output = bench.run(command).await.unwrap();
        assert!(output.data.is_image);
        let ToolResultContent::Blocks(blocks) = bench.tool.render(&output.data) else {
            panic!("{command}: no blocks")
        };
        let [ContentBlock::Image(image)] = blocks.as_slice() else { panic!("{blocks:?}") };
        let ImageSource::Base64 { media_type, data } = &image.source else { panic!("{image:?}") };
        assert_eq!((media_type.as_str(), data.as_str()), ("image/png", "iVBORw0KGgpib2R5"));
    }
}

#[tokio::test]
async fn an_image_that_is_too_large_is_named_in_words() {
    let bench = Bench::new();
    let text = bench.text("printf '\\xff\\xd8\\xff'; head -c 4000000 /dev/zero").await;
    assert!(
        text.starts_with("The output is an image that is too large to be shown; it is in "),
        "{text}"
    );
    let path = text.rsplit(' ').next().unwrap();
    assert_eq!(fs::metadata(path).unwrap().len(), 4_000_003);
}

#[tokio::test]
async fn progress_tells_the_last_lines_and_not_too_often() {
    let bench = Bench::new();
    let started = std::time::Instant::now();
    bench.text("for i in $(seq 100); do echo step $i; sleep 0.01; done").await;
    let events = bench.progress.0.lock().unwrap();
    let most = started.elapsed().as_millis() / 200 + 1;
    assert!(
        (1..=most).contains(&(events.len() as u128)),
        "{} events, {most} at most",
        events.len()
    );
    let last = &events.last().unwrap().data;
    assert!(last["tail"].as_str().unwrap().contains("step "), "{last}");
    assert!(last["bytes"].as_u64() > Some(0) && last["lines"].as_u64() > Some(0), "{last}");
    assert!(last["elapsed_ms"].as_u64() >= Some(190), "{last}");
}
