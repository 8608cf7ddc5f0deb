//! Package managers, build tools, compilers and interpreters: most run the project's code.

use super::{Group, Operands, Program};
use crate::Effect;
use crate::judge::Parsed;

/// Programs with subcommands, and the options that may stand before these.
pub(super) const GROUPS: &[Group] = &[
    Group { name: "cargo", options: "-qv --quiet --verbose --locked --offline --frozen --color=" },
    Group { name: "npm", options: "-s --silent -C= --prefix= -w= --workspace= --workspaces" },
    Group { name: "pnpm", options: "-rs -F= --filter= --recursive --silent -C= --dir=" },
    Group { name: "yarn", options: "" },
    Group { name: "go", options: "" },
    Group { name: "pip", options: "-q --quiet --disable-pip-version-check" },
    Group { name: "pip3", options: "-q --quiet --disable-pip-version-check" },
    Group { name: "uv", options: "-q --quiet" },
    Group { name: "poetry", options: "" },
    Group { name: "rustup", options: "" },
    Group { name: "bun", options: "" },
    Group { name: "deno", options: "" },
    Group { name: "gem", options: "" },
    Group { name: "bundle", options: "" },
    Group { name: "composer", options: "" },
    Group { name: "dotnet", options: "" },
    Group { name: "swift", options: "" },
    Group { name: "conda", options: "" },
    Group { name: "pipx", options: "" },
];

/// Programs of which `--version` is known to print a version only; others run what the project's files name (`yarn`, `pnpm`,
/// `mvn`, `pytest`, `composer`).
pub(super) const VERSIONED: &[&str] = &[
    "brew",
    "bun",
    "cargo",
    "cc",
    "clang",
    "clang++",
    "cmake",
    "deno",
    "docker",
    "dotnet",
    "g++",
    "gcc",
    "gem",
    "gh",
    "git",
    "go",
    "gofmt",
    "helm",
    "java",
    "javac",
    "julia",
    "kubectl",
    "ld",
    "lua",
    "make",
    "mysql",
    "ninja",
    "node",
    "npm",
    "npx",
    "openssl",
    "perl",
    "php",
    "pip",
    "pip3",
    "pipx",
    "podman",
    "poetry",
    "psql",
    "python",
    "python3",
    "redis-cli",
    "rg",
    "ruby",
    "rustc",
    "rustfmt",
    "rustup",
    "sqlite3",
    "ssh",
    "swift",
    "tar",
    "tsc",
    "uv",
    "vim",
    "zip",
];

/// Programs that run a file of the project, or code that they are given.
const INTERPRETERS: &[&str] = &[
    "python", "python3", "python2", "pypy3", "node", "nodejs", "ruby", "perl", "php", "lua",
    "luajit", "java", "Rscript", "julia", "tclsh", "guile", "groovy", "scala", "elixir", "erl",
];

const fn local(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options).with(Operands::Text).careful()
}

pub(super) const ROWS: &[Program] = &[
    // What is installed, and where.
    local(&["npm ls", "npm list", "npm ll", "npm la", "npm explain", "npm why"], "-alpgDP -r --all --depth= --json --long --parseable --global --prod --dev --omit= --recursive")
        .examples(&["npm ls --depth=0", "npm explain react"], &["npm install", "npm ls --frob"]),
    local(&["npm root", "npm prefix", "npm bin", "npm get", "npm config get", "npm config list", "npm config ls", "npm pkg get"], "-gl --global --json")
        .note("credentials in the configuration are shown only masked")
        .check(|parsed| (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(|name| !name.contains("auth") && !name.contains("assword") && !name.starts_with("//"))))
        .examples(&["npm root -g", "npm config get registry", "npm pkg get scripts"], &["npm config set a b", "npm config get _authToken"]),
    local(&["pip list", "pip3 list", "pip freeze", "pip3 freeze", "pip inspect", "pip3 inspect"], "-le --local --format= --user --not-required --all --editable --exclude= --exclude-editable --path= --verbose -v")
        .note("`--outdated` asks the index")
        .examples(&["pip list", "pip freeze --local"], &["pip list --outdated", "pip install x"]),
    local(&["pip check", "pip3 check", "pip debug", "pip cache dir", "pip cache list", "pip cache info"], "-v --verbose")
        .note("`pip` shortens options by itself: `--local` would be `--local-log`, which writes")
        .examples(&["pip check", "pip cache dir"], &["pip check --local a", "pip cache purge"]),
    local(&["pip show", "pip3 show", "pip hash", "pip3 hash"], "-fva= --files --verbose --algorithm=").examples(&["pip show -f requests"], &["pip download x", "pip config list"]),
    local(&["uv pip list", "uv pip freeze", "uv pip check", "uv pip tree", "uv pip show"], "-ef --format= --exclude= --exclude-editable --editable --files --verbose -v")
        .examples(&["uv pip list", "uv pip show -f requests"], &["uv pip install x", "uv pip list --outdated"]),
    local(&["go version", "go doc"], "-muc ~-all ~-src ~-short").examples(&["go version", "go doc fmt.Println"], &["go doc -http", "go build"]),
    local(&["go env"], "~-json ~-changed")
        .note("`-w` and `-u` write; so does `NAME=value`")
        .check(|parsed| (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(|name| !name.contains('='))))
        .examples(&["go env GOPATH", "go env -json"], &["go env -w A=1", "go env -u A"]),
    local(&["rustup toolchain list", "rustup target list", "rustup component list"], "-vq --verbose --installed --toolchain= --quiet").examples(&["rustup toolchain list", "rustup target list --installed"], &["rustup update", "rustup target add x"]),
    local(&["cargo version", "npm version", "cargo locate-project"], "-v --verbose --workspace --message-format= --json")
        .check(|parsed| parsed.operands.is_empty())
        .examples(&["cargo version", "npm version"], &["npm version patch", "cargo build"]),
    local(&["gem list", "gem env", "gem which", "gem contents", "conda list", "conda env list", "conda info", "pipx list"], "-lad --local --all --details --installed --no-versions --json")
        .examples(&["gem list", "conda env list"], &["gem install x", "gem list --remote"]),
    local(&["node"], "-c --check")
        .with(Operands::Read)
        .note("only `--check`")
        .check(|parsed| parsed.has(&["-c", "--check"]) && parsed.operands.len() == 1)
        .examples(&["node --check a.js"], &["node a.js", "node -e x", "node --check -r x a.js"]),
    local(&["php"], "-l")
        .with(Operands::Read)
        .note("only `-l`")
        .check(|parsed| parsed.has(&["-l"]))
        .examples(&["php -l a.php"], &["php a.php", "php -r x"]),
    // What asks an index.
    Program::acts(
        &[
            "npm view", "npm info", "npm show", "npm search", "npm outdated", "npm audit", "npm ping", "npm whoami", "npm docs", "npm repo", "npm owner", "npm access", "npm fund", "pnpm view",
            "pnpm info", "pnpm outdated", "pnpm audit", "cargo search", "cargo info", "pip index", "pip search", "gem search", "yarn info", "yarn npm", "pip3 index", "pip download",
        ],
        &[Effect::Read, Effect::Network],
    )
    .examples(&["npm view react version", "cargo search serde"], &["npm ls"]),
    // What runs the project's code.
    Program::acts(
        &[
            "cargo build", "cargo b", "cargo check", "cargo c", "cargo clippy", "cargo test", "cargo t", "cargo run", "cargo r", "cargo bench", "cargo doc", "cargo d",
            "cargo nextest", "cargo fix", "cargo miri", "cargo package", "cargo rustc", "cargo rustdoc", "cargo tree", "cargo metadata", "cargo expand", "cargo llvm-cov", "cargo watch",
            "cargo xtask", "cargo insta", "cargo audit", "cargo deny", "cargo machete", "cargo outdated", "cargo udeps",
            "go build", "go test", "go run", "go vet", "go generate", "go list", "go tool", "npm run", "npm run-script", "npm test", "npm t", "npm start", "npm rebuild", "npm pack",
            "npm exec", "npm x", "pnpm run", "pnpm test", "pnpm ls", "pnpm list", "pnpm why", "pnpm root", "pnpm bin", "pnpm exec", "pnpm build", "pnpm start", "pnpm dev", "pnpm lint", "yarn run", "yarn test", "yarn build", "yarn start", "yarn dev",
            "yarn lint", "yarn why", "yarn list", "yarn workspaces", "yarn workspace", "uv run", "poetry run", "poetry build", "uv build", "bun test", "bun run", "bun build", "deno test", "deno run",
            "deno task", "deno check", "deno lint", "bundle exec", "dotnet build", "dotnet test", "dotnet run", "dotnet publish", "swift build", "swift test", "swift run", "conda run", "poetry show",
            "poetry check", "poetry env",
        ],
        &[Effect::Write, Effect::ExecProject],
    )
    .note("`pnpm` and `yarn` run the version of themselves that the project names")
    .examples(&["cargo test -p app", "npm run build", "go test ./...", "uv run pytest -q", "cargo clippy --all-targets -- -D warnings"], &["npm ls", "cargo fmt"]),
    Program::acts(
        &[
            "cargo add", "cargo fmt", "cargo clean", "cargo init", "cargo new", "cargo remove", "cargo rm", "cargo generate-lockfile", "cargo sort",
            "go fmt", "npm init", "npm version", "npm pkg", "npm cache", "npm config", "npm set", "npm dedupe", "npm prune", "npm link", "uv venv", "uv init", "poetry new", "poetry init",
            "deno fmt", "pip config", "pip cache", "uv cache", "rustup default", "rustup override", "go env", "go clean", "dotnet clean", "dotnet new", "pnpm init", "yarn init",
        ],
        &[Effect::Write],
    )
    .examples(&["cargo fmt --check", "npm init -y", "cargo clean", "uv venv"], &["npm config get registry"]),
    Program::acts(
        &[
            "cargo install", "cargo publish", "cargo fetch", "cargo update", "cargo vendor", "cargo login", "cargo yank", "cargo binstall", "go get", "go install", "go mod", "go work", "npm install",
            "npm i", "npm ci", "npm publish", "npm add", "npm update", "npm up", "npm uninstall", "npm remove", "npm rm", "npm create", "npm login", "npm unpublish", "npm deprecate", "npm dist-tag",
            "pnpm install", "pnpm i", "pnpm add", "pnpm update", "pnpm up", "pnpm remove", "pnpm dlx", "pnpm create", "pnpm publish", "pnpm import", "yarn add", "yarn install", "yarn remove",
            "yarn upgrade", "yarn dlx", "yarn publish", "yarn create", "pip install", "pip3 install", "pip uninstall", "pip3 uninstall", "pip wheel", "uv pip", "uv sync", "uv add", "uv remove",
            "uv lock", "uv tool", "uv python", "uv publish", "poetry install", "poetry add", "poetry remove", "poetry update", "poetry lock", "poetry publish", "rustup update", "rustup component",
            "rustup toolchain", "rustup target", "rustup run", "bun install", "bun add", "bun remove", "bun x", "deno install", "deno add", "gem install", "gem update", "gem uninstall", "gem push",
            "bundle install", "bundle update", "bundle add", "composer install", "composer update", "composer require", "composer remove", "dotnet add", "dotnet restore", "dotnet tool",
            "conda install", "conda create", "conda remove", "conda update", "pipx install", "pipx run", "pipx upgrade",
        ],
        &[Effect::Write, Effect::Network, Effect::ExecProject],
    )
    .examples(&["npm ci", "pip install -r requirements.txt", "cargo install ripgrep", "uv sync", "go mod tidy"], &["pip list", "uv pip list"]),
    Program::acts(
        &[
            "make", "gmake", "just", "task", "ninja", "cmake", "gradle", "gradlew", "mvn", "mvnw", "sbt", "ant", "rake", "tox", "nox", "pytest", "py.test", "jest", "vitest", "mocha", "ava",
            "tsc", "tsx", "ts-node", "eslint", "prettier", "biome", "stylelint", "ruff", "black", "mypy", "pyright", "pylint", "isort", "flake8", "bandit", "rspec", "rubocop", "phpunit",
            "ctest", "meson", "bazel", "buck2", "webpack", "vite", "rollup", "esbuild", "parcel", "next", "nuxt", "turbo", "nx", "lerna", "playwright", "cypress", "pre-commit", "golangci-lint",
            "staticcheck", "shellcheck", "hadolint", "terragrunt", "ansible-playbook", "xcodebuild", "swiftlint", "ktlint", "flutter", "dart", "mix", "rebar3", "stack", "cabal", "zig",
            "forge", "hardhat", "uvicorn", "gunicorn", "flask", "django-admin", "alembic", "celery", "streamlit", "jupyter", "nodemon", "pm2", "concurrently",
        ],
        &[Effect::Write, Effect::ExecProject],
    )
    .examples(&["make -j8 all", "pytest -x tests", "eslint --fix src", "make \"-j$n\""], &[]),
    Program::unknown(&["npx", "bunx", "uvx", "pnpx"], &[Effect::Write, Effect::Network, Effect::ExecUnknown]).note("fetches and runs any package").examples(&["npx tsc", "uvx ruff check"], &[]),
    Program::acts(&["rustfmt", "gofmt", "goimports", "clang-format", "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "ld", "as", "nasm", "strip", "objcopy", "swiftc", "ghc", "protoc", "cython"], &[Effect::Read, Effect::Write])
        .note("`-wrapper`, `-fplugin`, `-B` and `@file` of compilers run programs")
        .check(compiles_only)
        .examples(&["gcc -O2 -o a a.c", "rustfmt src/lib.rs", "gofmt -l ."], &["gcc -wrapper x a.c", "gcc @opts", "gcc -fplugin=x a.c", "javac -processorpath x A.java", "rustc -C linker=x a.rs"]),
    Program::acts(INTERPRETERS, &[Effect::ExecProject])
        .note("code in an argument or from the input is not known")
        .check(runs_a_file)
        .examples(&["python3 a.py --x", "python -m pytest", "node server.js", "ruby a.rb"], &["python3 -c x", "python3", "python3 -", "node -e x", "perl -pi -e s/a/b/ f", "node -r x a.js", "ruby -e x"]),
    Program::unknown(INTERPRETERS, &[Effect::ExecUnknown]).examples(&["python3 -c x", "node -e x", "perl -pi -e s/a/b/ f"], &["python3 a.py"]),
    Program::unknown(&["sqlite3", "psql", "mysql", "mariadb", "redis-cli", "mongosh", "mongo", "duckdb", "clickhouse-client", "pg_dump", "mysqldump"], &[Effect::Read, Effect::Write, Effect::Network])
        .note("statements are not looked into; some run programs")
        .examples(&["sqlite3 a.db 'SELECT 1'", "psql -c 'SELECT 1'"], &[]),
];

/// Whether a compiler is told to run nothing of the caller's.
fn compiles_only(parsed: &Parsed<'_>) -> bool {
    let runs = |text: &str| {
        text.starts_with('@')
            || [
                "-wrapper",
                "-fplugin",
                "-plugin",
                "-B",
                "-specs",
                "-fuse-ld",
                "-processor",
                "-Xplugin",
                "-A",
                "--plugin",
                "-load",
                "-Xclang",
                "-Wl,",
                "-C",
                "--codegen",
                "-J",
                "-F",
                "-pgm",
            ]
            .iter()
            .any(|start| text.starts_with(start))
    };
    !parsed.options.iter().any(|(name, _)| runs(name))
        && parsed.operands.iter().all(|word| word.literal().is_none_or(|text| !runs(text)))
}

/// Whether an interpreter is given a file rather than code.
fn runs_a_file(parsed: &Parsed<'_>) -> bool {
    let code = parsed.options.iter().any(|(name, _)| {
        let name = name.split('=').next().unwrap_or_default();
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
            "--experimental-loader",
        ]
        .iter()
        .any(|option| {
            name == *option
                || option.len() == 2 && !name.starts_with("--") && name.starts_with(option)
        })
    });
    let file = parsed.operands.first().is_some_and(|word| word.literal() != Some("-"));
    !code && (file || parsed.has(&["-m", "--test"]))
}
