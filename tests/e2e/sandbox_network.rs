//! The network of commands in the sandbox: real bubblewrap, a real server, and clients that do what programs do.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use innerve_tests::{ModelServer, Wire, World, reply};
use serde_json::{Value, json};

use crate::sandbox::has_bubblewrap;

/// Asks the proxy for URLs over one connection, and prints the answers.
const GET: &str = "#!/bin/bash\nexec 3<>/dev/tcp/127.0.0.1/3128 || exit 7\n\
    while [ $# -gt 0 ]; do\nurl=$1; shift; [ $# = 0 ] && last=close\n\
    printf 'GET %s HTTP/1.1\\r\\nHost: elsewhere.example\\r\\nConnection: %s\\r\\n\\r\\n' \"$url\" ${last:-keep-alive} >&3\n\
    done\ntimeout 5 cat <&3\necho\necho asked\n";

/// A server that says the same on every path, and remembers what it was asked.
struct Site {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::default());
        let seen = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let seen = Arc::clone(&seen);
                thread::spawn(move || Self::answer(stream, &seen));
            }
        });
        Self { port, asked }
    }

    fn answer(stream: TcpStream, seen: &Mutex<Vec<String>>) {
        let mut lines = BufReader::new(&stream).lines();
        while let Some(Ok(first)) = lines.next() {
            let mut head = vec![first];
            head.extend(lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()));
            seen.lock().unwrap().push(head.join("\n"));
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nthe page\n";
            let is_last = head.iter().any(|line| line.eq_ignore_ascii_case("connection: close"));
            if (&stream).write_all(answer.as_bytes()).is_err() || is_last {
                return;
            }
        }
    }

    fn url(&self) -> String {
        format!("http://localhost:{}/a", self.port)
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// Settings with a sandbox that has this network.
fn with(network: Value) -> Value {
    json!({ "sandbox": { "enabled": true, "network": network } })
}

/// All that the model was told.
fn told(model: &ModelServer) -> String {
    let seen = model.seen();
    seen.iter().flat_map(|seen| &seen.messages).map(|message| format!("{message:?}")).collect()
}

/// Runs a command as the program's own call and gives what it printed.
fn run(world: &World, settings: &Value, command: &str) -> String {
    let (input, settings) = (json!({ "command": command }).to_string(), settings.to_string());
    let ended = world
        .innerve(["call", "Bash", &input, "--settings", &settings, "--allow", "Bash(*)"])
        .run();
    format!("{}{}", ended.stdout(), ended.stderr())
}

/// A world with the client, and with another script.
fn world_with(script: Option<(&str, &str)>) -> World {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    for (name, text) in [("get.sh", GET)].into_iter().chain(script) {
        world.write(name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(world.work(name), mode).unwrap();
    }
    world
}

/// Whether a program is there.
fn has(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").output();
    found.is_ok_and(|output| output.status.success())
}

#[test]
fn allowed_hosts_are_reached_and_others_are_refused_and_told() {
    if !has_bubblewrap() {
        return;
    }
    let (site, world) = (Site::open(), world_with(None));
    let settings = with(json!({ "allowedDomains": [format!("localhost:{}", site.port)] }));
    let told = run(&world, &settings, &format!("./get.sh {}", site.url()));
    assert!(told.contains("HTTP/1.1 200 OK") && told.contains("the page"), "{told}");
    assert!(!told.contains("refused"), "{told}");
    // The name that was judged is the one that is asked for.
    let asked = site.asked().join("\n").to_ascii_lowercase();
    assert!(asked.contains("get /a ") && asked.contains(&format!("host: localhost:{}", site.port)));
    assert!(!asked.contains("elsewhere"), "{asked}");

    // The second host of a kept connection is judged like the first, and so is each port and each name of a host.
    let others = [
        "http://evil.example/x".to_owned(),
        format!("http://127.0.0.1:{}/x", site.port),
        format!("http://localhost:{}/x", Site::open().port),
    ];
    let told = run(
        &world,
        &settings,
        &format!("./get.sh {} {} {}", site.url(), others.join(" "), site.url()),
    );
    assert_eq!(told.matches("HTTP/1.1 200 OK").count(), 2, "{told}");
    assert_eq!(told.matches("HTTP/1.1 403 Forbidden").count(), 3, "{told}");
    let words = "the sandbox refused the network: evil.example:80 (no entry of sandbox.network.allowedDomains names it)";
    // By the proxy to the command, and by the sandbox with the result.
    assert_eq!(told.matches(words).count(), 2, "{told}");
    assert!(!site.asked().join("\n").contains("/x"));
}

#[test]
fn without_an_allowed_host_there_is_no_proxy_and_no_way_around_it_with_one() {
    if !has_bubblewrap() {
        return;
    }
    let (site, world) = (Site::open(), world_with(None));
    let look = format!(
        "env | grep -ci proxy; ls /dev/innerve 2>&1; (exec 3<>/dev/tcp/127.0.0.1/{}) 2>/dev/null && echo around; \
         (exec 3<>/dev/tcp/1.1.1.1/53) 2>/dev/null && echo around; ./get.sh {}",
        site.port,
        site.url()
    );
    let closed = with(json!({ "deniedDomains": ["a.example"] }));
    let told = run(&world, &closed, &look);
    assert!(told.contains("0\n") && told.contains("No such file"), "{told}");
    assert!(!told.contains("around") && !told.contains("the page"), "{told}");
    let open = with(json!({ "allowedDomains": ["localhost"] }));
    let told = run(&world, &open, &look);
    assert!(told.contains("the page") && !told.contains("around"), "{told}");
    // A command cannot put anything in the place of its way out, nor see those of others.
    let harm = "touch /dev/innerve/network/x; rm /dev/innerve/network/socket; mv /dev/innerve/network /dev/x; \
                mount --bind /tmp /dev/innerve/network; umount /dev/innerve/network; \
                ls -A $XDG_STATE_HOME/innerve/network | wc -l; ls /dev/innerve/network";
    let told = run(&world, &open, &format!("({harm}) 2>/dev/null; ./get.sh {}", site.url()));
    assert!(told.contains("0\nsocket\n") && told.contains("the page"), "{told}");
    world.nobody_is_left();
    assert!(world.find("socket").is_empty());
}

#[test]
fn denied_beats_allowed_and_rules_about_the_web_say_both() {
    if !has_bubblewrap() {
        return;
    }
    let (site, world) = (Site::open(), world_with(None));
    let get = format!("./get.sh {}", site.url());
    let rule = "WebFetch(domain:localhost)";
    for (network, allow, deny, reached) in [
        (json!({ "allowedDomains": ["localhost"] }), vec![], vec![], true),
        (
            json!({ "allowedDomains": ["localhost"], "deniedDomains": ["local*"] }),
            vec![],
            vec![],
            false,
        ),
        (json!({ "allowedDomains": ["localhost"] }), vec![], vec![rule], false),
        (json!({}), vec![rule], vec![], true),
        (json!({}), vec!["WebFetch"], vec![], false),
        (json!({ "deniedDomains": ["localhost"] }), vec![rule], vec![], false),
        // What is local needs its name.
        (json!({ "allowedDomains": ["*"] }), vec![], vec![], false),
        (json!({ "allowedDomains": ["l*st"] }), vec![], vec![], false),
        // What should deny and cannot be read.
        (
            json!({ "allowedDomains": ["localhost"], "deniedDomains": ["http://x"] }),
            vec![],
            vec![],
            false,
        ),
    ] {
        let mut settings = with(network.clone());
        settings["permissions"] = json!({ "allow": allow, "deny": deny });
        let told = run(&world, &settings, &get);
        assert_eq!(told.contains("the page"), reached, "{network} {allow:?} {deny:?}: {told}");
    }
}

#[test]
fn a_project_allows_hosts_only_when_it_is_trusted() {
    if !has_bubblewrap() {
        return;
    }
    let site = Site::open();
    let list = json!({ "sandbox": { "network": { "allowedDomains": ["localhost"], "httpProxyPort": site.port } } });
    let world = world_with(None).file(".innerve/settings.json", list.to_string());
    let get = format!("./get.sh {}", site.url());
    let told = run(&world, &with(json!({})), &get);
    assert!(!told.contains("the page") && told.contains("innerve trust"), "{told}");
    assert!(site.asked().is_empty());
    world.innerve(["trust"]).run().exits(0);
    let told = run(&world, &with(json!({})), &get);
    assert!(told.contains("the page"), "{told}");
    // The site was taken for a proxy, and got what it was sent.
    assert!(site.asked()[0].contains("Host: elsewhere.example"), "{:?}", site.asked());
}

#[test]
fn socks_is_spoken_too() {
    if !has_bubblewrap() {
        return;
    }
    let site = Site::open();
    let [high, low] = site.port.to_be_bytes();
    let ask = |name: &str| {
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/3128; printf '\\5\\1\\0\\5\\1\\0\\3\\{:o}{name}\\{high:o}\\{low:o}' >&3\n\
             printf 'GET / HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n' >&3; timeout 2 cat <&3 | tr -d '\\0'\n",
            name.len()
        )
    };
    let world = World::new().file("good.sh", ask("localhost")).file("bad.sh", ask("evil.example"));
    let settings = with(json!({ "allowedDomains": ["localhost"] }));
    let told = run(&world, &settings, "bash good.sh");
    assert!(told.contains("the page"), "{told}");
    let told = run(&world, &settings, "bash bad.sh");
    assert!(!told.contains("the page") && told.contains("refused the network: evil.example:"));
}

/// What programs make of the variables; those that are not here are not asked.
#[test]
fn programs_find_the_way_by_themselves() {
    if !has_bubblewrap() {
        return;
    }
    let site = Site::open();
    let world = World::new();
    let settings = with(json!({ "allowedDomains": ["localhost"] }));
    let url = site.url();
    let evil = "http://evil.example/";
    let python = |url: &str| {
        format!("python3 -c 'import urllib.request as u; print(u.urlopen(\"{url}\").read())'")
    };
    let node = |url: &str| {
        format!("node -e 'fetch(\"{url}\").then(r => r.text()).then(t => console.log(t))'")
    };
    let mut calls = Vec::new();
    if has("curl") {
        calls.push((format!("curl -sS {url}"), format!("curl -sS {evil}")));
        calls.push((format!("curl -sSp {url}"), format!("curl -sSp {evil}")));
        calls.push((
            format!("curl -sS -x socks5h://127.0.0.1:3128 {url}"),
            format!("curl -sS -x socks5h://127.0.0.1:3128 {evil}"),
        ));
    }
    if has("python3") {
        calls.push((python(&url), python(evil)));
    }
    // Since Node 24 (Node.js documentation, NODE_USE_ENV_PROXY); before, it has no network.
    if has("node")
        && run(&world, &settings, "node -p 'process.versions.node.split(\".\")[0] >= 24'")
            .contains("true")
    {
        calls.push((node(&url), node(evil)));
    }
    for (good, bad) in calls {
        // By default a command's own loopback is what `localhost` means.
        let told = run(&world, &settings, &format!("export NO_PROXY= no_proxy=; {good}"));
        assert!(told.contains("the page"), "{good}: {told}");
        let told = run(&world, &settings, &format!("export NO_PROXY= no_proxy=; {bad}"));
        assert!(told.contains("refused the network: evil.example:80"), "{bad}: {told}");
    }
    if has("git") {
        let clone = "export NO_PROXY= no_proxy=; git ls-remote";
        run(&world, &settings, &format!("{clone} http://localhost:{}/r.git", site.port));
        assert!(site.asked().iter().any(|head| head.contains("/r.git/info/refs")));
        let told = run(&world, &settings, &format!("{clone} http://evil.example/r.git"));
        assert!(told.contains("refused the network: evil.example:80"), "{told}");
    }
}

#[test]
fn a_command_that_reaches_hosts_needs_no_question_and_the_model_is_told_what_was_refused() {
    if !has_bubblewrap() {
        return;
    }
    let (site, world) = (Site::open(), world_with(None));
    let model = world.model(
        Wire::Anthropic,
        [
            reply().bash(&format!("./get.sh {} > got; cat got", site.url())),
            reply().bash("./get.sh http://evil.example/ > /dev/null; false"),
            reply().text("Done."),
        ],
    );
    let settings = with(json!({ "allowedDomains": ["localhost"] })).to_string();
    let ended = world.innerve(["run", "get it", "--settings", &settings]).model(&model).run();
    ended.exits(0);
    assert!(world.read("got").contains("the page"), "{ended}");
    let failed = model.request(2).result_texts().pop().unwrap();
    assert!(failed.starts_with("Exit code 1"), "{failed}");
    assert!(failed.contains("the sandbox refused the network: evil.example:80 ("), "{failed}");
    world.nobody_is_left();
}

#[test]
fn a_task_in_the_background_keeps_its_network_until_it_ends() {
    if !has_bubblewrap() {
        return;
    }
    let site = Site::open();
    let url = site.url();
    // It goes on asking long after the call that started it, while other commands come and go.
    let script = format!(
        "#!/bin/bash\nuntil [ -e go ]; do sleep 0.02; done\n./get.sh {url} > got\n./get.sh http://evil.example/ > /dev/null\n\
         touch over\n"
    );
    let world = world_with(Some(("task.sh", &script)));
    let input = json!({ "command": "./task.sh", "run_in_background": true });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Bash", input),
            reply().bash(&format!("./get.sh {url} > /dev/null; touch go")),
            reply().bash("until [ -e over ]; do sleep 0.02; done; sleep 0.3"),
            reply().bash("true"),
            reply().text("Done."),
        ],
    );
    let settings = with(json!({ "allowedDomains": ["localhost"] })).to_string();
    world.innerve(["run", "go", "--settings", &settings]).model(&model).run().exits(0);
    assert!(world.read("got").contains("the page"));
    let told = told(&model);
    assert!(
        told.contains("exit code 0; the sandbox refused the network: evil.example:80"),
        "{told}"
    );
    world.nobody_is_left();
    assert!(world.find("socket").is_empty());
}

#[test]
fn what_a_watched_command_was_refused_is_told_with_its_end() {
    if !has_bubblewrap() {
        return;
    }
    let world = world_with(None);
    let input = json!({
        "command": "./get.sh http://evil.example/ > /dev/null; touch over",
        "description": "the watch"
    });
    let model = world.model(
        Wire::Anthropic,
        [
            reply().uses("Monitor", input),
            reply().bash("until [ -e over ]; do sleep 0.02; done; sleep 0.5"),
            reply().bash("true"),
            reply().text("Done."),
        ],
    );
    let settings = with(json!({ "allowedDomains": ["localhost"] })).to_string();
    world
        .innerve(["run", "go", "--settings", &settings, "--allow", "Bash(*)"])
        .model(&model)
        .run()
        .exits(0);
    let told = told(&model);
    assert!(
        told.contains("after 0 lines; the sandbox refused the network: evil.example:80"),
        "{told}"
    );
    world.nobody_is_left();
}

#[test]
fn nobody_outlives_a_program_that_is_killed() {
    if !has_bubblewrap() {
        return;
    }
    let (site, world) = (Site::open(), world_with(None));
    let command = format!("./get.sh {} > got; touch started; sleep 100000.31", site.url());
    let settings = with(json!({ "allowedDomains": ["localhost"] })).to_string();
    let input = json!({ "command": command }).to_string();
    let call = ["call", "Bash", &input, "--settings", &settings, "--allow", "Bash(*)"];
    let running = world.innerve(call).start();
    world.wait_for_file("started");
    assert!(running.kill());
    world.nobody_is_left_within(Duration::from_secs(10));
    assert_eq!(world.find("socket").len(), 1, "nobody was there to remove it");
    let told = run(
        &world,
        &with(json!({ "allowedDomains": ["localhost"] })),
        &format!("./get.sh {}", site.url()),
    );
    assert!(told.contains("the page"), "{told}");
    assert!(world.find("socket").is_empty(), "the next one does");
}

#[test]
fn services_are_hidden_until_settings_name_them() {
    if !has_bubblewrap() {
        return;
    }
    let world = World::new();
    let socket = world.root().join("agent.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let path = socket.to_str().unwrap();
    // Where a terminal outside takes commands.
    let owner = std::os::unix::fs::MetadataExt::uid(&world.root().metadata().unwrap());
    let terminal = world.root().join(format!("tmp/tmux-{owner}"));
    std::fs::create_dir(&terminal).unwrap();
    let other = std::os::unix::net::UnixListener::bind(terminal.join("default")).unwrap();
    for (network, seen) in [
        (json!({}), false),
        (json!({ "allowUnixSockets": [] }), false),
        (json!({ "allowUnixSockets": ["/elsewhere"] }), false),
        (json!({ "allowUnixSockets": [path] }), true),
        (json!({ "allowAllUnixSockets": false }), false),
        (json!({ "allowAllUnixSockets": true }), true),
    ] {
        let settings = with(network.clone()).to_string();
        let input =
            json!({ "command": "[ -S $SSH_AUTH_SOCK ] && echo is there; ls $TMPDIR/tmux*" })
                .to_string();
        let ended = world
            .innerve(["call", "Bash", &input, "--settings", &settings, "--allow", "Bash(*)"])
            .env("SSH_AUTH_SOCK", path)
            .run();
        assert_eq!(ended.stdout().contains("is there"), seen, "{network}: {ended}");
        let all = network["allowAllUnixSockets"] == true;
        assert_eq!(ended.stdout().contains("default"), all, "{network}: {ended}");
    }
    drop((listener, other));
}

#[test]
fn doctor_says_what_commands_reach_and_landlock_that_they_reach_nothing() {
    let world = World::new();
    let mut settings = with(json!({ "allowedDomains": ["a.example", "*.b.example:443"] }));
    let doctor = |settings: &Value| {
        let ended =
            world.innerve(["doctor", "--offline", "--settings", &settings.to_string()]).run();
        format!("{}{}", ended.stdout(), ended.stderr())
    };
    if has_bubblewrap() {
        let told = doctor(&settings);
        assert!(told.contains("(bubblewrap) and reach a.example, *.b.example:443"), "{told}");
    }
    settings["sandbox"]["bwrapPath"] = json!("/nonexistent/bwrap");
    let told = run(&world, &settings, "env | grep -ci proxy");
    if !told.contains("is not available") {
        assert!(told.contains("make no TCP connection, whatever `sandbox.network` says"), "{told}");
        assert!(told.contains("0\n"), "{told}");
    }
}
