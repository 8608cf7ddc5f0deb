//! Restricts the calling process by Landlock (kernel documentation, "Landlock: unprivileged access control").

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use super::SandboxProfile;

/// What is known of Landlock here; of an older kernel what it has is taken.
const KNOWN: ABI = ABI::V6;
/// The first version that can close the network.
const NETWORK: ABI = ABI::V4;
/// Devices that every program may write to.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];
/// Places that are allowed one by one to leave others out, at most.
const MAX_PLACES: usize = 20_000;

/// Restricts this thread and all that it will start.
pub(super) fn restrict(profile: &SandboxProfile) -> io::Result<()> {
    let failed = |error: &dyn std::fmt::Display| io::Error::other(format!("Landlock: {error}"));
    let (all, read) = (AccessFs::from_all(KNOWN), AccessFs::from_read(KNOWN));
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .map_err(|error| failed(&error))?;
    ruleset = ruleset.scope(Scope::Signal).map_err(|error| failed(&error))?;
    if !profile.network {
        // A sandbox that leaves the network open must not be taken for one that closes it.
        ruleset = ruleset
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessNet::from_all(NETWORK))
            .map_err(|error| failed(&error))?
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::AbstractUnixSocket)
            .map_err(|error| failed(&error))?;
    }
    let denied: Vec<PathBuf> =
        profile.deny_read.iter().map(|path| crate::paths::real(path)).collect();
    let (readable, listable) = readable(&denied)?;
    let list: BitFlags<AccessFs> = AccessFs::ReadDir.into();
    // Nothing below what may not be read can be written either.
    let writable: Vec<&PathBuf> = profile
        .write
        .iter()
        .filter(|path| {
            path.exists()
                && !denied.iter().any(|denied| path.starts_with(denied) || denied.starts_with(path))
        })
        .collect();
    let status = ruleset
        .create()
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(readable, read)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(listable, list)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(DEVICES, all)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(writable, all)))
        .and_then(::landlock::RulesetCreated::restrict_self)
        .map_err(|error| failed(&error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel has no Landlock"))
        }
    }
}

/// What may be read so that `denied` may not: the places beside them, and the directories on the way, whose names may be
/// listed.
fn readable(denied: &[PathBuf]) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut allowed, mut passed) = (Vec::new(), Vec::new());
    let mut open = vec![PathBuf::from("/")];
    while let Some(place) = open.pop() {
        if denied.contains(&place) {
            continue;
        }
        if !denied.iter().any(|denied| denied.starts_with(&place)) {
            allowed.push(place);
            continue;
        }
        for entry in fs::read_dir(&place)? {
            open.push(entry?.path());
            if open.len() + allowed.len() > MAX_PLACES {
                let what = format!(
                    "there are too many files beside those that `{}` hides",
                    place.display()
                );
                return Err(io::Error::other(what));
            }
        }
        passed.push(place);
    }
    // A link is as readable as what it leads to.
    allowed.retain(|place| !is_link(place));
    Ok((allowed, passed))
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_symlink())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_what_is_denied_may_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("home/.ssh")).unwrap();
        fs::write(root.join("home/file"), "").unwrap();
        let (allowed, passed) = readable(&[root.join("home/.ssh"), root.join("missing")]).unwrap();
        assert!(allowed.contains(&root.join("home/file")) && passed.contains(&root.join("home")));
        assert!(!allowed.iter().any(|place| root.join("home/.ssh").starts_with(place)));
        let (all, none) = readable(&[]).unwrap();
        assert_eq!((all, none.len()), (vec![PathBuf::from("/")], 0));
    }
}
