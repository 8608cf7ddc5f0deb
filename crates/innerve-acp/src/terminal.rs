//! Commands in an editor's terminals: what an editor can show, run as the processes of this machine are.
//!
//! A terminal of the protocol keeps the end of an output only, joins the two streams and ends one process (Agent Client
//! Protocol, "Terminals"). So what an editor is asked to run is the [relay](crate::relay), and the relay is told by a
//! socket what to run: all of the output comes back by that, and the whole group ends with whichever of the terminal and
//! the agent ends first.

mod invitation;
mod process;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReleaseTerminalRequest, SessionId,
    TerminalId, WaitForTerminalExitRequest,
};
use agent_client_protocol::{Client, Error};
use innerve_tool::port::{OutputSink, ProcessRequest, ProcessRunner, RunningProcess};
use innerve_tool::{BoxFuture, CancellationToken};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::frame::{Frame, Order};
use crate::{Editor, RELAY_WORD};
use invitation::Invitation;

/// How long an editor may take until the relay runs in its terminal.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an editor may take to see that the relay has ended; what it shows of an output is complete then.
const ENDING: Duration = Duration::from_secs(2);
/// How much of the end of an output the editor is asked to keep, in bytes; what it shows is up to it.
const KEPT: u64 = 1024 * 1024;

/// How an editor's terminal starts the [relay](crate::relay), and what commands inherit.
#[derive(Clone)]
pub struct Launch {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments, before the path of the socket; plain words, since some editors hand them to a shell.
    pub args: Vec<String>,
    /// The environment of commands, whatever that of the editor's terminals is.
    pub environment: Vec<(OsString, OsString)>,
}

// The environment may hold secrets.
impl fmt::Debug for Launch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Launch").field("program", &self.program).finish_non_exhaustive()
    }
}

/// Starts the commands of tool uses in an editor's terminals, all else as processes of this machine.
pub(crate) struct EditorProcesses {
    editor: Editor,
    host: Arc<dyn ProcessRunner>,
    launch: Launch,
    life: Arc<Life>,
}

/// What commands leave in their background ends with the runner and the processes started with it.
struct Life(CancellationToken);

impl Drop for Life {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl EditorProcesses {
    pub(crate) fn new(editor: Editor, host: Arc<dyn ProcessRunner>, launch: Launch) -> Self {
        Self { editor, host, launch, life: Arc::new(Life(CancellationToken::new())) }
    }

    async fn start(
        &self,
        request: ProcessRequest,
        output: Arc<dyn OutputSink>,
    ) -> io::Result<Box<dyn RunningProcess>> {
        let session = self.editor.session().filter(|_| self.editor.lends_terminals());
        let (Some(session), Some(tool_use)) = (session, request.tool_use.as_ref()) else {
            return self.host.spawn(request, output).await;
        };
        let order = Order::new(&request, &self.launch.environment);
        let opened = match Frame::Order(Box::new(order)).encode() {
            Ok(order) => self.open(session, &request).await.map(|opened| (order, opened)),
            Err(error) => Err(error.to_string()),
        };
        match opened {
            // From here on the command may have been started, and must not be started again.
            Ok((order, (terminal, stream))) => {
                self.editor.show_terminal(tool_use, &terminal.id);
                let terminal = Arc::new(terminal);
                process::start(stream, &order, output, terminal, Arc::clone(&self.life)).await
            }
            Err(why) => {
                self.editor.does_without_terminals(&why);
                self.host.spawn(request, output).await
            }
        }
    }

    /// A terminal in which the relay runs, and the relay; or why there is none, and then there will not be one later.
    async fn open(
        &self,
        session: SessionId,
        request: &ProcessRequest,
    ) -> Result<(Terminal, UnixStream), String> {
        let failed = |error: io::Error| format!("its socket cannot be made: {error}");
        let invitation = Invitation::new(&self.launch.program).map_err(failed)?;
        let mut args = self.launch.args.clone();
        args.push(invitation.socket().to_owned());
        let create = CreateTerminalRequest::new(session.clone(), invitation.program())
            .args(args)
            .env(vec![EnvVariable::new(RELAY_WORD, invitation.word())])
            .cwd(request.cwd.clone())
            .output_byte_limit(KEPT);
        let connection = self.editor.connection().clone();
        // In a task of its own: a terminal that is there too late is given back all the same.
        let creating = tokio::spawn(async move {
            let answer = connection.send_request(create).block_task().await?;
            Ok::<_, Error>(Terminal { connection, session, id: answer.terminal_id })
        });
        let opening = async {
            let terminal = creating.await.map_err(|error| error.to_string())?;
            let refused = |error: Error| format!("the editor refused: {}", error.message);
            let terminal = terminal.map_err(refused)?;
            let stream = invitation.accept().await.map_err(failed)?;
            Ok((terminal, stream))
        };
        let late = || {
            format!("{} did not start in it within {} s", invitation.program(), PATIENCE.as_secs())
        };
        timeout(PATIENCE, opening).await.unwrap_or_else(|_| Err(late()))
    }
}

impl ProcessRunner for EditorProcesses {
    fn spawn(
        &self,
        request: ProcessRequest,
        output: Arc<dyn OutputSink>,
    ) -> BoxFuture<'_, io::Result<Box<dyn RunningProcess>>> {
        Box::pin(self.start(request, output))
    }

    fn all_ended(&self) -> BoxFuture<'_, ()> {
        self.host.all_ended()
    }
}

/// A terminal of the editor; dropped, it is given back, and the editor ends what still runs in it.
struct Terminal {
    connection: ConnectionTo<Client>,
    session: SessionId,
    id: TerminalId,
}

impl Terminal {
    /// Waits until the editor has seen the relay end, since it would end the relay when it gets the terminal back.
    async fn ended(&self) {
        let wait = WaitForTerminalExitRequest::new(self.session.clone(), self.id.clone());
        let _answer = timeout(ENDING, self.connection.send_request(wait).block_task()).await;
    }

    /// Has the editor end the relay.
    async fn kill(&self) {
        let kill = KillTerminalRequest::new(self.session.clone(), self.id.clone());
        // What it answers changes nothing: whether the relay is gone is seen by the socket.
        let _answer = self.connection.send_request(kill).block_task().await;
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let release = ReleaseTerminalRequest::new(self.session.clone(), self.id.clone());
        let connection = self.connection.clone();
        // Without a connection there is no terminal either.
        let _gone = self.connection.spawn(async move {
            let _answer = connection.send_request(release).block_task().await;
            Ok(())
        });
    }
}
