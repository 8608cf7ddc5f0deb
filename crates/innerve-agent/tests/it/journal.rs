//! Undo: what a turn changed is given back, and what others did since stays as they did it.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use innerve_agent::{Journal, UndoAction, UndoPlan, UndoTarget};
use innerve_tool::BoxFuture;
use innerve_tool::port::{
    ChangeJournal as _, DirEntry, FileChange, FileMetadata, FileReader, FileSystem, WriteCondition,
};

/// Writes to the real disk; undo needs no more.
struct Disk;

impl FileSystem for Disk {
    fn metadata<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, io::Result<FileMetadata>> {
        Box::pin(async { Err(io::Error::other("undo looks by itself")) })
    }
    fn open<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn FileReader>>> {
        Box::pin(async { Err(io::Error::other("undo reads by itself")) })
    }
    fn list<'a>(
        &'a self,
        _: &'a Path,
        _: usize,
    ) -> BoxFuture<'a, io::Result<(Vec<DirEntry>, bool)>> {
        Box::pin(async { Err(io::Error::other("undo lists nothing")) })
    }
    fn write<'a>(
        &'a self,
        path: &'a Path,
        content: &'a [u8],
        condition: WriteCondition,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            match condition {
                WriteCondition::New => assert!(!path.exists()),
                WriteCondition::Unchanged(hash) => {
                    assert_eq!(hash, blake3::hash(&fs::read(path)?).to_hex().to_string());
                }
            }
            fs::create_dir_all(path.parent().unwrap())?;
            fs::write(path, content)
        })
    }
}

struct Place {
    folder: tempfile::TempDir,
    root: PathBuf,
    journal: Journal,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        let journal = Journal::new(folder.path().join("session"));
        Self { folder, root, journal }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A tool changes a file: it notes first and writes then.
    fn tool(&self, name: &str, after: &str) {
        self.note(name, after);
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, after).unwrap();
    }

    fn note(&self, name: &str, after: &str) {
        let path = self.path(name);
        let change = FileChange {
            tool_use_id: "toolu_1".into(),
            before: fs::read(&path).ok(),
            after_hash: blake3::hash(after.as_bytes()).to_hex().to_string(),
            path,
        };
        self.journal.record(change).unwrap();
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn plan(&self, of: UndoTarget) -> UndoPlan {
        UndoPlan::make(&self.journal, of).unwrap()
    }

    /// Undoes; gives what became of each file: `+` for what was done, else the reason.
    async fn undo(&self, of: UndoTarget) -> Vec<String> {
        let all = self.plan(of).carry_out(&self.journal, &Disk).await;
        all.iter()
            .map(|undone| {
                let name = undone.file.path.strip_prefix(&self.root).unwrap().display();
                if let UndoAction::Leave(why) = &undone.file.undoing {
                    return format!("{name}: {why}");
                }
                assert!(undone.is_done(), "{undone:?}");
                format!("+{name}")
            })
            .collect()
    }
}

#[tokio::test]
async fn the_last_turn_is_undone_then_the_one_before_and_an_undo_is_taken_back() {
    let place = Place::new();
    place.write("a", "one");
    place.journal.begin_turn(1);
    place.tool("a", "two");
    place.tool("new/deep/b", "made");
    place.journal.begin_turn(2);
    place.tool("a", "three");
    place.tool("a", "four");

    assert_eq!(place.undo(UndoTarget::LastTurn).await, ["+a"]);
    assert_eq!(place.read("a").unwrap(), "two");
    assert_eq!(place.undo(UndoTarget::LastTurn).await, ["+a", "+new/deep/b"]);
    assert_eq!(place.read("a").unwrap(), "one");
    assert!(!place.path("new").exists(), "directories that were made for it are gone too");
    let error = UndoPlan::make(&place.journal, UndoTarget::LastTurn).unwrap_err();
    assert_eq!(error.code(), "undo:nothing");

    assert_eq!(place.undo(UndoTarget::LastUndo).await, ["+a", "+new/deep/b"]);
    assert_eq!(
        (place.read("a").unwrap(), place.read("new/deep/b").unwrap()),
        ("two".into(), "made".into())
    );
    assert_eq!(place.undo(UndoTarget::LastUndo).await, ["+a"]);
    assert_eq!(place.read("a").unwrap(), "four");
    let error = UndoPlan::make(&place.journal, UndoTarget::LastUndo).unwrap_err();
    assert_eq!(error.code(), "undo:nothing_to_redo");
    // And all of it once more.
    assert_eq!(place.undo(UndoTarget::LastTurn).await, ["+a"]);
    assert_eq!(place.read("a").unwrap(), "two");
}

#[tokio::test]
async fn what_others_changed_since_stays_and_is_named() {
    let place = Place::new();
    for name in ["mine", "theirs", "link", "dir", "between"] {
        place.write(name, "old");
    }
    place.journal.begin_turn(1);
    for name in ["mine", "theirs", "link", "dir", "made"] {
        place.tool(name, "new");
    }
    place.tool("between", "first");
    place.write("between", "a person's");
    place.tool("between", "second");
    place.write("theirs", "a person's");
    place.write("made", "a person's");
    fs::remove_file(place.path("link")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", place.path("link")).unwrap();
    fs::remove_file(place.path("dir")).unwrap();
    fs::create_dir(place.path("dir")).unwrap();

    let said = place.undo(UndoTarget::Turn(1)).await;
    assert_eq!(
        said,
        [
            "between: someone else changed it between two changes of that turn",
            "dir: it is no regular file any more",
            "link: it is no regular file any more",
            "made: someone else has changed it since",
            "+mine",
            "theirs: someone else has changed it since",
        ]
    );
    assert_eq!(place.read("mine").unwrap(), "old");
    assert_eq!(place.read("theirs").unwrap(), "a person's");
    assert_eq!(place.read("between").unwrap(), "second");
}

#[tokio::test]
async fn a_directory_that_became_a_link_is_not_followed() {
    let place = Place::new();
    fs::create_dir(place.path("src")).unwrap();
    fs::create_dir(place.path("other")).unwrap();
    place.write("src/f", "old");
    place.write("other/f", "new");
    place.journal.begin_turn(1);
    place.tool("src/f", "new");
    fs::remove_dir_all(place.path("src")).unwrap();
    std::os::unix::fs::symlink(place.path("other"), place.path("src")).unwrap();
    let said = place.undo(UndoTarget::LastTurn).await;
    assert_eq!(said, ["src/f: its directory has become a link to another place"]);
    assert_eq!(place.read("other/f").unwrap(), "new");
}

#[tokio::test]
async fn an_earlier_turn_is_not_undone_under_a_later_one() {
    let place = Place::new();
    place.write("a", "one");
    place.journal.begin_turn(1);
    place.tool("a", "two");
    place.tool("b", "made");
    place.journal.begin_turn(2);
    place.tool("a", "three");
    let said = place.undo(UndoTarget::Turn(1)).await;
    assert_eq!(said, ["a: turn 2 changed it again; undo that turn first", "+b"]);
    assert_eq!(place.undo(UndoTarget::Turn(2)).await, ["+a"]);
    assert_eq!(place.undo(UndoTarget::Turn(1)).await, ["+a"]);
    assert_eq!((place.read("a").as_deref(), place.read("b")), (Some("one"), None));
    let error = UndoPlan::make(&place.journal, UndoTarget::Turn(7)).unwrap_err();
    assert_eq!(error.to_string(), "turn 7 of this session changed no files; these did: 1, 2");
}

#[tokio::test]
async fn a_file_that_is_gone_is_made_again_with_its_permissions() {
    let place = Place::new();
    place.write("run.sh", "old");
    fs::set_permissions(place.path("run.sh"), fs::Permissions::from_mode(0o751)).unwrap();
    place.journal.begin_turn(1);
    place.tool("run.sh", "new");
    fs::remove_file(place.path("run.sh")).unwrap();
    assert_eq!(place.plan(UndoTarget::LastTurn).files[0].undoing, UndoAction::Recreate);
    assert_eq!(place.undo(UndoTarget::LastTurn).await, ["+run.sh"]);
    assert_eq!(place.read("run.sh").unwrap(), "old");
    let mode = fs::metadata(place.path("run.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
}

#[tokio::test]
async fn what_was_noted_and_not_done_is_no_change() {
    let place = Place::new();
    place.write("a", "one");
    place.journal.begin_turn(1);
    // The write failed, or the process was killed before it.
    place.note("a", "two");
    place.note("never", "made");
    place.tool("a", "three");
    place.note("a", "four");
    assert_eq!(place.undo(UndoTarget::LastTurn).await, ["+a"]);
    assert_eq!(place.read("a").unwrap(), "one");
}

#[tokio::test]
async fn half_a_line_and_spoilt_content_are_no_reason_to_write_nonsense() {
    let place = Place::new();
    place.write("a", "one");
    place.write("b", "one b");
    place.journal.begin_turn(1);
    place.tool("a", "two");
    let file = place.folder.path().join("session/changes.jsonl");
    let mut text = fs::read_to_string(&file).unwrap();
    text.push_str("{\"cause\":{\"tu");
    fs::write(&file, text).unwrap();
    // Another process goes on with it.
    let place = Place { journal: Journal::new(place.folder.path().join("session")), ..place };
    place.journal.begin_turn(1);
    place.tool("b", "two b");
    let kept = place.folder.path().join("session/before");
    let spoilt = kept.join(blake3::hash(b"one").to_hex().as_str());
    fs::write(spoilt, "nonsense").unwrap();
    let all = place.plan(UndoTarget::LastTurn).carry_out(&place.journal, &Disk).await;
    let done: Vec<bool> = all.iter().map(innerve_agent::Undone::is_done).collect();
    assert_eq!(done, [false, true]);
    assert_eq!(
        (place.read("a").unwrap(), place.read("b").unwrap()),
        ("two".into(), "one b".into())
    );
}

#[test]
fn old_contents_are_private_kept_once_and_by_their_hash() {
    let place = Place::new();
    place.write("a", "same");
    place.write("b", "same");
    place.journal.begin_turn(1);
    place.tool("a", "x");
    place.tool("b", "y");
    let session = place.folder.path().join("session");
    let kept: Vec<_> = fs::read_dir(session.join("before")).unwrap().collect();
    assert_eq!(kept.len(), 1);
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(kept[0].as_ref().unwrap().path()), 0o600);
    assert_eq!(mode(session.join("changes.jsonl")), 0o600);
    assert_eq!((mode(session.join("before")), mode(session)), (0o700, 0o700));
}

#[tokio::test]
async fn i8_a_content_beyond_the_limit_is_not_kept_and_undo_says_so() {
    let place = Place::new();
    let huge = "x".repeat((64 << 20) + 1);
    place.write("huge", &huge);
    place.journal.begin_turn(1);
    place.tool("huge", "small");
    let said = place.undo(UndoTarget::LastTurn).await;
    assert!(said[0].contains("too large to be kept"), "{said:?}");
    assert_eq!(place.read("huge").unwrap(), "small");
}
