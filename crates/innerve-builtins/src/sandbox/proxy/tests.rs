//! The proxy over real sockets.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;

#[cfg(feature = "web")]
use innerve_permission::Host;
use innerve_permission::Specificity::{Address, Any, Name, Pattern};
use innerve_permission::{Layer, RuleSource, merge};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::*;

/// How long anything may take that has to come.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long nothing has to come.
const SILENCE: Duration = Duration::from_millis(200);

fn egress(network: &Value) -> Egress {
    let settings = json!({ "sandbox": { "network": network } });
    let merged = merge(&[Layer::new(RuleSource::User, "/", settings)]).unwrap();
    Egress { policy: merged.network, ..Egress::default() }
}

struct Started {
    proxy: Proxy,
    _place: TempDir,
}

fn start(egress: Egress) -> Started {
    let place = tempfile::tempdir().unwrap();
    let proxy = Proxies::new(place.path().join("network")).start(egress).unwrap();
    Started { proxy, _place: place }
}

fn allowing(hosts: &[&str]) -> Started {
    start(egress(&json!({ "allowedDomains": hosts })))
}

impl Started {
    async fn connect(&self) -> UnixStream {
        UnixStream::connect(self.proxy.folder().join(SOCKET)).await.unwrap()
    }

    /// Says something and reads until the answer ends with this, or is over.
    async fn ask(&self, words: &[u8], until: &str) -> String {
        talk(&mut self.connect().await, words, until).await
    }
}

async fn talk(stream: &mut UnixStream, words: &[u8], until: &str) -> String {
    // Who refuses may have closed already.
    drop(stream.write_all(words).await);
    let mut heard = Vec::new();
    let read = async {
        let mut piece = [0; 4096];
        while !String::from_utf8_lossy(&heard).ends_with(until) || until.is_empty() {
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => break,
                Ok(count) => heard.extend_from_slice(&piece[..count]),
            }
        }
    };
    timeout(PATIENCE, read).await.expect("the answer comes");
    String::from_utf8_lossy(&heard).into_owned()
}

/// A server that answers every head on a connection with the same bytes, and tells what it read.
async fn server(answer: &'static str) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, seen) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut heard = Vec::new();
                let mut piece = [0; 4096];
                loop {
                    let read = timeout(SILENCE, stream.read(&mut piece)).await;
                    match read {
                        Ok(Ok(count)) if count > 0 => heard.extend_from_slice(&piece[..count]),
                        _ => break,
                    }
                }
                sender.send(String::from_utf8_lossy(&heard).into_owned()).unwrap();
                drop(stream.write_all(answer.as_bytes()).await);
            });
        }
    });
    (address, seen)
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A server that gives back what it gets.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.split();
                drop(tokio::io::copy(&mut read, &mut write).await);
                drop(write.shutdown().await);
            });
        }
    });
    address
}

#[tokio::test]
async fn a_plain_request_goes_to_the_host_that_was_judged_whatever_its_host_says() {
    let (address, mut seen) = server(OK).await;
    let started = allowing(&[&address.to_string()]);
    let request = format!(
        "GET http://{address}/a?b=c HTTP/1.1\r\nHost: evil.example\r\nX-Mine: 1\r\nProxy-Connection: keep-alive\r\n\
         Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nProxy-Authorization: Basic x\r\nUpgrade: websocket\r\nTE: trailers\r\n\r\n"
    );
    let answer = started.ask(request.as_bytes(), "ok").await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let head = seen.recv().await.unwrap();
    assert!(head.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{head}");
    let lower = head.to_ascii_lowercase();
    assert!(lower.contains(&format!("host: {address}\r\n")) && head.contains("X-Mine: 1"));
    for gone in ["evil", "x-hop", "proxy-", "upgrade", "te:", "keep-alive"] {
        assert!(!lower.contains(gone), "{gone}: {head}");
    }
    assert!(started.proxy.notes().is_empty());
}

#[tokio::test]
async fn each_request_of_a_connection_is_judged() {
    let (address, mut seen) = server(OK).await;
    let started = allowing(&[&address.to_string()]);
    let good = format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let bad = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    let mut stream = started.connect().await;
    assert!(talk(&mut stream, good.as_bytes(), "ok").await.contains("200 OK"));
    let refused = talk(&mut stream, bad.as_bytes(), "names it)\n").await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert!(refused.contains("evil.example:80 (no entry of sandbox.network.allowedDomains"));
    assert!(talk(&mut stream, good.as_bytes(), "ok").await.contains("200 OK"));
    // All at once, too.
    let last = good.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    let answers = started.ask(format!("{good}{bad}{last}").as_bytes(), "").await;
    let statuses: Vec<&str> = answers
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|answer| answer.split(' ').next().unwrap())
        .collect();
    assert_eq!(statuses, ["200", "403", "200"], "{answers}");
    while let Ok(head) = seen.try_recv() {
        assert!(!head.contains("evil"), "{head}");
    }
    let notes = started.proxy.notes();
    assert_eq!(notes.len(), 1, "what is refused twice is told once: {notes:?}");
    assert!(notes[0].starts_with("the sandbox refused the network: evil.example:80 ("));
}

#[tokio::test]
async fn a_tunnel_copies_both_ways_and_ends_in_halves() {
    let address = echo().await;
    let started = allowing(&[&address.to_string()]);
    let mut stream = started.connect().await;
    let head = format!("CONNECT {address} HTTP/1.1\r\nHost: other.example\r\n\r\n");
    let answer = talk(&mut stream, head.as_bytes(), "\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(
        talk(&mut stream, b"GET http://evil.example/ HTTP/1.1\r\n\r\n", "\r\n\r\n").await.len(),
        37
    );
    let large = vec![b'x'; 1 << 20];
    let (mut read, mut write) = stream.into_split();
    let sent = large.clone();
    tokio::spawn(async move {
        write.write_all(&sent).await.unwrap();
        write.shutdown().await.unwrap();
    });
    let mut back = Vec::new();
    timeout(PATIENCE, read.read_to_end(&mut back)).await.unwrap().unwrap();
    assert_eq!(back.len(), large.len());
}

#[tokio::test]
async fn targets_that_could_be_read_in_two_ways_are_refused() {
    let (address, mut seen) = server(OK).await;
    let port = address.port();
    let started = allowing(&["127.0.0.1", "good.example"]);
    for line in [
        format!("CONNECT evil.example:443@127.0.0.1:{port} HTTP/1.1"),
        format!("CONNECT 127.0.0.1:{port}@evil.example:443 HTTP/1.1"),
        format!("CONNECT good.example@127.0.0.1:{port} HTTP/1.1"),
        "CONNECT evil.example:443 HTTP/1.1".to_owned(),
        "CONNECT 127.0.0.1 HTTP/1.1".to_owned(),
        "CONNECT 127.0.0.1: HTTP/1.1".to_owned(),
        "CONNECT 127.0.0.1:0 HTTP/1.1".to_owned(),
        "CONNECT 127.0.0.1:99999 HTTP/1.1".to_owned(),
        format!("CONNECT 127.1:{port} HTTP/1.1"),
        format!("CONNECT 2130706433:{port} HTTP/1.1"),
        format!("CONNECT 0x7f.0.0.1:{port} HTTP/1.1"),
        format!("CONNECT 127.0.0.1..:{port} HTTP/1.1"),
        format!("CONNECT [::ffff:127.0.0.1%25lo]:{port} HTTP/1.1"),
        format!("CONNECT [::1]:{port} HTTP/1.1"),
        format!("CONNECT localhost:{port} HTTP/1.1"),
        format!("CONNECT http://127.0.0.1:{port}/ HTTP/1.1"),
        format!("CONNECT good.example%00.127.0.0.1:{port} HTTP/1.1"),
        format!("CONNECT 127.0.0.1:{port} evil.example HTTP/1.1"),
        format!("GET http://evil.example@127.0.0.1:{port}/ HTTP/1.1"),
        format!("GET http://127.0.0.1:{port}@evil.example/ HTTP/1.1"),
        "GET http://evil.example\\@127.0.0.1/ HTTP/1.1".to_owned(),
        "GET http://evil.example#@127.0.0.1/ HTTP/1.1".to_owned(),
        format!("GET https://127.0.0.1:{port}/ HTTP/1.1"),
        format!("GET ftp://127.0.0.1:{port}/ HTTP/1.1"),
        format!("GET //127.0.0.1:{port}/ HTTP/1.1"),
        "GET / HTTP/1.1".to_owned(),
        "OPTIONS * HTTP/1.1".to_owned(),
        "GET http:/// HTTP/1.1".to_owned(),
        "GET http://127.0.0.1:/ HTTP/1.1".to_owned(),
        "PRI * HTTP/2.0".to_owned(),
        format!("GET http://127.0.0.1:{port}/ HTTP/9.9"),
        format!("GET\thttp://127.0.0.1:{port}/\tHTTP/1.1"),
    ] {
        let request = format!("{line}\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
        let answer = started.ask(request.as_bytes(), "").await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        assert!(matches!(status, "" | "400" | "403"), "{line}: {answer}");
    }
    assert!(seen.try_recv().is_err(), "nothing was connected to");
}

#[tokio::test]
async fn nothing_is_smuggled_behind_a_body() {
    let (address, mut seen) = server(OK).await;
    let started = allowing(&[&address.to_string()]);
    let hidden = "GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    for framing in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n".to_owned(),
        format!("Content-Length: 0\r\nContent-Length: {}\r\n\r\n", hidden.len()),
        format!("Content-Length: 0, {}\r\n\r\n", hidden.len()),
        "Transfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n".to_owned(),
        "X: y\n\n".to_owned(),
    ] {
        let request = format!("POST http://{address}/ HTTP/1.1\r\nHost: x\r\n{framing}{hidden}");
        let mut stream = started.connect().await;
        drop(stream.write_all(request.as_bytes()).await);
        let mut answer = Vec::new();
        drop(timeout(SILENCE * 3, stream.read_to_end(&mut answer)).await);
        while let Ok(head) = seen.try_recv() {
            // As a body it is the server's own business; a second request to it is none.
            let (head, body) = head.split_once("\r\n\r\n").unwrap();
            let length =
                head.lines().filter(|line| line.to_ascii_lowercase().starts_with("content-length"));
            assert!(length.count() <= 1, "{framing:?}: {head}");
            let both = head.to_ascii_lowercase();
            assert!(!(both.contains("content-length") && both.contains("chunked")), "{head}");
            assert!(
                !head.contains("evil") && !body.starts_with("GET"),
                "{framing:?}: {head}\n{body}"
            );
        }
    }
}

#[tokio::test]
async fn hostile_heads_end_their_own_connection_only() {
    let (address, _seen) = server(OK).await;
    let started = allowing(&[&address.to_string()]);
    let mut slow = started.connect().await;
    slow.write_all(b"GET http").await.unwrap();
    let mut slower = started.connect().await;
    slower.write_all(&[5]).await.unwrap();
    let _silent = started.connect().await;
    let mut large = b"GET http://a.example/ HTTP/1.1\r\nX: ".to_vec();
    large.resize(1 << 20, b'x');
    assert!(!started.ask(&large, "").await.contains(" 200 "));
    let mut many = b"GET http://a.example/ HTTP/1.1\r\n".to_vec();
    many.extend(b"X: y\r\n".repeat(1000));
    assert!(!started.ask(&many, "").await.contains(" 200 "));
    for garbage in
        [&b"\0\0\0\0\r\n\r\n"[..], b"\xff\xfe\r\n\r\n", b"\r\n\r\n\r\n\x16\x03\x01\x02\0\r\n\r\n"]
    {
        assert!(!started.ask(garbage, "").await.contains(" 200 "));
    }
    let good = format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n");
    assert!(started.ask(good.as_bytes(), "ok").await.contains("200 OK"));
}

#[tokio::test]
async fn a_body_is_passed_on_as_it_comes_and_a_change_of_protocol_is_not() {
    let (address, mut seen) =
        server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n").await;
    let started = allowing(&[&address.to_string()]);
    let request = format!(
        "POST http://{address}/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nabc\r\n0\r\n\r\n"
    );
    let answer = started.ask(request.as_bytes(), "0\r\n\r\n").await;
    assert!(answer.contains("HTTP/1.1 200 OK") && answer.contains("\r\n2\r\nok\r\n"), "{answer}");
    assert!(seen.recv().await.unwrap().ends_with("3\r\nabc\r\n0\r\n\r\n"));

    let (address, _seen) =
        server("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")
            .await;
    let started = allowing(&[&address.to_string()]);
    let request = format!(
        "GET http://{address}/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"
    );
    let answer = started.ask(request.as_bytes(), "\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

/// What SOCKS5 is asked for, after the greeting.
fn socks(command: u8, kind: u8, host: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0, 5, command, 0, kind];
    if kind == 3 {
        bytes.push(u8::try_from(host.len()).unwrap());
    }
    bytes.extend(host);
    bytes.extend(port.to_be_bytes());
    bytes
}

#[tokio::test]
async fn socks_names_hosts_by_name_and_by_address() {
    let address = echo().await;
    let port = address.port();
    let started = allowing(&["127.0.0.1", "localhost"]);
    for (command, kind, host, port, code) in [
        (1, 1, &[127, 0, 0, 1][..], port, 0),
        (1, 3, b"127.0.0.1", port, 0),
        (1, 3, b"LOCALHOST.", port, 0),
        // The same address in IPv6 clothes.
        (1, 4, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1], port, 0),
        (1, 3, b"evil.example", 443, 2),
        (1, 1, &[127, 0, 0, 2], port, 2),
        (1, 1, &[169, 254, 169, 254], 80, 2),
        (1, 4, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], port, 2),
        (1, 3, b"", port, 2),
        (1, 3, b"evil.example\0.localhost", port, 2),
        (1, 3, b"127.1", port, 2),
        (1, 3, b"\xff\xfe", port, 2),
        (1, 1, &[127, 0, 0, 1], 0, 2),
        (1, 1, &[127, 0, 0, 1], 1, 4),
        (2, 1, &[127, 0, 0, 1], port, 7),
        (3, 1, &[127, 0, 0, 1], port, 7),
        (1, 9, &[], port, 8),
    ] {
        let mut stream = started.connect().await;
        stream.write_all(&socks(command, kind, host, port)).await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        let mut answer = [0; 12];
        timeout(PATIENCE, stream.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(answer[..4], [5, 0, 5, code], "{command} {kind} {host:?}");
        let mut rest = [0; 5];
        let heard = timeout(PATIENCE, stream.read_exact(&mut rest)).await.unwrap().is_ok();
        assert_eq!(heard, code == 0, "{command} {kind} {host:?}");
    }
    let notes = started.proxy.notes().join("\n");
    assert!(notes.contains("evil.example:443") && notes.contains("evil.example\\0.localhost"));
    // No method that both know.
    let mut stream = started.connect().await;
    stream.write_all(&[5, 1, 2]).await.unwrap();
    let mut answer = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer, [5, 0xff]);
}

#[tokio::test]
async fn a_name_leads_only_to_addresses_that_its_entry_may_lead_to() {
    let lists = json!({ "allowedDomains": ["*"], "deniedDomains": ["10.0.0.9", "8.8.4.4:53"] });
    let started = start(egress(&lists));
    for (address, from) in [
        ("1.1.1.1:443", Some(Any)),
        ("[2606:4700::1111]:443", Some(Any)),
        ("[::ffff:1.1.1.1]:443", Some(Any)),
        ("10.0.0.1:443", Some(Pattern)),
        ("192.168.1.1:443", Some(Pattern)),
        ("100.64.0.1:443", Some(Pattern)),
        ("[fd00::1]:443", Some(Pattern)),
        ("[::ffff:10.0.0.1]:443", Some(Pattern)),
        ("127.0.0.1:443", Some(Name)),
        ("[::1]:443", Some(Name)),
        ("[::ffff:127.0.0.1]:443", Some(Name)),
        ("169.254.169.254:80", Some(Address)),
        ("[::ffff:169.254.169.254]:80", Some(Address)),
        ("[fe80::1]:80", Some(Address)),
        ("0.0.0.0:80", Some(Address)),
        ("[::]:80", Some(Address)),
        ("224.0.0.1:80", Some(Address)),
        ("[ff02::1]:80", Some(Address)),
        ("[64:ff9b::7f00:1]:80", Some(Address)),
        ("[2002:7f00:1::]:80", Some(Address)),
        ("10.0.0.9:443", None),
        ("[::ffff:10.0.0.9]:443", None),
        ("8.8.4.4:53", None),
        ("8.8.4.4:443", Some(Any)),
    ] {
        let gate = &started.proxy.gate;
        let found = [Any, Pattern, Name, Address]
            .into_iter()
            .find(|how| gate.check(address.parse().unwrap(), *how).is_ok());
        assert_eq!(found, from, "{address}");
    }
    let trouble = started.proxy.gate.open("localhost", 1).await.err().unwrap();
    let connect::Trouble::Refused(words) = trouble else { panic!("{trouble:?}") };
    assert!(
        words.contains("its address is ") && words.contains("names the host itself"),
        "{words}"
    );
}

#[tokio::test]
async fn the_end_of_a_command_ends_its_connections() {
    let address = echo().await;
    let started = allowing(&[&address.to_string()]);
    let mut tunnel = started.connect().await;
    let head = format!("CONNECT {address} HTTP/1.1\r\n\r\n");
    talk(&mut tunnel, head.as_bytes(), "\r\n\r\n").await;
    let mut idle = started.connect().await;
    let folder = started.proxy.folder().to_owned();
    drop(started.proxy);
    for stream in [&mut tunnel, &mut idle] {
        let read = timeout(PATIENCE, stream.read(&mut [0; 8])).await.expect("it ends");
        assert!(matches!(read, Ok(0) | Err(_)));
    }
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_proxy_of_ones_own_gets_the_bytes_as_they_are() {
    let address = echo().await;
    let own = Egress { http_proxy: Some(address.port()), ..egress(&json!({})) };
    assert!(!own.is_closed());
    let started = start(own);
    let words = "GET http://evil.example/ HTTP/1.1\r\nhOST:  x\r\n\r\n";
    assert_eq!(started.ask(words.as_bytes(), "\r\n\r\n").await, words);
    // The other kind has no proxy of its own, and nothing allows it anything.
    let mut stream = started.connect().await;
    stream.write_all(&socks(1, 3, b"evil.example", 80)).await.unwrap();
    let mut answer = [0; 12];
    timeout(PATIENCE, stream.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(answer[3], 2);
    let gone = start(Egress { socks_proxy: Some(1), ..egress(&json!({})) });
    assert_eq!(gone.ask(&[5, 1, 0], "").await, "");
    assert!(
        gone.proxy.notes()[0]
            .contains("sandbox.network.socksProxyPort, 127.0.0.1:1, is not reached")
    );
}

#[tokio::test]
async fn more_connections_than_there_may_be_wait() {
    let (address, _seen) = server(OK).await;
    let started = allowing(&[&address.to_string()]);
    let mut idle = Vec::new();
    for _ in 0..MAX_CONNECTIONS {
        idle.push(started.connect().await);
    }
    let good = format!("GET http://{address}/ HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let mut late = started.connect().await;
    late.write_all(good.as_bytes()).await.unwrap();
    let mut piece = [0; 64];
    assert!(timeout(SILENCE, late.read(&mut piece)).await.is_err());
    idle.pop();
    assert!(timeout(PATIENCE, late.read(&mut piece)).await.unwrap().unwrap() > 0);
}

#[tokio::test]
async fn what_a_killed_program_left_is_removed_and_long_paths_do_no_harm() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("long".repeat(30)).join("network");
    let first = Proxies::new(folder.clone());
    let alive = first.start(egress(&json!({ "allowedDomains": ["a.example"] }))).unwrap();
    let (dead, begun) = (folder.join("command-dead"), folder.join("command-begun"));
    fs::create_dir_all(dead.join(WAY)).unwrap();
    fs::write(dead.join("alive"), "").unwrap();
    fs::create_dir(&begun).unwrap();
    drop(Proxies::new(folder));
    assert!(!dead.exists() && begun.exists() && alive.folder().join(SOCKET).exists());
    drop(short(alive.folder(), |socket| std::os::unix::net::UnixStream::connect(socket)).unwrap());
    for folder in alive.folder().ancestors().skip(1).take(2) {
        assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }
}

#[test]
fn ten_refusals_are_told_and_then_that_there_are_more() {
    let gate = Gate {
        egress: Egress::default(),
        refused: Mutex::default(),
        own: Arc::new(Semaphore::new(1)),
        all: Arc::new(Semaphore::new(1)),
        interception: None,
    };
    for number in 0..1000 {
        gate.refuse(&format!("{number}.example"), 80, "why");
    }
    assert_eq!(gate.notes().len(), MAX_TOLD + 1);
    assert!(gate.notes()[MAX_TOLD].ends_with("other hosts, too"));
    let long = gate.refuse(&"\u{1b}[2J\u{202e}x".repeat(100), 80, "why");
    assert!(long.chars().count() < 120 && !long.contains(['\u{1b}', '\u{202e}']), "{long}");
}

#[cfg(feature = "web")]
proptest::proptest! {
    /// What is judged is what a client means: no text is one host here and another one to a reader of URLs (WHATWG URL
    /// standard).
    #[test]
    fn a_host_is_the_one_that_urls_name(
        text in proptest::prop_oneof![
            "[a-zA-Z0-9.:_-]{1,24}",
            "[0-9xXa-fA-F.]{1,20}",
            "\\[[0-9a-fA-F:.%]{2,24}\\]",
            "[a-z0-9.%@/\\\\#?\\[\\]\\x00 \t\u{ff0e}\u{ad}-]{1,16}",
        ]
    ) {
        let read = |text: &str| Host::parse(text).map(|host| host.to_string());
        if let Some(host) = read(&text)
            && let Ok(url) = reqwest::Url::parse(&format!("http://{text}/"))
        {
            let named = url.host_str().unwrap_or_default();
            proptest::prop_assert_eq!(Some(host.clone()), read(named), "{}", text);
            proptest::prop_assert_eq!(Some(host.clone()), read(&host), "{}", text);
            proptest::prop_assert!(url.username().is_empty() && url.path() == "/");
        }
    }
}
