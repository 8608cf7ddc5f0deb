//! Keeping a connection: start, list, watch, and try again when it is lost.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use rmcp::service::{
    ClientInitializeError, Peer, PeerRequestOptions, RunningService, serve_client,
};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use crate::client::Client;
use crate::config::{ServerConfig, Transport};
use crate::link::{Link, Problem, ServerState, chain};
use crate::servers::Options;
use crate::tool::{Built, Described, LeftOut, build_all};
use crate::transport::process::Process;
use crate::transport::stdio::StdioTransport;
use crate::transport::{Health, http, shortened};

/// How often a lost connection is tried again (Claude Code documentation, "MCP").
const TRIES: u32 = 5;
/// How long it is waited before the first of them; each time twice as long.
const BACKOFF: Duration = Duration::from_secs(1);
/// A connection that lived so long was a good one: its loss is counted anew.
const GOOD: Duration = Duration::from_mins(1);
/// How long a server that has written what is no message may still take to answer for the first time.
const GARBLED: Duration = Duration::from_secs(3);
/// How long one request for a list of tools may take (Claude Code documentation, "MCP").
const LIST: Duration = Duration::from_mins(1);
/// Pages of such a list, and tools of one server, at most.
const MAX_PAGES: usize = 100;
const MAX_TOOLS: usize = 1_000;
/// How soon a list is asked for again when a server says again that it has changed.
const RELIST: Duration = Duration::from_millis(500);
/// How long a connection may take to be closed.
const CLOSE: Duration = Duration::from_secs(4);

/// Why a connection could not be made, and whether another try may help.
struct Failed {
    problem: Problem,
    again: bool,
}

/// Connects a server and keeps it connected until the session ends.
pub(crate) async fn keep(link: Arc<Link>, options: Arc<Options>) {
    let mut losses = 0;
    loop {
        let began = Instant::now();
        let health = Arc::new(Health::default());
        let connected = tokio::select! {
            connected = connect(&link, &options, &health) => connected,
            () = link.cancellation.cancelled() => break,
        };
        let (problem, again) = match connected {
            Ok(service) => match watch(&link, service, &health).await {
                Some(problem) => (problem, true),
                None => break,
            },
            Err(Failed { problem, again }) => (problem, again || losses > 0),
        };
        losses = if began.elapsed() > GOOD { 1 } else { losses + 1 };
        if !again || losses > TRIES {
            link.lost(problem, ServerState::Failed);
            return;
        }
        link.lost(problem, ServerState::Reconnecting);
        tokio::select! {
            () = sleep(BACKOFF * 2_u32.pow(losses - 1)) => {}
            () = link.cancellation.cancelled() => break,
        }
    }
    let text = "the session has ended".to_owned();
    link.lost(Problem { text, mend: String::new() }, ServerState::Closed);
}

/// Makes a connection and lists the tools.
async fn connect(
    link: &Arc<Link>,
    options: &Options,
    health: &Arc<Health>,
) -> Result<RunningService<RoleClient, Client>, Failed> {
    let config = &link.config;
    let client = Client(Arc::clone(link));
    let service = match &config.transport {
        Transport::Stdio { command, args, env } => {
            let (process, pipes) =
                Process::start(command, args, env, &options.environment, &options.cwd)
                    .map_err(|error| not_started(command, &error))?;
            let transport = StdioTransport::new(process, pipes, Arc::clone(health));
            greet(config, health, serve_client(client, transport)).await?
        }
        Transport::Http { url, headers } => {
            let config_of_transport = http::config(url, headers).map_err(|text| Failed {
                problem: problem(text, "correct its `headers`"),
                again: false,
            })?;
            let client_of_transport = http::client().map_err(|error| {
                let text = format!("no HTTP client can be made: {error}");
                Failed { problem: problem(text, "try again"), again: false }
            })?;
            let transport = StreamableHttpClientTransport::with_client(
                client_of_transport,
                config_of_transport,
            );
            greet(config, health, serve_client(client, transport)).await?
        }
    };
    let listed = list(link, service.peer()).await;
    match listed {
        Ok(built) => {
            link.connected(service.peer().clone(), built);
            Ok(service)
        }
        Err(text) => {
            let _late = timeout(CLOSE, service.cancel()).await;
            let text = health.broken().unwrap_or(text);
            Err(Failed { problem: problem(text, "see what the server says of it"), again: false })
        }
    }
}

/// Waits for the handshake, but not for ever.
async fn greet(
    config: &ServerConfig,
    health: &Health,
    handshake: impl Future<Output = Result<RunningService<RoleClient, Client>, ClientInitializeError>>,
) -> Result<RunningService<RoleClient, Client>, Failed> {
    let garbled = async {
        health.garbled.notified().await;
        sleep(GARBLED).await;
    };
    let said = |health: &Health| {
        health.stderr().map(|line| format!("; it said: {line}")).unwrap_or_default()
    };
    tokio::select! {
        biased;
        greeted = handshake => greeted.map_err(|error| refused(config, health, &error)),
        () = garbled => {
            let garbage = health.garbage().unwrap_or_default();
            let text = format!("it writes to its standard output what is no MCP message: {garbage}");
            Err(Failed { problem: problem(text, "have it write its own messages to standard error"), again: false })
        }
        () = sleep(config.startup_timeout) => {
            let text = format!("it did not answer within {:?}{}", config.startup_timeout, said(health));
            let mend = format!("run it by hand to see what it waits for ({}), or raise its `startupTimeout`", by_hand(config));
            Err(Failed { problem: problem(text, mend), again: matches!(config.transport, Transport::Http { .. }) })
        }
    }
}

fn problem(text: impl Into<String>, mend: impl Into<String>) -> Problem {
    Problem { text: text.into(), mend: mend.into() }
}

fn by_hand(config: &ServerConfig) -> String {
    match &config.transport {
        Transport::Stdio { command, args, .. } => {
            let words = [command.as_str()].into_iter().chain(args.iter().map(String::as_str));
            shortened(&words.collect::<Vec<_>>().join(" "))
        }
        Transport::Http { url, .. } => shortened(url),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of error are open-ended")]
fn not_started(command: &str, error: &io::Error) -> Failed {
    let mend = match error.kind() {
        io::ErrorKind::NotFound => {
            format!("install `{command}`, or write its full path in `command`")
        }
        io::ErrorKind::PermissionDenied => format!("make `{command}` executable"),
        _ => "correct its `command`".to_owned(),
    };
    Failed {
        problem: problem(format!("`{command}` cannot be started: {error}"), mend),
        again: false,
    }
}

fn refused(config: &ServerConfig, health: &Health, error: &ClientInitializeError) -> Failed {
    let ended = matches!(
        error,
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
    );
    let text = health.broken().unwrap_or_else(|| match &config.transport {
        Transport::Stdio { .. } if ended => {
            let said = health.stderr().map(|line| format!("; it said: {line}"));
            format!("it ended before it answered{}", said.unwrap_or_default())
        }
        Transport::Stdio { .. } | Transport::Http { .. } => shortened(&chain(error)),
    });
    match &config.transport {
        Transport::Stdio { .. } => {
            let mend = format!("run it by hand to see what is wrong: {}", by_hand(config));
            Failed { problem: problem(text, mend), again: false }
        }
        Transport::Http { .. } => {
            let is_shut = ["Auth required", "401", "403", "Insufficient scope"]
                .iter()
                .any(|word| text.contains(word));
            if is_shut {
                let mend = "put the header `Authorization` into its `headers`";
                return Failed { problem: problem(text, mend), again: false };
            }
            let mend = "see that the server runs and that its `url` is right";
            Failed { problem: problem(text, mend), again: true }
        }
    }
}

/// Follows a connection until it ends; gives why, or nothing when the session ended it.
async fn watch(
    link: &Arc<Link>,
    service: RunningService<RoleClient, Client>,
    health: &Health,
) -> Option<Problem> {
    let peer = service.peer().clone();
    let stop = service.cancellation_token();
    let ended = service.waiting();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            _ended = &mut ended => {
                let text = health.broken().unwrap_or_else(|| "the connection was lost".to_owned());
                let mend = format!("see what it says when it is run by hand: {}", by_hand(&link.config));
                return Some(problem(text, mend));
            }
            said = link.relist.wait() => {
                if let Ok(built) = list(link, &peer).await {
                    link.offer(built);
                } else {
                    // The earlier tools stay: calls will say what is wrong.
                    // Its name and its words stay out of telemetry (I11).
                    tracing::warn!(error_type = "tools_list", "mcp_server_connection");
                }
                link.relisted(said);
                sleep(RELIST).await;
            }
            () = link.cancellation.cancelled() => {
                stop.cancel();
                let _late = timeout(CLOSE, ended).await;
                return None;
            }
        }
    }
}

/// Asks for all tools, page by page.
async fn list(link: &Arc<Link>, peer: &Peer<RoleClient>) -> Result<Built, String> {
    let mut descriptions = Vec::new();
    let mut left_out = Vec::new();
    let mut cursor = None;
    let mut is_cut = false;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let request = ClientRequest::ListToolsRequest(ListToolsRequest::with_param(params));
        let options = PeerRequestOptions::with_timeout(LIST);
        let sent = timeout(LIST, peer.send_cancellable_request(request, options));
        let handle = sent.await.map_err(|_| "it takes no requests".to_owned())?;
        let handle = handle.map_err(|error| chain(&error))?;
        let page = handle.await_response().await;
        let page = page.map_err(|error| {
            format!("its tools cannot be listed: {}", shortened(&chain(&error)))
        })?;
        // As a plain value, so that one tool that is not described as it should be does not hide the others.
        let page = serde_json::to_value(page).map_err(|error| error.to_string())?;
        let tools = page.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
        for tool in tools {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or("(no name)").to_owned();
            is_cut = descriptions.len() >= MAX_TOOLS;
            if is_cut {
                break;
            }
            match serde_json::from_value::<Described>(tool) {
                Ok(description) => descriptions.push(description),
                Err(error) => {
                    let problem = format!("its description cannot be read: {error}");
                    left_out.push(LeftOut { name: shortened(&name), problem });
                }
            }
        }
        cursor = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        is_cut |= cursor.is_some();
        if cursor.is_none() || descriptions.len() >= MAX_TOOLS {
            break;
        }
    }
    if is_cut {
        let problem =
            format!("of a list of tools {MAX_TOOLS} in {MAX_PAGES} pages are read at most");
        left_out.push(LeftOut { name: "(more)".to_owned(), problem });
    }
    let mut built = build_all(link, descriptions);
    built.left_out.splice(0..0, left_out);
    Ok(built)
}
