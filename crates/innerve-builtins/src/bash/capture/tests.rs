//! What is kept of an output, and where.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A spool that counts its files and keeps their bytes in memory.
#[derive(Default)]
struct MemorySpool {
    made: AtomicUsize,
    content: Arc<Mutex<Vec<u8>>>,
    is_full: bool,
}

struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl OutputSpool for MemorySpool {
    fn create(&self, _tool_use_id: &ToolUseId) -> io::Result<Box<dyn SpoolFile>> {
        if self.is_full {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left"));
        }
        self.made.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(MemoryFile(Arc::clone(&self.content))))
    }
}

impl SpoolFile for MemoryFile {
    fn write(&mut self, bytes: &[u8]) {
        self.0.lock().unwrap().extend_from_slice(bytes);
    }

    fn path(&self) -> PathBuf {
        "/spool/file".into()
    }

    fn counts(&self) -> (u64, u64) {
        let length = self.0.lock().unwrap().len() as u64;
        (length, length)
    }

    fn discard(self: Box<Self>) {}

    fn keep(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}

fn capture(spool: &Arc<MemorySpool>, limit: usize) -> Capture {
    let spool: Arc<dyn OutputSpool> = Arc::<MemorySpool>::clone(spool);
    Capture::new(spool, "toolu_1".into(), limit)
}

#[test]
fn an_output_of_exactly_the_limit_needs_no_file() {
    let spool = Arc::new(MemorySpool::default());
    let capture = capture(&spool, 100);
    capture.write(StdStream::Out, &[b'a'; 60]);
    capture.write(StdStream::Err, &[b'b'; 40]);
    let captured = capture.finish().unwrap();
    assert!(!captured.is_cut);
    assert_eq!(captured.text.whole().map(str::len), Some(100));
    assert_eq!(spool.made.load(Ordering::SeqCst), 0);
}

#[test]
fn one_character_more_puts_the_whole_output_into_a_file() {
    for piece in [1, 7, 101] {
        let spool = Arc::new(MemorySpool::default());
        let capture = capture(&spool, 100);
        let output: Vec<u8> = (0..101_u8).map(|number| b'a' + number % 26).collect();
        for bytes in output.chunks(piece) {
            capture.write(StdStream::Out, bytes);
        }
        let captured = capture.finish().unwrap();
        assert!(captured.is_cut);
        assert_eq!(*spool.content.lock().unwrap(), output);
        assert_eq!(captured.counts.to_string(), "101 bytes, 1 lines");
    }
}

#[test]
fn control_sequences_do_not_count_as_text() {
    let spool = Arc::new(MemorySpool::default());
    let capture = capture(&spool, 100);
    for number in 0..1000 {
        capture.write(StdStream::Out, format!("\r\x1b[32m{number}%\x1b[0m").as_bytes());
    }
    let captured = capture.finish().unwrap();
    assert!(!captured.is_cut);
    assert_eq!(captured.text.whole(), Some("999%"));
}

#[test]
fn a_full_disk_is_told_and_costs_only_the_middle() {
    let spool = Arc::new(MemorySpool { is_full: true, ..MemorySpool::default() });
    let capture = capture(&spool, 10);
    capture.write(StdStream::Out, "0123456789".repeat(3000).as_bytes());
    let captured = capture.finish().unwrap();
    assert!(captured.is_cut);
    assert_eq!(captured.text.chars(), 30_000);
    match captured.raw {
        Raw::Lost(reason) => assert_eq!(reason, "no space left"),
        Raw::Memory(_) | Raw::File(_) => panic!("the spool is full"),
    }
}

#[test]
fn lines_are_counted_with_an_unfinished_last_one() {
    for (output, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
        let mut counts = Counts::default();
        counts.add(output.as_bytes());
        counts.add(b"");
        assert_eq!(counts.lines(), lines, "{output:?}");
    }
}

#[test]
fn an_image_is_not_text_and_its_errors_are() {
    let spool = Arc::new(MemorySpool::default());
    let capture = capture(&spool, 100);
    for byte in b"\x89PNG\r\n\x1A\n body" {
        capture.write(StdStream::Out, &[*byte]);
    }
    capture.write(StdStream::Err, b"warning\n");
    let captured = capture.finish().unwrap();
    assert_eq!(captured.image.map(|image| image.media_type), Some("image/png"));
    assert_eq!(captured.text.whole(), Some("warning\n"));
}

#[test]
fn what_only_begins_like_an_image_is_text() {
    for output in ["GIF", "data:image/png;base64,AAAA", "RIFF1234WAVE", "data:image"] {
        let spool = Arc::new(MemorySpool::default());
        let capture = capture(&spool, 100);
        capture.write(StdStream::Out, output.as_bytes());
        let captured = capture.finish().unwrap();
        assert!(captured.image.is_none());
        assert_eq!(captured.text.whole(), Some(output));
    }
}

#[test]
fn an_image_that_is_too_large_goes_to_a_file() {
    let spool = Arc::new(MemorySpool::default());
    let capture = capture(&spool, 100);
    capture.write(StdStream::Out, b"\xFF\xD8\xFF");
    let piece = vec![7; 1 << 20];
    for _ in 0..6 {
        capture.write(StdStream::Out, &piece);
    }
    let captured = capture.finish().unwrap();
    assert!(captured.image.is_none() && captured.has_large_image);
    assert_eq!(spool.content.lock().unwrap().len(), (6 << 20) + 3);
}

#[test]
fn a_late_writer_is_ignored() {
    let spool = Arc::new(MemorySpool::default());
    let capture = capture(&spool, 100);
    capture.write(StdStream::Out, b"in time");
    assert!(capture.finish().is_some());
    capture.write(StdStream::Out, b"late");
    assert!(capture.finish().is_none());
}
