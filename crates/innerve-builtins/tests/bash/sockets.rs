//! `WebSocket`s that are watched, against real servers on this machine, well-behaved and hostile.

use std::net::SocketAddr;

use futures_util::{SinkExt as _, StreamExt as _};
use innerve_builtins::bash::{MonitorTool, Sockets};
use innerve_tool::port::{TaskRegistry as _, TaskState};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Bytes, Message};
use tokio_tungstenite::{WebSocketStream, accept_async, accept_hdr_async};

use super::tasks::Tasks;
use super::*;

type Peer = WebSocketStream<TcpStream>;

/// A server that does this with its first connection.
async fn server<F: Future<Output = ()> + Send>(
    with: impl FnOnce(TcpStream) -> F + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        with(stream).await;
    });
    address
}

/// A server that shakes hands and then does this.
async fn friendly<F: Future<Output = ()> + Send>(
    with: impl FnOnce(Peer) -> F + Send + 'static,
) -> SocketAddr {
    server(|stream| async { with(accept_async(stream).await.unwrap()).await }).await
}

/// Holds a connection and says nothing.
async fn forever<T>(_held: T) {
    std::future::pending::<()>().await;
}

struct Watching {
    bench: Bench,
    tasks: Arc<Tasks>,
    sockets: Sockets,
    address: SocketAddr,
}

impl Watching {
    fn of(address: SocketAddr) -> Self {
        let sockets = Sockets::default().with_reachable(vec![address]);
        Self { bench: Bench::new(), tasks: Arc::default(), sockets, address }
    }

    async fn call(&self, input: Value) -> Result<String, ToolError> {
        let shell = BashTool::new(
            Arc::new(HostProcesses::new()),
            Arc::new(DiskSpool::new(&self.bench.spool)),
            Arc::new(HostClock),
            BashOptions::default(),
        );
        let tool = MonitorTool::new(shell, Arc::<Tasks>::clone(&self.tasks))
            .with_sockets(self.sockets.clone());
        let input = serde_json::from_value(input).unwrap();
        tool.validate(&input, &self.bench.context().typed()).await?;
        let output = tool.call(input, None, self.bench.context().typed()).await?;
        Ok(tool.render(&output.data).plain_text())
    }

    async fn watch(&self) -> Result<String, ToolError> {
        self.call(
            json!({ "ws": { "url": format!("ws://{}/feed", self.address) }, "description": "d" }),
        )
        .await
    }

    /// How the watch ends.
    async fn end(&self) -> TaskState {
        self.watch().await.unwrap();
        self.tasks.end().await
    }

    /// Why the watch fails after it has begun.
    async fn failure(&self) -> String {
        let end = self.end().await;
        let TaskState::Failed(words) = end else { panic!("{end:?}") };
        words
    }

    /// Why it does not begin.
    async fn refusal(&self) -> ToolError {
        let refused = self.watch().await.unwrap_err();
        assert!(self.tasks.list().is_empty());
        refused
    }

    fn whole(&self) -> String {
        fs::read_to_string(self.tasks.list().remove(0).output.unwrap()).unwrap()
    }
}

#[tokio::test]
async fn each_text_message_is_an_event_and_the_end_is_told() {
    let address = friendly(|mut peer| async move {
        for text in ["one", "two\nlines", "", "\u{1b}[31mr\u{200b}e\u{61c}\u{e0100}d\u{1b}[0m"] {
            peer.send(Message::text(text)).await.unwrap();
        }
        peer.send(Message::Ping(Bytes::from_static(b"?"))).await.unwrap();
        assert!(matches!(peer.next().await, Some(Ok(Message::Pong(_)))));
        peer.send(Message::binary(vec![0; 7])).await.unwrap();
        peer.close(None).await.unwrap();
        while peer.next().await.is_some() {}
    })
    .await;
    let watching = Watching::of(address);
    let text = watching.watch().await.unwrap();
    assert!(text.contains("m00000001") && text.contains("5m"), "{text}");
    let end = "the server closed the connection after 5 messages".to_owned();
    assert_eq!(watching.tasks.end().await, TaskState::Completed(end));
    let told = ["one", "two\nlines", "", "red", "[a binary message of 7 bytes]"];
    assert_eq!(watching.tasks.events(), told);
    assert!(watching.whole().starts_with("one\ntwo\nlines\n"));
}

#[tokio::test]
async fn protocols_are_offered_and_what_is_asked_for_is_the_url() {
    let address = server(|stream| async {
        #[expect(clippy::result_large_err, reason = "the library's own")]
        let look = |request: &Request, mut response: Response| {
            assert_eq!(request.uri(), "/feed?since=1");
            assert_eq!(request.headers()["sec-websocket-protocol"], "b.v2, a");
            assert!(request.headers()["user-agent"].to_str().unwrap().starts_with("innerve/"));
            response.headers_mut().insert("sec-websocket-protocol", "a".parse().unwrap());
            Ok(response)
        };
        let mut peer = accept_hdr_async(stream, look).await.unwrap();
        peer.send(Message::text("hello")).await.unwrap();
        peer.close(None).await.unwrap();
    })
    .await;
    let watching = Watching::of(address);
    let url = format!("ws://{address}/feed?since=1#part");
    let ws = json!({ "url": url, "protocols": ["b.v2", "a"] });
    watching.call(json!({ "ws": ws, "description": "d" })).await.unwrap();
    watching.tasks.end().await;
    assert_eq!(watching.tasks.events(), ["hello"]);
}

#[tokio::test]
async fn i8_a_message_that_is_too_large_ends_the_watch() {
    for too_much in [(1 << 20) + 1, 40 << 20] {
        let address = friendly(move |mut peer| async move {
            peer.send(Message::text("x".repeat(1 << 20))).await.unwrap();
            let _gone = peer.send(Message::text("y".repeat(too_much))).await;
        })
        .await;
        let watching = Watching::of(address);
        let words = watching.failure().await;
        assert!(words.contains("more than 1 MiB"), "{words}");
        let events = watching.tasks.events();
        assert_eq!(events.len(), 1);
        assert_eq!(
            events[0],
            format!("{}… [1048576 bytes; all of it is in the output file]", "x".repeat(2_000))
        );
        assert_eq!(watching.whole().len(), (1 << 20) + 1);
    }
}

#[tokio::test]
async fn i8_a_frame_that_claims_to_be_endless_is_not_waited_for() {
    let address = friendly(|peer| async {
        let mut stream = peer.into_inner();
        // A text frame that says that it has 2^62 bytes.
        stream.write_all(&[0x81, 127, 0x40, 0, 0, 0, 0, 0, 0, 0]).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    assert!(Watching::of(address).failure().await.contains("more than 1 MiB"));
}

#[tokio::test]
async fn i8_a_flood_of_messages_or_pings_ends_the_watch() {
    for message in [Message::text("x"), Message::binary(vec![1]), Message::Ping(Bytes::new())] {
        let address =
            friendly(|mut peer| async move { while peer.feed(message.clone()).await.is_ok() {} })
                .await;
        let watching = Watching::of(address);
        let words = watching.failure().await;
        assert!(words.contains("too many messages"), "{words}");
        assert!(watching.tasks.events().len() <= 600);
    }
}

#[tokio::test]
async fn a_connection_that_ends_badly_is_told_as_it_ended() {
    let address = friendly(|mut peer| async move {
        peer.send(Message::text("one")).await.unwrap();
    })
    .await;
    let words = Watching::of(address).failure().await;
    assert!(
        words.starts_with("the connection broke") && words.ends_with(", after 1 messages"),
        "{words}"
    );

    let address = friendly(|mut peer| async move {
        let frame =
            CloseFrame { code: CloseCode::Policy, reason: "not\n\u{1b}[2J\u{202e}you".into() };
        peer.close(Some(frame)).await.unwrap();
    })
    .await;
    let words = Watching::of(address).failure().await;
    assert_eq!(words, "the server closed the connection with code 1008: not you, after 0 messages");

    let address = friendly(|peer| async {
        let mut stream = peer.into_inner();
        stream.write_all(&[0x83, 1, 0]).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    assert!(Watching::of(address).failure().await.starts_with("the connection broke"));

    let address = friendly(|peer| async {
        let mut stream = peer.into_inner();
        stream.write_all(&[0x81, 2, 0xff, 0xff]).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    assert!(Watching::of(address).failure().await.starts_with("the connection broke"));
}

#[tokio::test]
async fn a_watch_of_a_silent_server_ends_when_it_is_stopped_or_its_time_is_over() {
    let silent = || friendly(|peer| async { forever(peer).await });
    let watching = Watching::of(silent().await);
    let input = json!({ "ws": { "url": format!("ws://{}", watching.address) }, "description": "d", "timeout_ms": 300 });
    watching.call(input).await.unwrap();
    let TaskState::Completed(words) = watching.tasks.end().await else { panic!("not completed") };
    assert!(words.contains("was over after 0 messages"), "{words}");

    let (ended, end) = tokio::sync::oneshot::channel();
    let address = friendly(|mut peer| async move {
        while let Some(Ok(_)) = peer.next().await {}
        ended.send(()).unwrap();
    })
    .await;
    let watching = Watching::of(address);
    watching.watch().await.unwrap();
    let id = watching.tasks.list().remove(0).id;
    watching.tasks.stop(&id).unwrap();
    end.await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_answers_or_answers_otherwise_is_an_error_at_once() {
    let address = server(|stream| async { forever(stream).await }).await;
    let mut watching = Watching::of(address);
    watching.sockets = watching.sockets.with_patience(Duration::from_millis(300));
    let refused = watching.refusal().await;
    assert!(refused.message().contains("did not answer within 0.3 s"), "{}", refused.message());

    let says = |answer: &'static str| {
        server(move |mut stream| async move {
            let _request = stream.read(&mut [0; 4_096]).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            std::future::pending::<()>().await;
        })
    };
    for (answer, code, words) in [
        ("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", "web:status", "404 Not Found"),
        (
            "HTTP/1.1 302 Found\r\nlocation: ws://169.254.169.254/\r\ncontent-length: 0\r\n\r\n",
            "web:status",
            "sends on to `ws://169.254.169.254/`, which is not followed",
        ),
        ("HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n", "web:network", "broke"),
        ("SSH-2.0-OpenSSH_9.9\r\n", "web:network", "broke"),
    ] {
        let refused = Watching::of(says(answer).await).refusal().await;
        assert_eq!(refused.code(), code, "{}", refused.message());
        assert!(refused.message().contains(words), "{}", refused.message());
    }

    // Headers without an end.
    let address = server(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\n").await.unwrap();
        while stream.write_all(&[b'x'; 1_000]).await.is_ok() {}
    })
    .await;
    assert_eq!(Watching::of(address).refusal().await.code(), "web:network");

    // Nobody listens.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert_eq!(Watching::of(address).refusal().await.code(), "web:network");
}

#[tokio::test]
async fn addresses_that_are_not_public_are_not_connected_to() {
    let address = friendly(|_peer| async { panic!("it was reached") }).await;
    let mut watching = Watching::of(address);
    watching.sockets = Sockets::default();
    let ports = address.port();
    for host in
        ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "[::ffff:10.0.0.1]", "0.0.0.0"]
    {
        watching.address = address;
        let ws = json!({ "url": format!("ws://{host}:{ports}/") });
        let refused = watching.call(json!({ "ws": ws, "description": "d" })).await.unwrap_err();
        // Some spellings are refused even before.
        assert!(
            ["web:private_address", "tool:invalid"].contains(&refused.code()),
            "{host}: {}",
            refused.message()
        );
    }
}

#[tokio::test]
async fn inputs_that_make_no_sense_are_refused() {
    let watching = Watching::of("127.0.0.1:1".parse().unwrap());
    let ws = |url: &str| json!({ "ws": { "url": url }, "description": "d" });
    for (input, words) in [
        (json!({ "description": "d" }), "give `command` or `ws`"),
        (json!({ "command": "a", "ws": { "url": "ws://a" }, "description": "d" }), "two things"),
        (ws("https://example.com"), "only ws and wss"),
        (ws("feed"), "not a URL"),
        (ws("wss://me:secret@example.com"), "name or password"),
        (ws("wss://127.1/"), "two ways"),
        (ws("wss://ex%61mple.com/"), "two ways"),
        (ws(&format!("wss://a/{}", "x".repeat(2_000))), "longer"),
        (
            json!({ "ws": { "url": "ws://a", "protocols": ["a\r\nx-evil: 1"] }, "description": "d" }),
            "`protocols`",
        ),
    ] {
        let refused = watching.call(input).await.unwrap_err();
        assert!(refused.message().contains(words), "{}", refused.message());
        assert!(!refused.message().contains("secret"));
    }
}

mod encrypted {
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::rustls::ServerConfig;
    use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

    use super::*;

    /// A server with a certificate for this name, and the certificate.
    async fn server_named(name: &str) -> (SocketAddr, Vec<u8>) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let certificate = made.cert.der().clone();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let provider = tokio_rustls::rustls::crypto::ring::default_provider();
        let config = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.into())
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let address = server(|stream| async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let mut peer = accept_async(stream).await.unwrap();
            peer.send(Message::text("in secret")).await.unwrap();
            peer.close(None).await.unwrap();
            while peer.next().await.is_some() {}
        })
        .await;
        (address, certificate.to_vec())
    }

    async fn watch(name: &str, is_trusted: bool) -> Result<Vec<String>, ToolError> {
        let (address, certificate) = server_named(name).await;
        let mut watching = Watching::of(address);
        if is_trusted {
            watching.sockets = watching.sockets.with_trusted(vec![certificate]);
        }
        let ws = json!({ "url": format!("wss://{address}/") });
        watching.call(json!({ "ws": ws, "description": "d" })).await?;
        watching.tasks.end().await;
        Ok(watching.tasks.events())
    }

    #[tokio::test]
    async fn wss_is_encrypted_and_the_server_must_be_who_it_says() {
        assert_eq!(watch("127.0.0.1", true).await.unwrap(), ["in secret"]);
        for (name, is_trusted) in [("127.0.0.1", false), ("other.example", true)] {
            let refused = watch(name, is_trusted).await.unwrap_err();
            assert_eq!(refused.code(), "web:network");
            assert!(refused.message().contains("cannot be trusted"), "{}", refused.message());
        }
        // A server that speaks no TLS at all.
        let address = friendly(|_peer| async {}).await;
        let mut watching = Watching::of(address);
        watching.sockets = watching.sockets.with_patience(Duration::from_secs(5));
        let ws = json!({ "url": format!("wss://{address}/") });
        let refused = watching.call(json!({ "ws": ws, "description": "d" })).await.unwrap_err();
        assert_eq!(refused.code(), "web:network");
    }
}
