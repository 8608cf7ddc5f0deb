//! Paths as a model writes them: made absolute, shown relative, and mended when nothing is there.

use std::path::{Component, Path, PathBuf};

use innerve_tool::port::FileSystem;
use innerve_tool::{CallContext, ToolError, code};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::access::Hidden;

/// A directory with more entries is not searched for a similar name.
const MAX_SIBLINGS: usize = 5_000;

/// The absolute path that is meant: `~` is the home directory, all else starts at `cwd`; `.` and `..` are resolved as
/// text, so that the permission engine and the operating system see the same path.
pub(crate) fn absolute(given: &str, cwd: &Path, home: &Path) -> PathBuf {
    let expanded = match given.strip_prefix('~') {
        Some("") => home.to_path_buf(),
        Some(rest) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        Some(_) | None => cwd.join(given),
    };
    let mut path = PathBuf::new();
    for component in expanded.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                path.push(component);
            }
        }
    }
    path
}

/// As [`absolute`], for a call; refuses what no operating system takes.
pub(crate) fn checked<P>(given: &str, context: &CallContext<P>) -> Result<PathBuf, ToolError> {
    if given.contains('\0') {
        return Err(ToolError::invalid(format!(
            "the path `{}` holds a NUL byte; give it without",
            given.escape_debug()
        )));
    }
    if given.trim().is_empty() {
        return Err(ToolError::invalid("the path is empty; give the path of a file or directory"));
    }
    Ok(absolute(given, &context.cwd, &context.session.home))
}

/// As [`checked`]; no path, or an empty one, is the current directory.
pub(crate) fn or_cwd<P>(
    given: Option<&str>,
    context: &CallContext<P>,
) -> Result<PathBuf, ToolError> {
    match given.filter(|given| !given.is_empty()) {
        Some(given) => checked(given, context),
        None => Ok(context.cwd.clone()),
    }
}

/// Makes one field of an input absolute, if it holds a usable path.
pub(crate) fn prepare_field(input: &mut Value, field: &str, context: &CallContext) {
    if let Some(value) = input.get_mut(field)
        && let Some(path) = value.as_str().and_then(|given| checked(given, context).ok())
        && let Some(path) = path.to_str()
    {
        *value = Value::from(path);
    }
}

/// The path relative to `cwd` where it lies inside, else as it is.
pub(crate) fn shown(path: &Path, cwd: &Path) -> String {
    match path.strip_prefix(cwd) {
        Ok(inside) if inside.as_os_str().is_empty() => ".".to_owned(),
        Ok(inside) => inside.display().to_string(),
        Err(_) => path.display().to_string(),
    }
}

/// The path with links resolved as far as it exists.
pub(crate) fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            return match path.strip_prefix(ancestor) {
                Ok(rest) if !rest.as_os_str().is_empty() => real.join(rest),
                Ok(_) | Err(_) => real,
            };
        }
    }
    path.to_path_buf()
}

/// What lies beside a path at which nothing was found.
pub(crate) struct Siblings {
    /// The same name but for the kind of blanks in it, as screenshots of macOS have them, or for how characters with
    /// accents are written.
    pub(crate) same: Option<PathBuf>,
    /// Names that may have been meant.
    similar: Vec<String>,
    parent_exists: bool,
}

impl Siblings {
    pub(crate) async fn find(files: &dyn FileSystem, path: &Path, hidden: Option<&Hidden>) -> Self {
        let mut found = Self { same: None, similar: Vec::new(), parent_exists: false };
        let (Some(parent), Some(name)) =
            (path.parent(), path.file_name().map(|name| name.to_string_lossy().into_owned()))
        else {
            return found;
        };
        let Ok((entries, _)) = files.list(parent, MAX_SIBLINGS).await else {
            return found;
        };
        found.parent_exists = true;
        let wanted = plain_name(&name);
        let lower_name = name.to_lowercase();
        for entry in entries {
            let sibling = parent.join(&entry.name);
            if hidden.is_some_and(|hidden| hidden(&sibling)) {
                continue;
            }
            if plain_name(&entry.name) == wanted {
                found.same = Some(sibling);
            } else if found.similar.len() < 3
                && (entry.name.to_lowercase() == lower_name
                    || same_stem(&entry.name, &name)
                    || one_change_apart(&entry.name, &name))
            {
                found.similar.push(entry.name);
            }
        }
        found
    }

    /// The error that says so.
    pub(crate) fn error(&self, path: &Path, cwd: &Path) -> ToolError {
        let mut message = format!("`{}` does not exist", path.display());
        if !self.similar.is_empty() {
            message.push_str("; did you mean ");
            let names: Vec<String> = self.similar.iter().map(|name| format!("`{name}`")).collect();
            message.push_str(&names.join(" or "));
            message.push_str(" in the same directory?");
        } else if !self.parent_exists {
            message.push_str(", nor does its directory");
        }
        message.push_str(&format!(" (current directory: {})", cwd.display()));
        ToolError::new(code::NOT_FOUND, message)
    }
}

/// The name with plain blanks and composed characters: macOS writes others.
fn plain_name(name: &str) -> String {
    name.nfc()
        .map(|character| match character {
            '\u{202f}' | '\u{a0}' | '\u{2009}' => ' ',
            other => other,
        })
        .collect()
}

fn same_stem(left: &str, right: &str) -> bool {
    let stem = |name: &str| Path::new(name).file_stem().map(std::ffi::OsStr::to_owned);
    stem(left) == stem(right)
}

/// Whether one inserted, removed, changed or swapped character makes `left` of `right`.
fn one_change_apart(left: &str, right: &str) -> bool {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    if left.len().abs_diff(right.len()) > 1 || left.len().min(right.len()) < 3 {
        return false;
    }
    let front = left.iter().zip(&right).take_while(|(a, b)| a == b).count();
    let back = left
        .iter()
        .skip(front)
        .rev()
        .zip(right.iter().skip(front).rev())
        .take_while(|(a, b)| a == b)
        .count();
    let middle_left = left.len().saturating_sub(front + back);
    let middle_right = right.len().saturating_sub(front + back);
    let swapped = middle_left == 2
        && middle_right == 2
        && left.get(front) == right.get(front + 1)
        && left.get(front + 1) == right.get(front);
    middle_left.max(middle_right) <= 1 || swapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_as_text() {
        let at = |given| absolute(given, Path::new("/w/d"), Path::new("/home/u"));
        assert_eq!(at("a/./b/../c"), Path::new("/w/d/a/c"));
        assert_eq!(at("../../../x"), Path::new("/x"));
        assert_eq!(at("~"), Path::new("/home/u"));
        assert_eq!(at("~/a"), Path::new("/home/u/a"));
        assert_eq!(at("~//a"), Path::new("/home/u/a"));
        assert_eq!(at("~other/a"), Path::new("/w/d/~other/a"));
        assert_eq!(at("/etc//hosts"), Path::new("/etc/hosts"));
    }

    #[test]
    fn similar_names_are_one_change_apart() {
        assert!(one_change_apart("main.rs", "mian.rs"));
        assert!(one_change_apart("main.rs", "mains.rs"));
        assert!(one_change_apart("main.rs", "main.rb"));
        assert!(!one_change_apart("main.rs", "lib.rs"));
        assert!(!one_change_apart("a", "b"));
    }
}
