//! Masked credentials: a command sees placeholders, and a real HTTPS server gets the values.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innerve_tests::World;
use serde_json::json;

use crate::sandbox::has_bubblewrap;

/// Says its port, and then the head of each request.
const SERVER: &str = "import http.server, ssl, sys\n\
class Page(http.server.BaseHTTPRequestHandler):\n\
\x20   def do_GET(self):\n\
\x20       print(str(self.headers).replace('\\n', '|'), flush=True)\n\
\x20       self.send_response(200); self.send_header('Content-Length', '8'); self.end_headers()\n\
\x20       self.wfile.write(b'welcome\\n')\n\
\x20   def log_message(self, *words): pass\n\
server = http.server.HTTPServer(('127.0.0.1', 0), Page)\n\
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
context.load_cert_chain(sys.argv[1])\n\
server.socket = context.wrap_socket(server.socket, server_side=True)\n\
print(server.server_port, flush=True)\n\
server.serve_forever()\n";

/// A server with a certificate for `localhost`.
struct Server {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    port: u16,
}

impl Server {
    /// `None` where there is no Python; its certificate goes into this file.
    fn start(certificate: &std::path::Path) -> Option<Self> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let pem = |kind: &str, der: &[u8]| {
            let text = STANDARD.encode(der);
            let letters: Vec<char> = text.chars().collect();
            let lines: Vec<String> = letters.chunks(64).map(|line| line.iter().collect()).collect();
            format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", lines.join("\n"))
        };
        let shown = pem("CERTIFICATE", made.cert.der());
        let key = pem("PRIVATE KEY", &made.signing_key.serialize_der());
        let both = certificate.with_extension("key");
        std::fs::write(certificate, &shown).unwrap();
        std::fs::write(&both, shown + &key).unwrap();
        let mut python = Command::new("python3");
        let mut child =
            python.args(["-c", SERVER]).arg(&both).stdout(Stdio::piped()).spawn().ok()?;
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        lines.read_line(&mut port).unwrap();
        let port = port.trim().parse().ok()?;
        Some(Self { child, lines, port })
    }

    /// The head of the next request.
    fn request(&mut self) -> String {
        let mut head = String::new();
        self.lines.read_line(&mut head).unwrap();
        head
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn has_curl() -> bool {
    let found = Command::new("curl").arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

#[test]
fn a_host_gets_what_the_command_does_not_see() {
    let world = World::new();
    let certificate = world.root().join("config/server.pem");
    if !has_bubblewrap() || !has_curl() {
        return;
    }
    let Some(mut server) = Server::start(&certificate) else { return };
    let token = world.root().join("home/.token");
    std::fs::write(&token, "file-value-7\n").unwrap();
    let host = format!("localhost:{}", server.port);
    let entry = |key: &str, name: &str| json!({ key: name, "mode": "mask", "injectHosts": [host] });
    let settings = |network: serde_json::Value| {
        json!({ "sandbox": {
            "enabled": true,
            "network": network,
            "credentials": { "envVars": [entry("name", "THE_TOKEN")], "files": [entry("path", "~/.token")] },
        } })
        .to_string()
    };
    let command = format!(
        "echo \"sees $THE_TOKEN $(cat ~/.token)\"; curl -sS --noproxy '' -u \"me:$THE_TOKEN\" -H \"X-File: $(cat ~/.token)\" \
         https://{host}/"
    );
    let run = |settings: String| {
        let input = json!({ "command": command }).to_string();
        let ended = world
            .innerve(["call", "Bash", &input, "--settings", &settings, "--allow", "Bash(*)"])
            .env("THE_TOKEN", "env-value-9")
            .env("SSL_CERT_FILE", certificate.display().to_string())
            .run();
        format!("{}{}", ended.stdout(), ended.stderr())
    };

    let told = run(settings(json!({ "allowedDomains": [host], "tlsTerminate": {} })));
    assert!(told.contains("welcome"), "{told}");
    assert!(told.contains("sees innerve-masked-"), "{told}");
    assert!(!told.contains("value-7") && !told.contains("value-9"), "{told}");
    let head = server.request();
    assert!(head.contains("X-File: file-value-7|"), "{head}");
    let basic = STANDARD.encode("me:env-value-9");
    assert!(head.contains(&format!("Authorization: Basic {basic}|")), "{head}");

    // Without it TLS stays closed, and the server gets the placeholder.
    let told = run(settings(json!({ "allowedDomains": [host] })));
    assert!(told.contains("welcome") && told.contains("tlsTerminate"), "{told}");
    let head = server.request();
    assert!(head.contains("X-File: innerve-masked-"), "{head}");
    world.nobody_is_left();
}
