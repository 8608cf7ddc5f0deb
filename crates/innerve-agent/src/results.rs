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
