//! The folder of one program's sandbox, made when something is put into it and gone with the program.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use innerve_builtins::sandbox::LiveFolder;

use crate::private;

/// Where a program's sandbox keeps what is no one command's.
#[derive(Clone, Debug, Default)]
pub(super) struct Workplace {
    parent: PathBuf,
    made: Arc<Mutex<Option<LiveFolder>>>,
}

impl Workplace {
    /// One below `state`; what killed programs have left there is removed.
    pub(super) fn below(state: &Path) -> Self {
        let parent = state.join("sandbox");
        LiveFolder::tidy(&parent);
        Self { parent, made: Arc::default() }
    }

    /// A folder in it.
    pub(super) fn folder(&self, name: &str) -> io::Result<PathBuf> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        // Somebody may have tidied up in the meantime.
        let folder = if let Some(folder) = made.take().filter(|made| made.path().is_dir()) {
            folder
        } else {
            private::make_folder(&self.parent)?;
            LiveFolder::new(&self.parent, "program-")?
        };
        let inner = folder.path().join(name);
        *made = Some(folder);
        private::make_folder(&inner)?;
        Ok(inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_made_when_it_is_needed_made_again_and_goes_with_the_last_who_knows_it() {
        let state = tempfile::tempdir().unwrap();
        let place = Workplace::below(state.path());
        assert!(!state.path().join("sandbox").exists());
        let first = place.folder("shell").unwrap();
        let other = place.clone();
        assert_eq!(other.folder("shell").unwrap(), first);
        std::fs::remove_dir_all(first.parent().unwrap()).unwrap();
        let second = place.folder("shell").unwrap();
        assert!(second.is_dir() && second != first);
        drop(place);
        assert!(second.exists());
        drop(other);
        assert!(!second.exists());
    }
}
