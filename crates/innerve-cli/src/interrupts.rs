//! Ctrl-C, and the signals by which a closed terminal or a supervisor ends a program.

use crate::exit::Failure;

/// Hears every interrupt from the moment it is made, also while nobody waits for one.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    hangup: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

impl Interrupts {
    /// Begins to listen. From then on none of these signals ends the program by itself.
    pub(crate) fn listen() -> Result<Self, Failure> {
        Self::new().map_err(|error| Failure::new(format!("signals cannot be heard: {error}")))
    }

    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    #[cfg(windows)]
    fn new() -> std::io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    /// Waits for the next one.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
        #[cfg(windows)]
        let _heard = self.interrupt.recv().await;
    }
}

/// Hears that the program goes on after it was stopped, by Ctrl-Z or by anybody.
pub(crate) struct Continued {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Continued {
    /// Begins to listen.
    pub(crate) fn listen() -> Result<Self, Failure> {
        #[cfg(unix)]
        {
            let kind =
                tokio::signal::unix::SignalKind::from_raw(rustix::process::Signal::CONT.as_raw());
            let signal = tokio::signal::unix::signal(kind)
                .map_err(|error| Failure::new(format!("signals cannot be heard: {error}")))?;
            Ok(Self { signal })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits until that happens.
    pub(crate) async fn next(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending::<()>().await;
    }
}
