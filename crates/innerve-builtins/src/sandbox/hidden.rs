//! What a profile hides: the deepest word about a path counts.

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
            let mut paths: Vec<PathBuf> = paths.map(|path| real(path)).collect();
            paths.sort_unstable();
            paths.dedup();
            paths
        };
        Self { hidden: all(&mut hidden.into_iter()), kept: all(&mut kept.into_iter()) }
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
}
