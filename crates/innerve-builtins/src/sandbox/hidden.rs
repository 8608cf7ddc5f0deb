//! What a profile hides: the deepest word about a path counts.

use std::io;
use std::path::{Path, PathBuf};

use crate::paths::real;

/// The places that may not be read, and those in them that may, with links resolved.
pub(super) struct HiddenPlaces {
    hidden: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

impl HiddenPlaces {
    pub(super) fn new<'a>(
        hidden: impl IntoIterator<Item = &'a PathBuf>,
        kept: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Self {
        let all = |paths: &mut dyn Iterator<Item = &'a PathBuf>| {
            let mut paths: Vec<PathBuf> =
                paths.map(|path| real(path)).filter(|path| !is_device(path)).collect();
            paths.sort_unstable();
            paths.dedup();
            paths
        };
        Self { hidden: all(&mut hidden.into_iter()), kept: all(&mut kept.into_iter()) }
    }

    /// Whether a program can run in this directory at all.
    pub(super) fn let_run_in(&self, cwd: &Path) -> io::Result<()> {
        let cwd = real(cwd);
        if self.has(Path::new("/")) {
            return Err(io::Error::other("the root directory is hidden, so that nothing can run"));
        }
        if cwd.parent().is_some_and(|parent| self.has(parent)) && self.has(&cwd) {
            let what =
                format!("the working directory `{}` lies in one that is hidden", cwd.display());
            return Err(io::Error::other(what));
        }
        Ok(())
    }

    pub(super) fn hidden(&self) -> &[PathBuf] {
        &self.hidden
    }

    pub(super) fn kept(&self) -> &[PathBuf] {
        &self.kept
    }

    /// Whether the path, with links resolved, is hidden. Of both words about one path the stricter counts.
    pub(super) fn has(&self, path: &Path) -> bool {
        let depth = |places: &[PathBuf]| {
            let above = places.iter().filter(|place| path.starts_with(place));
            above.map(|place| place.components().count()).max()
        };
        let hidden = depth(&self.hidden);
        hidden.is_some() && hidden >= depth(&self.kept)
    }

    /// Whether something in the directory is hidden.
    pub(super) fn any_in(&self, directory: &Path) -> bool {
        is_above_any(directory, &self.hidden)
    }

    /// Whether something in the directory may be read although the directory may not.
    pub(super) fn any_kept_in(&self, directory: &Path) -> bool {
        is_above_any(directory, &self.kept)
    }
}

/// A device such as `/dev/null` holds nothing, whatever link leads to it.
fn is_device(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        path.metadata().is_ok_and(|meta| meta.file_type().is_char_device())
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

fn is_above_any(directory: &Path, places: &[PathBuf]) -> bool {
    places.iter().any(|place| place != directory && place.starts_with(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_word_counts_and_of_two_the_stricter() {
        let paths = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(PathBuf::from).collect() };
        let hidden = paths(&["/nowhere/h", "/nowhere/h/work/key", "/nowhere/both"]);
        let kept = paths(&["/nowhere/h/work", "/nowhere/both"]);
        let places = HiddenPlaces::new(&hidden, &kept);
        for path in ["/nowhere/h", "/nowhere/h/x", "/nowhere/h/work/key/a", "/nowhere/both"] {
            assert!(places.has(Path::new(path)), "{path}");
        }
        for path in ["/nowhere", "/nowhere/h/work", "/nowhere/h/work/a", "/other"] {
            assert!(!places.has(Path::new(path)), "{path}");
        }
        assert!(places.any_in(Path::new("/nowhere")) && !places.any_in(Path::new("/nowhere/both")));
        assert!(places.any_kept_in(Path::new("/nowhere/h")));
    }

    #[test]
    fn nothing_runs_where_nothing_is_and_devices_hold_nothing() {
        let let_run_in = |hidden: &str, cwd: &str| {
            HiddenPlaces::new(&[PathBuf::from(hidden)], &[]).let_run_in(Path::new(cwd)).is_ok()
        };
        assert!(!let_run_in("/", "/nowhere/a"));
        assert!(!let_run_in("/nowhere", "/nowhere/a"));
        assert!(let_run_in("/nowhere/a", "/nowhere/a") && let_run_in("/nowhere/b", "/nowhere/a"));
        let devices = [PathBuf::from("/dev/null")];
        assert!(HiddenPlaces::new(&devices, &[]).hidden().is_empty());
    }
}
