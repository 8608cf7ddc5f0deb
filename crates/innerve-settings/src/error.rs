//! What can go wrong with settings.

use std::io;
use std::path::PathBuf;

use innerve_permission::RuleError;

/// Why settings could not be read or written.
///
/// A settings file that cannot be read is never skipped: the deny rules in it would be lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The user's home directory is not known.
    #[error("the home directory is not known; set HOME")]
    NoHome,
    /// The current directory is gone or may not be read.
    #[error("the current directory cannot be told: {source}")]
    NoCurrentDirectory {
        /// What the system said.
        source: io::Error,
    },
    /// A file is there but cannot be read.
    #[error("cannot read `{}`: {source}; its deny rules would be lost", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The path is a directory, a pipe or a device.
    #[error("`{}` is not a regular file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than settings ever are.
    #[error("`{}` is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest size that is read.
        limit: u64,
    },
    /// The text is no JSON object.
    #[error("{place} is not valid: {problem}; mend it, since its deny rules would be lost")]
    Syntax {
        /// File, and line if known.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// A rule is broken.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A file cannot be written; it is as it was.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was written, but git would still offer to commit it.
    #[error("`{}` is saved, but git cannot be told to leave it out: {source}; do not commit it", path.display())]
    NotExcluded {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory that is never trusted for good.
    #[error("`{}` is not trusted for good: everything lies beneath it; start in a project's directory", path.display())]
    TooWide {
        /// The directory.
        path: PathBuf,
    },
}

impl SettingsError {
    /// The stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoHome => "settings_no_home",
            Self::NoCurrentDirectory { .. } => "settings_no_current_directory",
            Self::Read { .. } => "settings_read",
            Self::NotRegular { .. } => "settings_not_regular",
            Self::TooLarge { .. } => "settings_too_large",
            Self::Syntax { .. } => "settings_syntax",
            Self::Rule(error) => error.code(),
            Self::Write { .. } => "settings_write",
            Self::NotExcluded { .. } => "settings_not_excluded",
            Self::TooWide { .. } => "settings_too_wide",
        }
    }
}
