//! A sandbox of the operating system around commands: bubblewrap where it works, else Landlock (Linux).
//!
//! A command in it changes only the files that its [`SandboxProfile`] names, does not read what the profile keeps from it,
//! and has no network unless the profile grants one. Neither mechanism needs rights of its own, and neither needs code
//! between fork and exec: bubblewrap is a program, and for Landlock the host's own program restricts itself and becomes
//! the command ([`run_restricted`]).

mod bubblewrap;
#[cfg(target_os = "linux")]
mod landlock;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use innerve_tool::port::ProcessRequest;
use serde::{Deserialize, Serialize};

/// What a command in the sandbox may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProfile {
    /// Directories and files that it may change, absolute.
    pub write: Vec<PathBuf>,
    /// Directories and files among those that it may not change.
    #[serde(default)]
    pub deny_write: Vec<PathBuf>,
    /// Directories and files that it may not read.
    #[serde(default)]
    pub deny_read: Vec<PathBuf>,
    /// Whether it has the network.
    #[serde(default)]
    pub network: bool,
}

/// How a sandbox is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The program `bwrap`.
    Bubblewrap(PathBuf),
    /// Landlock, through this program and these arguments: what [`run_restricted`] needs is put behind them.
    Landlock(PathBuf, Vec<String>),
}

impl Mechanism {
    /// The first mechanism that works here; an error says why none does.
    ///
    /// `bwrap` is the program to try; `launcher` is what runs [`run_restricted`], if there is one.
    pub fn find(bwrap: &Path, launcher: Option<(PathBuf, Vec<String>)>) -> Result<Self, String> {
        let bubblewrap = Self::Bubblewrap(bwrap.to_owned());
        let mut why = match bubblewrap.try_out() {
            Ok(()) => return Ok(bubblewrap),
            Err(error) => format!("bubblewrap does not work ({error})"),
        };
        if let Some((program, arguments)) = launcher {
            let landlock = Self::Landlock(program, arguments);
            match landlock.try_out() {
                Ok(()) => return Ok(landlock),
                Err(error) => why.push_str(&format!(", nor does Landlock ({error})")),
            }
        }
        Err(why)
    }

    /// Whether it keeps a command from changing files inside a directory that it may change.
    ///
    /// Landlock only grants, so that it cannot take a part of what it granted away again.
    pub fn holds_exceptions(&self) -> bool {
        match self {
            Self::Bubblewrap(_) => true,
            Self::Landlock(..) => false,
        }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock(..) => "Landlock",
        }
    }

    /// What to start in place of `request`, so that it runs by this profile.
    pub fn wrap(
        &self,
        profile: &SandboxProfile,
        request: ProcessRequest,
    ) -> io::Result<ProcessRequest> {
        let ProcessRequest { program, args: own, cwd, env, env_remove, tool_use } = request;
        let program =
            program.into_os_string().into_string().map_err(|_| not_text("the program"))?;
        let (wrapper, mut args) = match self {
            Self::Bubblewrap(bwrap) => (bwrap.clone(), bubblewrap::arguments(profile, &cwd)?),
            Self::Landlock(launcher, before) => {
                let mut args = before.clone();
                args.push(serde_json::to_string(profile).map_err(io::Error::other)?);
                (launcher.clone(), args)
            }
        };
        args.push("--".to_owned());
        args.push(program);
        args.extend(own);
        Ok(ProcessRequest { program: wrapper, args, cwd, env, env_remove, tool_use })
    }

    /// Runs a command that does nothing.
    fn try_out(&self) -> Result<(), String> {
        let request = ProcessRequest {
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), ":".to_owned()],
            cwd: "/".into(),
            env: Vec::new(),
            env_remove: Vec::new(),
            tool_use: None,
        };
        let request =
            self.wrap(&SandboxProfile::default(), request).map_err(|error| error.to_string())?;
        let output = Command::new(&request.program)
            .args(&request.args)
            .current_dir(&request.cwd)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", request.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Err(words.lines().next().unwrap_or("it fails without a word").chars().take(200).collect())
    }
}

/// Restricts this very process by the profile and becomes `program`; comes back only with an error.
///
/// For the launcher of [`Mechanism::Landlock`]: a program that does nothing else and has one thread.
pub fn run_restricted(profile: &str, program: &str, args: &[String]) -> io::Error {
    let profile: SandboxProfile = match serde_json::from_str(profile) {
        Ok(profile) => profile,
        Err(error) => return io::Error::new(io::ErrorKind::InvalidInput, error),
    };
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::process::CommandExt as _;
        match landlock::restrict(&profile) {
            Ok(()) => Command::new(program).args(args).exec(),
            Err(error) => error,
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (profile, program, args);
        io::Error::new(io::ErrorKind::Unsupported, "Landlock is a part of Linux")
    }
}

fn not_text(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} has a name that is no text"))
}
