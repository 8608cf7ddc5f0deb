//! Large results as files of the session, by tool use id.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use innerve_budget::{ResultStore, StoreError, StoredContent};
use innerve_protocol::ToolUseId;

use crate::log::{create_private_dir, private_options};

/// Keeps large results in a folder of the session; a replay never overwrites one.
#[derive(Clone, Debug)]
pub struct ResultFiles {
    folder: PathBuf,
}

impl ResultFiles {
    /// Keeps results in `folder`, which is made when it is first needed.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl ResultStore for ResultFiles {
    fn save(&self, id: &ToolUseId, content: StoredContent<'_>) -> Result<PathBuf, StoreError> {
        let name = file_name(id);
        let text = content.as_str();
        // A file that holds other content under this id is left alone, and the next name is tried.
        for number in 0..100_u32 {
            let suffix = if number == 0 { String::new() } else { format!("-{number}") };
            let path = self.folder.join(format!("{name}{suffix}.{}", content.extension()));
            let write = |source| StoreError::Write { path: path.clone(), source };
            create_private_dir(&self.folder).map_err(write)?;
            match private_options().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    return match file.write_all(text.as_bytes()) {
                        Ok(()) => Ok(path),
                        Err(error) => {
                            // Half a result must not be taken for the whole.
                            let _gone = std::fs::remove_file(&path);
                            Err(write(error))
                        }
                    };
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if std::fs::read(&path).is_ok_and(|there| there == text.as_bytes()) {
                        return Ok(path);
                    }
                }
                Err(error) => return Err(write(error)),
            }
        }
        let path = self.folder.join(name);
        Err(StoreError::Write { path, source: io::Error::from(io::ErrorKind::AlreadyExists) })
    }
}

/// A name that cannot lead out of the folder.
fn file_name(id: &ToolUseId) -> String {
    if id.is_plain() && id.as_str().len() <= 128 {
        return id.to_string();
    }
    let plain: String = id
        .as_str()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .take(100)
        .collect();
    format!("{plain}_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_never_overwritten_and_never_leaves_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let files = ResultFiles::new(folder.path().join("results"));
        let first = files.save(&"call_1".into(), StoredContent::Text("a")).unwrap();
        let again = files.save(&"call_1".into(), StoredContent::Text("a")).unwrap();
        let other = files.save(&"call_1".into(), StoredContent::Text("b")).unwrap();
        assert_eq!(first, again);
        assert_ne!(first, other);
        assert_eq!(std::fs::read_to_string(first).unwrap(), "a");
        let hostile = files.save(&"../../x".into(), StoredContent::Text("c")).unwrap();
        assert_eq!(hostile.parent(), Some(files.folder()));
    }
}
