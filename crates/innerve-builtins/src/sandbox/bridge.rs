//! The inside of a command's network: a port on the sandbox's own loopback that leads to the proxy outside.

use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use super::proxy::PORT;

/// Connections at a time; more are closed at once.
const MAX_CONNECTIONS: usize = 256;
/// What a thread that copies needs.
const STACK: usize = 128 * 1024;

/// Listens, and has `bridge` started with the listener on its standard input: the port is there before the command is.
///
/// `bridge` is this program, to come to [`detach`], and so its end is waited for.
pub(super) fn open(bridge: &mut Command) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT))?;
    let status = quiet(bridge, listener.into()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("its port cannot be served")) }
}

/// Leaves `bridge` running and returns, so that it is no child of the command, which may wait for all that it has.
pub(super) fn detach(bridge: &mut Command) -> io::Result<()> {
    let listener = io::stdin().as_fd().try_clone_to_owned()?;
    // A signal to the command's group is not meant for it: it ends with the sandbox.
    quiet(bridge, listener).process_group(0).spawn().map(drop)
}

/// With no pipe of the command in its hands.
fn quiet(bridge: &mut Command, listener: OwnedFd) -> &mut Command {
    bridge.current_dir("/").stdin(Stdio::from(listener)).stdout(Stdio::null()).stderr(Stdio::null())
}

/// Copies each connection of the listener on standard input to the socket and back, until the sandbox ends.
pub(super) fn serve(socket: &Path) -> io::Result<()> {
    let listener = TcpListener::from(io::stdin().as_fd().try_clone_to_owned()?);
    let count = Arc::new(AtomicUsize::new(0));
    loop {
        match listener.accept() {
            Ok((client, _)) => connect(client, socket, &count),
            // Such as too many open files: that passes.
            Err(_) => thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn connect(client: TcpStream, socket: &Path, count: &Arc<AtomicUsize>) {
    if count.load(Ordering::Relaxed) >= MAX_CONNECTIONS {
        return;
    }
    let Ok(server) = UnixStream::connect(socket) else { return };
    count.fetch_add(1, Ordering::Relaxed);
    let held = Held(Arc::clone(count));
    // What cannot be started closes the connection.
    drop(thread::Builder::new().stack_size(STACK).spawn(move || {
        let _held = held;
        relay(&client, &server);
    }));
}

/// A place among the connections.
struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Copies both ways until both are done.
fn relay(client: &TcpStream, server: &UnixStream) {
    // Shutting down what is gone fails, and nothing is to be done about it.
    thread::scope(|scope| {
        let back = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
            let (mut from, mut to) = (server, client);
            let done = io::copy(&mut from, &mut to);
            drop(client.shutdown(Shutdown::Write));
            if done.is_err() {
                drop(server.shutdown(Shutdown::Both));
            }
        });
        if back.is_err() {
            return;
        }
        let (mut from, mut to) = (client, server);
        let done = io::copy(&mut from, &mut to);
        drop(server.shutdown(Shutdown::Write));
        if done.is_err() {
            drop(client.shutdown(Shutdown::Both));
        }
    });
}
