//! A sandbox of the operating system around commands: bubblewrap where it works, else Landlock (Linux).
//!
//! A command in it changes only the files that its [`SandboxProfile`] names, does not read what the profile keeps from it,
//! and has no network unless the profile grants one: the whole, or the hosts that a [`Proxy`] lets through. Neither
//! mechanism needs rights of its own, and neither needs code between fork and exec: bubblewrap is a program, and for
//! Landlock the host's own program restricts itself and becomes the command ([`launch`]).

mod authority;
#[cfg(target_os = "linux")]
mod bridge;
mod bubblewrap;
mod hidden;
#[cfg(target_os = "linux")]
mod landlock;
mod live;
mod masking;
mod proxy;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hidden::HiddenPlaces;
use innerve_tool::port::ProcessRequest;
use serde::{Deserialize, Serialize};

pub use live::LiveFolder;
pub use masking::{MaskedCredential, Masking};
pub use proxy::{Egress, Interception, Proxies, Proxy};

/// What a command in the sandbox may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxProfile {
    /// Directories and files that it may change, absolute.
    pub write: Vec<PathBuf>,
    /// Directories and files among those that it may not change.
    #[serde(default)]
    pub deny_write: Vec<PathBuf>,
    /// Directories and files that it may not read, nor change.
    #[serde(default)]
    pub deny_read: Vec<PathBuf>,
    /// Directories and files in those that it may read all the same.
    #[serde(default)]
    pub allow_read: Vec<PathBuf>,
    /// Files in place of which it reads another one; where that cannot be done it reads neither.
    #[serde(default)]
    pub replace: Vec<(PathBuf, PathBuf)>,
    /// What network it has.
    #[serde(default)]
    pub network: Network,
}

/// What network a command in the sandbox has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Network {
    /// None.
    #[default]
    None,
    /// That of the machine.
    Open,
    /// A loopback of its own, with a way to the [`Proxy`] whose folder this is. Landlock cannot give it: there it is none.
    Through(PathBuf),
}

/// What the launcher is to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Launch {
    /// Restrict itself and become the program.
    Restricted(SandboxProfile),
    /// Open the way to a proxy, and become the program.
    Bridged(Way),
    /// Leave a process behind that is the way.
    Detached(Way),
    /// Be the way.
    Bridge(Way),
}

/// A way to a proxy.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Way {
    /// The proxy's socket.
    socket: PathBuf,
    /// The launcher's arguments before the order.
    arguments: Vec<String>,
}

/// How a sandbox is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The program `bwrap`, and what opens the way to a proxy in it, if there is that.
    Bubblewrap(PathBuf, Option<Launcher>),
    /// Landlock, through a program that restricts itself.
    Landlock(Launcher),
}

/// A program and arguments behind which stands what [`launch`] needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launcher {
    /// The program: that of the host itself.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
}

impl Mechanism {
    /// The first mechanism that works here; an error says why none does.
    ///
    /// `bwrap` is the program to try; `launcher` is what runs [`launch`], if there is one.
    pub fn find(bwrap: &Path, launcher: Option<Launcher>) -> Result<Self, String> {
        let bubblewrap = Self::Bubblewrap(bwrap.to_owned(), launcher.clone());
        let mut why = match bubblewrap.try_out() {
            Ok(()) => return Ok(bubblewrap),
            Err(error) => format!("bubblewrap does not work ({error})"),
        };
        if let Some(launcher) = launcher {
            let landlock = Self::Landlock(launcher);
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
            Self::Bubblewrap(..) => true,
            Self::Landlock(_) => false,
        }
    }

    /// Whether it can give a command a way to a [`Proxy`]: Landlock has no network of its own, and a port that it opens is open
    /// on every host.
    pub fn supports_proxies(&self) -> bool {
        self.holds_exceptions()
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(..) => "bubblewrap",
            Self::Landlock(_) => "Landlock",
        }
    }

    /// What to start in place of `request`, so that it runs by this profile.
    pub fn wrap(
        &self,
        profile: &SandboxProfile,
        request: ProcessRequest,
    ) -> io::Result<ProcessRequest> {
        let ProcessRequest { program, args: own, cwd, mut env, env_remove, tool_use } = request;
        HiddenPlaces::new(&profile.deny_read, &profile.allow_read).let_run_in(&cwd)?;
        let program =
            program.into_os_string().into_string().map_err(|_| not_text("the program"))?;
        let (wrapper, mut args) = match self {
            Self::Bubblewrap(bwrap, launcher) => {
                let mut args = bubblewrap::arguments(profile, &cwd)?;
                if let Network::Through(folder) = &profile.network {
                    let launcher = launcher.as_ref().ok_or_else(|| {
                        io::Error::other("nothing can open the way to its network")
                    })?;
                    args.extend(bubblewrap::way(folder, launcher)?);
                    env.extend(proxy::variables());
                }
                (bwrap.clone(), args)
            }
            Self::Landlock(launcher) => {
                let mut args = launcher.args.clone();
                args.push(serde_json::to_string(&Launch::Restricted(profile.clone()))?);
                (launcher.program.clone(), args)
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

/// Does what a launcher is for, as `order` says, and becomes `program`; comes back with an error, or when it is done.
///
/// For a program that does nothing else and has one thread.
#[cfg(target_os = "linux")]
pub fn launch(order: &str, program: &str, args: &[String]) -> io::Result<()> {
    use std::os::unix::process::CommandExt as _;

    let order: Launch = serde_json::from_str(order)?;
    match order {
        Launch::Restricted(profile) => landlock::restrict(&profile)?,
        Launch::Bridged(way) => bridge::open(&mut again(&way, Launch::Detached)?)?,
        Launch::Detached(way) => return bridge::detach(&mut again(&way, Launch::Bridge)?),
        Launch::Bridge(way) => return bridge::serve(&way.socket),
    }
    Err(Command::new(program).args(args).exec())
}

/// Does what a launcher is for, where there is nothing to launch.
#[cfg(not(target_os = "linux"))]
pub fn launch(_order: &str, _program: &str, _args: &[String]) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "sandboxes are there on Linux only"))
}

/// This program once more, with another order.
#[cfg(target_os = "linux")]
fn again(way: &Way, order: fn(Way) -> Launch) -> io::Result<Command> {
    let mut command = Command::new("/proc/self/exe");
    command.args(&way.arguments).arg(serde_json::to_string(&order(way.clone()))?);
    command.args(["--", "bridge"]);
    Ok(command)
}

fn not_text(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{what} has a name that is no text"))
}
