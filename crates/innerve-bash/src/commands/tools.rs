//! Programs that talk to the network, run the project's code or change the system; and those with subcommands.

use super::{Operands, Program};
use crate::judge::Parsed;
use crate::{Class, Effect};

/// Programs with subcommands, and the options that may stand before these.
pub(super) const GROUPS: &[(&str, &str)] = &[
    (
        "git",
        "-P -C= --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects --icase-pathspecs --glob-pathspecs",
    ),
    ("docker", ""),
    ("podman", ""),
    ("kubectl", "-n= --namespace= --request-timeout="),
    ("gh", ""),
    ("glab", ""),
    ("cargo", "-qv --quiet --verbose --locked --offline --frozen --color="),
    ("npm", ""),
    ("pnpm", ""),
    ("yarn", ""),
    ("go", ""),
    (
        "systemctl",
        "-la --user --system --no-pager --all --full --no-legend --plain -n= --lines= -t= --type= --state=",
    ),
    ("pip", ""),
    ("pip3", ""),
    ("uv", ""),
    ("poetry", ""),
    ("rustup", ""),
    ("brew", ""),
    ("helm", "-n= --namespace="),
    ("terraform", ""),
];

/// Programs of which `--version` is known to print a version only.
pub(super) const VERSIONED: &[&str] = &[
    "bun", "cargo", "clang", "cmake", "composer", "deno", "docker", "g++", "gcc", "gh", "git",
    "go", "java", "javac", "kubectl", "make", "node", "npm", "npx", "perl", "php", "pip", "pip3",
    "pnpm", "poetry", "python", "python3", "ruby", "rustc", "rustup", "tsc", "uv", "yarn",
];

/// Reads something on another machine.
const fn remote(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options)
        .with(Operands::Text)
        .effects(&[Effect::Read, Effect::Network])
        .careful()
        .check(is_literal)
}

const fn local(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options).with(Operands::Text).careful()
}

pub(super) const ROWS: &[Program] = &[
    // Remote reads.
    remote(&["docker ps", "podman ps", "docker container ls"], "-aqls -nf= --all --quiet --filter= --format= --no-trunc --last= --latest --size"),
    remote(&["docker images", "podman images", "docker image ls"], "-aq -f= --all --quiet --filter= --format= --no-trunc --digests"),
    remote(&["docker logs", "podman logs"], "-ft -n= --follow --tail= --since= --until= --timestamps --details"),
    remote(&["docker inspect", "podman inspect"], "-s -f= --format= --size --type="),
    remote(
        &["kubectl get", "kubectl describe"],
        "-Aw -noLl= --namespace= --all-namespaces --output= --selector= --field-selector= --show-labels --watch --sort-by= --no-headers \
         --label-columns= --show-kind --ignore-not-found --show-events?",
    )
    .check(|parsed| is_literal(parsed) && !names_secrets(parsed)),
    Program::acts(&["kubectl get", "kubectl describe"], &[Effect::Network, Effect::Secret]).class(Class::Unknown).check(names_secrets),
    remote(
        &["kubectl logs"],
        "-fp -ncl= --namespace= --container= --selector= --tail= --since= --previous --follow --all-containers --prefix --timestamps",
    ),
    remote(
        &[
            "gh pr view", "gh pr list", "gh issue view", "gh issue list", "gh run view", "gh run list",
        ],
        "-cvd -RqtsLaAlSbBHj= --repo= --json= --jq= --template= --state= --limit= --assignee= --author= --label= --search= --comments --log \
         --log-failed --verbose --job= --branch= --base= --head= --draft",
    ),
    Program::acts(&["gh auth token"], &[Effect::Secret]).class(Class::Unknown),
    Program::acts(
        &[
            "gh pr", "gh issue", "gh run", "gh api", "gh repo", "gh auth", "gh release", "gh workflow", "gh gist", "gh search", "gh label",
            "gh secret", "gh variable",
        ],
        &[Effect::Network],
    ),
    Program::acts(
        &[
            "docker build", "docker pull", "docker push", "docker rm", "docker rmi", "docker stop", "docker start", "docker restart", "docker kill",
            "docker compose", "docker volume", "docker network", "docker system", "docker tag", "docker image", "docker container",
            "podman rm", "podman stop", "kubectl apply", "kubectl delete", "kubectl create", "kubectl scale", "kubectl rollout",
            "kubectl patch", "kubectl label", "kubectl annotate", "helm install", "helm upgrade", "helm uninstall", "terraform apply",
            "terraform destroy",
        ],
        &[Effect::Network, Effect::State],
    ),
    // Packages and builds.
    local(&["npm ls", "npm list", "pnpm ls", "pnpm list"], "-alpg --all --depth= --json --long --parseable --global --prod --dev --omit="),
    local(&["npm root", "npm prefix", "npm bin"], "-g --global"),
    local(&["pip list", "pip3 list", "pip freeze", "pip3 freeze"], "-l --local --format= --user --not-required --all"),
    local(&["pip show", "pip3 show"], "-f --files"),
    local(&["go version"], "-m"),
    local(&["go env"], "~-json").check(|parsed| (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(|name| !name.contains('=')))),
    local(&["rustup toolchain list", "rustup target list"], "-v --verbose --installed"),
    local(&["cargo version", "npm version"], "").check(|parsed| parsed.operands.is_empty()),
    Program::acts(
        &[
            "cargo build", "cargo b", "cargo check", "cargo c", "cargo clippy", "cargo test", "cargo t", "cargo run", "cargo r", "cargo bench", "cargo doc",
            "cargo nextest", "cargo fix", "cargo miri", "cargo package", "cargo rustc", "cargo rustdoc", "cargo tree", "cargo metadata",
            "go build", "go test", "go run", "go vet", "go generate", "go list", "npm run", "npm run-script", "npm test", "npm t", "npm start",
            "npm exec", "pnpm run", "pnpm test", "pnpm exec", "pnpm build", "yarn run", "yarn test", "yarn build", "uv run", "poetry run",
        ],
        &[Effect::Write, Effect::ExecProject],
    ),
    Program::acts(
        &[
            "cargo add", "cargo fmt", "cargo clean", "cargo init", "cargo new", "cargo remove", "cargo update", "cargo generate-lockfile", "cargo vendor",
            "go mod", "go fmt", "npm init", "npm version", "npm pkg", "npm cache",
        ],
        &[Effect::Write],
    ),
    Program::acts(
        &[
            "cargo install", "cargo publish", "cargo fetch", "cargo search", "go get", "go install", "npm install", "npm i", "npm ci", "npm publish",
            "npm update", "npm uninstall", "npm audit", "npm view", "npm info", "npm outdated", "pnpm install", "pnpm add", "yarn add", "yarn install",
            "pip install", "pip3 install", "pip uninstall", "pip3 uninstall", "uv pip", "uv sync", "uv add", "poetry install", "poetry add",
            "brew install", "rustup update", "rustup component", "rustup toolchain", "rustup target",
        ],
        &[Effect::Write, Effect::Network, Effect::ExecProject],
    ),
    Program::acts(
        &[
            "make", "just", "ninja", "cmake", "gradle", "gradlew", "mvn", "rake", "tox", "nox", "pytest", "jest", "vitest", "mocha", "tsc", "eslint",
            "prettier", "ruff", "black", "mypy", "isort", "flake8", "rspec", "phpunit", "ctest", "meson", "bazel", "webpack", "vite", "dotnet",
        ],
        &[Effect::Write, Effect::ExecProject],
    ),
    Program::acts(&["rustfmt", "gofmt", "clang-format", "gcc", "g++", "cc", "clang", "clang++", "rustc", "javac", "ld", "ar"], &[Effect::Read, Effect::Write]),
    Program::acts(&["python", "python3", "node", "ruby", "perl", "php", "lua", "deno", "bun", "java", "Rscript", "julia"], &[Effect::ExecProject])
        .check(runs_a_file),
    // The network.
    Program::writes(
        &["curl"],
        "-sSLfvikgGI46 -HXAmw= -o=> --silent --show-error --location --fail --verbose --include --insecure --globoff --head \
         --header= --request= --user-agent= --max-time= --connect-timeout= --write-out= --output=> --compressed --retry= \
         --no-progress-meter --fail-with-body --http1.1 --http2",
        Operands::Text,
    )
    .effects(&[Effect::Network]),
    Program::acts(&["curl"], &[Effect::Read, Effect::Write, Effect::Network]),
    Program::acts(&["wget", "scp", "sftp", "aria2c"], &[Effect::Read, Effect::Write, Effect::Network]),
    Program::acts(&["ping", "ping6", "dig", "nslookup", "host", "traceroute", "whois", "http", "nc", "ncat", "telnet", "ftp"], &[Effect::Network]),
    Program::acts(&["ssh", "mosh"], &[Effect::Network, Effect::ExecUnknown]).class(Class::Unknown),
    // The system.
    local(
        &[
            "systemctl status", "systemctl show", "systemctl cat", "systemctl list-units", "systemctl list-unit-files", "systemctl is-active",
            "systemctl is-enabled", "systemctl is-failed", "systemctl list-timers", "systemctl list-sockets", "systemctl list-dependencies",
        ],
        "-laq -ntpo= --user --system --no-pager --all --full --no-legend --plain --lines= --type= --state= --property= --output= --failed --quiet --value",
    ),
    Program::acts(
        &[
            "systemctl start", "systemctl stop", "systemctl restart", "systemctl reload", "systemctl enable", "systemctl disable", "systemctl mask",
            "systemctl daemon-reload",
        ],
        &[Effect::State],
    ),
    Program::acts(
        &[
            "pkill", "killall", "kill", "renice", "service", "mount", "umount", "swapoff", "swapon", "reboot", "shutdown", "poweroff", "halt", "sysctl",
            "modprobe", "insmod", "rmmod", "hostnamectl", "timedatectl", "useradd", "userdel", "usermod", "groupadd", "passwd", "iptables",
            "nft", "ufw", "journalctl", "dmesg", "date", "hostname", "crontab", "at", "chsh", "loginctl",
        ],
        &[Effect::State],
    ),
    Program::acts(
        &["apt", "apt-get", "dpkg", "yum", "dnf", "pacman", "apk", "zypper", "snap", "flatpak"],
        &[Effect::Write, Effect::Network, Effect::State],
    ),
    Program::acts(&["su", "pkexec", "runuser"], &[Effect::Privilege, Effect::ExecUnknown]).class(Class::Unknown),
];

/// Whether nothing is left open.
fn is_literal(parsed: &Parsed<'_>) -> bool {
    parsed.operands.iter().all(|word| word.literal().is_some())
        && parsed
            .options
            .iter()
            .all(|(_, value)| value.as_ref().is_none_or(|value| value.literal().is_some()))
}

fn names_secrets(parsed: &Parsed<'_>) -> bool {
    parsed
        .operands
        .iter()
        .any(|word| word.literal().is_some_and(|text| text.to_ascii_lowercase().contains("secret")))
}

/// Whether an interpreter is given a file rather than code.
fn runs_a_file(parsed: &Parsed<'_>) -> bool {
    let code = parsed.options.iter().any(|(name, _)| {
        [
            "-c",
            "-e",
            "-E",
            "-p",
            "-i",
            "-r",
            "-n",
            "-x",
            "-",
            "--eval",
            "--print",
            "--require",
            "--import",
            "--loader",
        ]
        .iter()
        .any(|option| {
            name == option
                || !option.starts_with("--") && option.len() == 2 && name.starts_with(option)
        })
    });
    let file = parsed.operands.first().is_some_and(|word| word.literal() != Some("-"));
    !code && (file || parsed.has(&["-m"]))
}
