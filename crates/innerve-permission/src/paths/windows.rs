//! Paths as Windows reads them, turned into the one form that rules are written in: `/c/dir/file`, lower case.
//!
//! Pure text, so that it is tested everywhere. A spelling that two programs could read as two files has no such form.

use std::path::{Path, PathBuf};

/// Names of devices, whatever their extension (Microsoft, "Naming Files, Paths, and Namespaces").
const DEVICES: &[&str] = &["con", "prn", "aux", "nul", "conin$", "conout$"];

/// What a written path means.
enum Reading {
    /// From the root of a drive.
    Absolute(String),
    /// From the current directory.
    Relative(String),
    /// Nobody knows.
    Odd,
}

/// Whether the spelling could be read in two ways: network and device paths, streams, short names, stripped endings.
pub(crate) fn is_odd(given: &str) -> bool {
    matches!(read(given), Reading::Odd)
}

/// The path in the form of rules; `None` if its spelling is odd, or relative to a directory that is not known.
pub(crate) fn absolute(given: &str, cwd: Option<&Path>) -> Option<PathBuf> {
    let joined = match read(given) {
        Reading::Absolute(path) => path,
        Reading::Relative(path) => match read(cwd?.to_str()?) {
            Reading::Absolute(cwd) => format!("{cwd}/{path}"),
            Reading::Relative(_) | Reading::Odd => return None,
        },
        Reading::Odd => return None,
    };
    let mut segments: Vec<&str> = Vec::new();
    for segment in joined.split('/') {
        match segment {
            "" | "." => {}
            // Whether `C:\..\d` leaves the drive depends on who reads it.
            ".." if segments.len() <= 1 => return None,
            ".." => {
                segments.pop();
            }
            name => segments.push(name),
        }
    }
    Some(PathBuf::from(format!("/{}", segments.join("/"))))
}

/// A path in the form of rules as Windows itself writes it.
pub(crate) fn native(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    match text.strip_prefix('/').and_then(|rest| rest.split_once('/').or(Some((rest, "")))) {
        Some((drive, rest)) if is_drive(drive) => {
            PathBuf::from(format!("{drive}:\\{}", rest.replace('/', "\\")))
        }
        Some(_) | None => path.to_path_buf(),
    }
}

/// A path pattern with backslashes as separators, in the form of rules.
///
/// A backslash before a special character stays its escape.
pub(crate) fn pattern(spec: &str) -> String {
    if let Some((drive, rest)) = drive_prefix(spec) {
        return format!("//{}/{}", drive.to_ascii_lowercase(), rest.replace('\\', "/"));
    }
    let mut converted = String::with_capacity(spec.len());
    let mut characters = spec.chars().peekable();
    while let Some(character) = characters.next() {
        let separates = character == '\\'
            && characters
                .peek()
                .is_some_and(|next| next.is_alphanumeric() || "._-*".contains(*next));
        converted.push(if separates { '/' } else { character });
    }
    converted
}

/// The drive and the rest of `C:\rest` or `C:/rest`.
pub(crate) fn drive_prefix(text: &str) -> Option<(char, &str)> {
    let mut characters = text.chars();
    let drive = characters.next().filter(char::is_ascii_alphabetic)?;
    let rest = characters.as_str().strip_prefix(':')?.strip_prefix(['\\', '/'])?;
    Some((drive, rest))
}

fn read(given: &str) -> Reading {
    let plain = given.replace('\\', "/").to_lowercase();
    let (path, is_absolute) = if let Some((drive, rest)) = drive_prefix(&plain) {
        (format!("/{drive}/{rest}"), true)
    } else if plain.starts_with("//") || given.starts_with('\\') {
        // A network path, a device path, or the root of a drive that is not told.
        return Reading::Odd;
    } else {
        let is_absolute = plain.starts_with('/');
        (plain, is_absolute)
    };
    if path.contains(':') || path.chars().any(char::is_control) || path.split('/').any(is_odd_name)
    {
        return Reading::Odd;
    }
    if is_absolute { Reading::Absolute(path) } else { Reading::Relative(path) }
}

/// Whether Windows takes the name for another one, or for a device.
fn is_odd_name(name: &str) -> bool {
    if matches!(name, "" | "." | "..") {
        return false;
    }
    let stem = name.split('.').next().unwrap_or(name).trim_end();
    let is_port = ["com", "lpt"]
        .iter()
        .any(|port| stem.strip_prefix(port).is_some_and(|number| number.chars().count() == 1));
    name.ends_with(['.', ' ']) || DEVICES.contains(&stem) || is_port || is_short_name(name)
}

/// Whether the name has the form of a short one, such as `progra~1` or `git~1.txt`.
fn is_short_name(name: &str) -> bool {
    let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
    let Some((head, number)) = stem.rsplit_once('~') else { return false };
    stem.chars().count() <= 8
        && !head.is_empty()
        && !number.is_empty()
        && number.chars().all(|c| c.is_ascii_digit())
        && extension.chars().count() <= 3
}

fn is_drive(segment: &str) -> bool {
    segment.len() == 1 && segment.chars().all(|c| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: Option<&str>) {
        assert_eq!(
            absolute(given, Some(Path::new("C:\\Repo"))).as_deref(),
            expected.map(Path::new),
            "{given}"
        );
    }

    #[test]
    fn every_way_to_write_a_path_has_one_form() {
        for given in
            ["C:\\A\\b.txt", "c:/a/b.txt", "/c/a/b.txt", "C:\\x\\..\\A\\.\\b.TXT", "C:\\a\\\\b.txt"]
        {
            check(given, Some("/c/a/b.txt"));
        }
        check("src\\Lib.rs", Some("/c/repo/src/lib.rs"));
        check("./src/lib.rs", Some("/c/repo/src/lib.rs"));
        check("..\\x", Some("/c/x"));
        check("D:\\", Some("/d"));
        check("/tmp/x", Some("/tmp/x"));
        check(".env", Some("/c/repo/.env"));
    }

    #[test]
    fn what_two_programs_read_differently_has_none() {
        for given in [
            "\\\\server\\share\\x",
            "//server/share/x",
            "\\\\?\\C:\\a",
            "\\\\.\\C:\\a",
            "\\??\\C:\\a",
            "\\a",
            "C:a",
            "C:",
            "a.txt:stream",
            "C:\\a.txt::$DATA",
            ".env.",
            ".env ",
            "a./b",
            "PROGRA~1\\x",
            "GIT~1",
            "nul",
            "aux.txt",
            "COM1",
            "lpt9.log",
            "x\\CON\\y",
            "..\\..\\x",
            "C:\\..\\d",
            "a\u{1}b",
        ] {
            check(given, None);
        }
        for given in
            ["console", "auxiliary.txt", "com", "com10", "a~b", "backup~", "longername~1", "..."]
        {
            assert_eq!(is_odd(given), given == "...", "{given}");
        }
    }

    #[test]
    fn the_disk_is_asked_in_its_own_words() {
        assert_eq!(native(Path::new("/c/a/b")), Path::new("c:\\a\\b"));
        assert_eq!(native(Path::new("/c")), Path::new("c:\\"));
        assert_eq!(native(Path::new("/tmp/x")), Path::new("/tmp/x"));
    }

    #[test]
    fn patterns_may_have_backslashes() {
        assert_eq!(pattern("C:\\Users\\*\\.env"), "//c/Users/*/.env");
        assert_eq!(pattern("src\\gen\\**"), "src/gen/**");
        assert_eq!(pattern("~\\secret.txt"), "~/secret.txt");
        assert_eq!(pattern("a\\[1\\].txt"), "a\\[1\\].txt");
    }
}
