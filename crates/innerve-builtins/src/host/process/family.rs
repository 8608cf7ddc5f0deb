//! All that a process has started: its session, its group, and on Linux also children that left both.

/// The processes that end together with the one that leads them.
pub(super) struct Family {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    /// Those that were seen and that a signal to the group does not reach.
    #[cfg(target_os = "linux")]
    strays: std::collections::BTreeSet<linux::Process>,
}

#[cfg(not(unix))]
impl Family {
    pub(super) fn of(_leader: Option<u32>) -> Self {
        Self {}
    }

    pub(super) fn ask(&mut self) {}

    pub(super) fn force(&mut self) {}

    pub(super) fn is_alive(&self) -> bool {
        false
    }
}

#[cfg(unix)]
impl Family {
    /// The family of a process that leads a session of its own.
    pub(super) fn of(leader: Option<u32>) -> Self {
        let raw = leader.and_then(|id| i32::try_from(id).ok());
        Self {
            leader: raw.and_then(rustix::process::Pid::from_raw),
            #[cfg(target_os = "linux")]
            strays: std::collections::BTreeSet::new(),
        }
    }

    /// Asks all to end.
    pub(super) fn ask(&mut self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// Makes all end.
    pub(super) fn force(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(&mut self, signal: rustix::process::Signal) {
        let Some(leader) = self.leader else { return };
        // Before the signal: who loses its parent cannot be found any more.
        #[cfg(target_os = "linux")]
        self.strays.extend(linux::strays(leader));
        // The one error that can happen is that nobody is left.
        let _gone = rustix::process::kill_process_group(leader, signal);
        #[cfg(target_os = "linux")]
        for stray in self.strays.iter().filter(|stray| stray.is_alive()) {
            stray.signal(signal);
        }
    }

    /// Whether one of them still runs; the dead whom nobody has reaped yet do not count.
    #[cfg(target_os = "linux")]
    pub(super) fn is_alive(&self) -> bool {
        let Some(leader) = self.leader else { return false };
        // Asking the kernel is cheap, going through all processes is not.
        (rustix::process::test_kill_process_group(leader).is_ok() && linux::has_members(leader))
            || self.strays.iter().any(linux::Process::is_alive)
    }

    /// Whether one of them still runs.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_alive(&self) -> bool {
        self.leader.is_some_and(|leader| rustix::process::test_kill_process_group(leader).is_ok())
    }
}

/// Whether a process of the session runs, whoever leads its group.
#[cfg(target_os = "linux")]
pub(super) fn is_session_alive(session: u32) -> bool {
    i32::try_from(session).is_ok_and(linux::has_session)
}

/// Whether a process of the group that led the session runs.
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) fn is_session_alive(session: u32) -> bool {
    let id = i32::try_from(session).ok().and_then(rustix::process::Pid::from_raw);
    id.is_some_and(|id| rustix::process::test_kill_process_group(id).is_ok())
}

#[cfg(target_os = "linux")]
mod linux {
    //! Reads `/proc/<pid>/stat` (proc(5)).

    use std::collections::BTreeSet;
    use std::fs;

    use rustix::process::{Pid, RawPid, Signal};

    /// A process, told from a later one with the same number by the time it was started.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub(super) struct Process {
        id: RawPid,
        started: u64,
    }

    struct Stat {
        process: Process,
        is_dead: bool,
        parent: RawPid,
        group: RawPid,
        session: RawPid,
    }

    impl Process {
        pub(super) fn is_alive(&self) -> bool {
            read(self.id).is_some_and(|stat| stat.process == *self && !stat.is_dead)
        }

        pub(super) fn signal(&self, signal: Signal) {
            if let Some(id) = Pid::from_raw(self.id) {
                // The one error that can happen is that it has ended meanwhile.
                let _gone = rustix::process::kill_process(id, signal);
            }
        }
    }

    /// Living processes that `leader` started, directly or not, outside of its group.
    pub(super) fn strays(leader: Pid) -> BTreeSet<Process> {
        let leader = leader.as_raw_nonzero().get();
        let all = all();
        let mut family = BTreeSet::from([leader]);
        loop {
            let before = family.len();
            for stat in &all {
                if stat.session == leader || family.contains(&stat.parent) {
                    family.insert(stat.process.id);
                }
            }
            if family.len() == before {
                break;
            }
        }
        let outside = |stat: &&Stat| family.contains(&stat.process.id) && stat.group != leader;
        all.iter().filter(outside).map(|stat| stat.process).collect()
    }

    /// Whether a process of the group runs.
    pub(super) fn has_members(leader: Pid) -> bool {
        let leader = leader.as_raw_nonzero().get();
        all().iter().any(|stat| stat.group == leader)
    }

    /// Whether a process of the session runs.
    pub(super) fn has_session(session: RawPid) -> bool {
        all().iter().any(|stat| stat.session == session)
    }

    fn all() -> Vec<Stat> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let ids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(read).filter(|stat| !stat.is_dead).collect()
    }

    fn read(id: RawPid) -> Option<Stat> {
        let text = fs::read(format!("/proc/{id}/stat")).ok()?;
        // The program's name stands in parentheses and may hold anything, parentheses too.
        let text = String::from_utf8_lossy(&text);
        let (_, rest) = text.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let is_dead = matches!(fields.next()?, "Z" | "X" | "x");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Field 22 of the line; the session was field 6.
        let started = fields.nth(15)?.parse().ok()?;
        Some(Stat { process: Process { id, started }, is_dead, parent, group, session })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn this_process_is_found_with_its_parent() {
            let own = read(i32::try_from(std::process::id()).unwrap()).unwrap();
            assert!(!own.is_dead && own.process.is_alive());
            assert_eq!(own.parent, i32::try_from(std::os::unix::process::parent_id()).unwrap());
            let again = Process { started: own.process.started + 1, ..own.process };
            assert!(!again.is_alive(), "another process with the same number");
            assert!(all().iter().any(|stat| stat.process == own.process));
        }
    }
}
