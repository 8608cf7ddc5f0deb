//! Versions of a crate, and which part a release raises.

use std::fmt;
use std::str::FromStr;

/// A released version; innerve has no pre-releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

/// The part of the version that a release raises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// The version that the manifest has already: nothing was released yet.
    First,
    /// Mends only.
    Patch,
    /// New things; below 1.0 also what breaks users.
    Minor,
    /// What breaks users.
    Major,
}

impl Level {
    /// The level of this word.
    pub(crate) fn named(word: &str) -> Option<Self> {
        match word {
            "first" => Some(Self::First),
            "patch" => Some(Self::Patch),
            "minor" => Some(Self::Minor),
            "major" => Some(Self::Major),
            _ => None,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::First => "first",
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        })
    }
}

impl Version {
    /// Whether who asks for this version may be given that one, which is not older (the Cargo book, "Specifying
    /// Dependencies").
    pub(super) const fn admits(self, newer: Self) -> bool {
        match (self.major, newer.major) {
            (0, 0) if self.minor == 0 && newer.minor == 0 => self.patch == newer.patch,
            (0, 0) => self.minor == newer.minor,
            (old, new) => old == new,
        }
    }

    /// The lowest level that may break users.
    pub(super) const fn breaking(self) -> Level {
        if self.major == 0 { Level::Minor } else { Level::Major }
    }

    /// The version after a release of this level.
    pub(super) const fn raised(self, level: Level) -> Self {
        let Self { major, minor, patch } = self;
        match level {
            Level::First => self,
            Level::Patch => Self { patch: patch + 1, ..self },
            Level::Minor => Self { major, minor: minor + 1, patch: 0 },
            Level::Major => Self { major: major + 1, minor: 0, patch: 0 },
        }
    }

    /// What a release of this level may do to users, in the words of `cargo semver-checks --release-type`: below 1.0 the minor
    /// part plays the major's role, and the patch part the minor's (the Cargo book, chapter on semantic versions).
    pub(super) const fn permits(self, level: Level) -> &'static str {
        match (self.major, level) {
            (0, Level::Patch) => "minor",
            (_, Level::Patch) => "patch",
            (0, Level::Minor | Level::Major) | (_, Level::Major | Level::First) => "major",
            (_, Level::Minor) => "minor",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<u64> = text.split('.').map_while(|part| part.parse().ok()).collect();
        match *parts {
            [major, minor, patch] if text == format!("{major}.{minor}.{patch}") => {
                Ok(Self { major, minor, patch })
            }
            _ => Err(format!("`{text}` is not a version of three numbers")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(from: &str, level: Level, to: &str, permits: &str) {
        let version: Version = from.parse().unwrap();
        assert_eq!(version.raised(level).to_string(), to);
        assert_eq!(version.permits(level), permits);
    }

    #[test]
    fn levels_raise_and_permit() {
        check("0.1.2", Level::First, "0.1.2", "major");
        check("0.1.2", Level::Patch, "0.1.3", "minor");
        check("0.1.2", Level::Minor, "0.2.0", "major");
        check("0.1.2", Level::Major, "1.0.0", "major");
        check("1.2.3", Level::Patch, "1.2.4", "patch");
        check("1.2.3", Level::Minor, "1.3.0", "minor");
        check("1.2.3", Level::Major, "2.0.0", "major");
    }

    #[test]
    fn a_version_admits_what_does_not_break_its_users() {
        for (old, new, expected) in [
            ("0.1.0", "0.1.9", true),
            ("0.1.0", "0.2.0", false),
            ("0.0.1", "0.0.2", false),
            ("0.9.0", "1.0.0", false),
            ("1.2.3", "1.9.0", true),
            ("1.2.3", "2.0.0", false),
        ] {
            let (old, new): (Version, Version) = (old.parse().unwrap(), new.parse().unwrap());
            assert_eq!(old.admits(new), expected, "{old} {new}");
            assert_eq!(
                old.breaking(),
                if old < "1.0.0".parse().unwrap() { Level::Minor } else { Level::Major }
            );
        }
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in ["", "1", "1.2", "1.2.3.4", "1.2.x", "01.2.3", "1.2.3-rc.1"] {
            assert!(text.parse::<Version>().is_err(), "{text}");
        }
    }
}
