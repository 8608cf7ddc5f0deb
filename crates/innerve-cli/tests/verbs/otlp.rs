//! Spans and metrics at a collector: a real one on the loopback interface, which decodes what comes (OTLP, protobuf over
//! HTTP), and some that are broken.

mod protobuf;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::kit::World;
use crate::telemetry::{SECRET, run, world};
use protobuf::{Metrics, Spans};

/// How a collector behaves.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Takes,
    Refuses,
    NeverAnswers,
}

/// Bodies with the path that each came to.
type Bodies = Vec<(String, Vec<u8>)>;

/// A collector, and what came to it.
struct Collector {
    address: String,
    came: Arc<Mutex<Bodies>>,
}

impl Collector {
    fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let came = Arc::new(Mutex::new(Vec::new()));
        let bodies = Arc::clone(&came);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let bodies = Arc::clone(&bodies);
                thread::spawn(move || serve(stream, manner, &bodies));
            }
        });
        Self { address, came }
    }

    /// All that came to a path.
    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let came = self.came.lock().unwrap();
        came.iter().filter(|(to, _)| to == path).map(|(_, body)| body.clone()).collect()
    }
}

/// Reads requests of one connection and answers them.
fn serve(stream: TcpStream, manner: Manner, bodies: &Mutex<Bodies>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        loop {
            let before = head.len();
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
            if head.get(before..) == Some("\r\n") {
                break;
            }
        }
        let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        bodies.lock().unwrap().push((path, body));
        let status = match manner {
            Manner::Takes => "200 OK",
            Manner::Refuses => "503 Service Unavailable",
            Manner::NeverAnswers => {
                thread::sleep(Duration::from_mins(1));
                return;
            }
        };
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n"
        );
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

#[test]
fn a_run_arrives_at_a_collector_as_a_tree_of_spans_and_as_metrics() {
    let collector = Collector::start(Manner::Takes);
    let ended = run(&world(), &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)]);
    assert_eq!(ended.code, Some(0), "{ended:?}");

    let spans = Spans::read(&collector.bodies("/v1/traces"));
    assert_eq!(spans.resource["service.name"], "innerve");
    let interaction = spans.named("innerve.interaction");
    assert_eq!(interaction.len(), 1);
    assert_eq!(interaction[0].attributes["outcome"], "completed");
    let requests = spans.named("innerve.llm_request");
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].parent, interaction[0].id);
    assert_eq!(requests[0].attributes["input_tokens"], "1234");
    let tools = spans.named("innerve.tool");
    assert_eq!(tools.len(), 8);
    assert!(tools.iter().all(|tool| tool.parent == interaction[0].id));
    let bash = tools.iter().find(|tool| tool.attributes["tool_name"] == "Bash").unwrap();
    let result = bash.events.iter().find(|event| event.name == "tool_result").unwrap();
    assert!(result.attributes.contains_key("duration_ms"), "{result:?}");
    let executions = spans.named("innerve.tool.execution");
    assert!(executions.iter().any(|execution| execution.parent == bash.id));
    assert!(spans.named("innerve.hook").iter().any(|hook| hook.parent == bash.id));

    let metrics = Metrics::read(&collector.bodies("/v1/metrics"));
    for name in ["innerve.token.usage", "innerve.session.count", "innerve.code_edit_tool.decision"]
    {
        assert!(metrics.names.contains(name), "{metrics:?}");
    }
    assert!(metrics.attributes.contains("type=input"), "{metrics:?}");
}

#[test]
fn i11_no_word_of_the_work_arrives_at_a_collector() {
    let collector = Collector::start(Manner::Takes);
    run(&world(), &[("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address)]);
    let came = collector.came.lock().unwrap();
    assert!(came.iter().any(|(path, _)| path == "/v1/traces"));
    assert!(came.iter().any(|(path, _)| path == "/v1/metrics"));
    for (path, body) in came.iter() {
        let has_secret = body.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!has_secret, "{path}: {}", String::from_utf8_lossy(body));
    }
}

#[test]
fn a_collector_that_is_gone_or_broken_neither_stops_nor_slows_a_run() {
    let world = World::new();
    let call = ["call", "Bash", "{\"command\":\"echo hi\"}", "--allow", "Bash(echo *)"];
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let refuses = Collector::start(Manner::Refuses);
    let silent = Collector::start(Manner::NeverAnswers);
    for address in [&format!("http://{closed}"), &refuses.address, &silent.address, "no address"] {
        let since = Instant::now();
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", address)];
        let ended = world.run(&call, "", &world.path("work"), &variables);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "hi\n"), "{address}: {ended:?}");
        assert!(since.elapsed() < Duration::from_secs(10), "{address}: {:?}", since.elapsed());
    }
}
