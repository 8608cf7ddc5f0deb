//! Restricts the calling process by Landlock (kernel documentation, "Landlock: unprivileged access control").

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ::landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, set_capabilities,
};

use super::hidden::HiddenPlaces;
use super::{Network, SandboxProfile};

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
    if profile.network != Network::Open {
        // A sandbox that leaves the network open must not be taken for one that closes it.
        ruleset = ruleset
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessNet::from_all(NETWORK))
            .map_err(|error| failed(&error))?
            .set_compatibility(CompatLevel::BestEffort)
            .scope(Scope::AbstractUnixSocket)
            .map_err(|error| failed(&error))?;
    }
    // It cannot put another file in the place of one.
    let replaced = profile.replace.iter().map(|(path, _)| path);
    let hidden = HiddenPlaces::new(profile.deny_read.iter().chain(replaced), &profile.allow_read);
    let (readable, listable) = open_places(Path::new("/"), &hidden)?;
    let list: BitFlags<AccessFs> = AccessFs::ReadDir.into();
    // What lies beside something hidden may be changed, but nothing new made beside it: a right to make files in a
    // directory is one to change what lies in it.
    let mut writable = Vec::new();
    for root in profile.write.iter().filter(|path| path.exists()) {
        writable.extend(open_places(&crate::paths::real(root), &hidden)?.0);
    }
    let status = ruleset
        .create()
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(readable, read)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(listable, list)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(DEVICES, all)))
        .and_then(|ruleset| ruleset.add_rules(path_beneath_rules(writable, all)))
        .and_then(::landlock::RulesetCreated::restrict_self)
        .map_err(|error| failed(&error))?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => give_up_capabilities(),
        RulesetStatus::NotEnforced => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "this kernel has no Landlock"))
        }
    }
}

/// What a command may do beyond its user: nothing. The superuser keeps what works on others' files needs, as in
/// bubblewrap: with all of its rights it would read the memory of programs outside, or load a driver.
///
/// A thread that has been restricted gains none of them again by starting a program (`PR_SET_NO_NEW_PRIVS`).
fn give_up_capabilities() -> io::Result<()> {
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID;
    let CapabilitySets { effective, permitted, inheritable: _ } = capabilities(None)?;
    if permitted.is_empty() {
        return Ok(());
    }
    clear_ambient_capability_set()?;
    let inheritable = CapabilitySet::empty();
    let (effective, permitted) = (effective & kept, permitted & kept);
    Ok(set_capabilities(None, CapabilitySets { effective, permitted, inheritable })?)
}

/// The places that together are all of `start` but what is hidden, and the directories on the way to that, whose names
/// may be listed.
fn open_places(start: &Path, hidden: &HiddenPlaces) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let (mut allowed, mut passed) = (Vec::new(), Vec::new());
    let mut open = vec![start.to_path_buf()];
    while let Some(place) = open.pop() {
        let is_hidden = hidden.has(&place);
        if is_hidden && !hidden.any_kept_in(&place) {
            continue;
        }
        if !is_hidden && (!hidden.any_in(&place) || !place.is_dir()) {
            allowed.push(place);
            continue;
        }
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            // What cannot be listed is closed with all that is in it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            open.push(entry?.path());
            if open.len() + allowed.len() > MAX_PLACES {
                let what = format!(
                    "there are too many files beside those that are hidden in `{}`",
                    place.display()
                );
                return Err(io::Error::other(what));
            }
        }
        if !is_hidden {
            passed.push(place);
        }
    }
    // A link is as open as what it leads to.
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
        let denied = [root.join("home/.ssh"), root.join("missing"), root.join("home/file/x")];
        let (allowed, passed) =
            open_places(Path::new("/"), &HiddenPlaces::new(&denied, &[])).unwrap();
        assert!(allowed.contains(&root.join("home/file")) && passed.contains(&root.join("home")));
        assert!(!allowed.iter().any(|place| root.join("home/.ssh").starts_with(place)));
        let home = root.join("home");
        let kept = [home.join("file")];
        let hidden = HiddenPlaces::new(std::slice::from_ref(&home), &kept);
        let (allowed, passed) = open_places(&root, &hidden).unwrap();
        assert_eq!((allowed, passed), (kept.to_vec(), vec![root]));
        let (all, none) = open_places(Path::new("/"), &HiddenPlaces::new(&[], &[])).unwrap();
        assert_eq!((all, none.len()), (vec![PathBuf::from("/")], 0));
    }
}
