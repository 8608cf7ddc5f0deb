//! What is known of programs for judging rules about them: which are more than a rule with a star shows.

/// How much of the program a rule must leave open to be unsafe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Open {
    /// Any rule with a star: options may stand after whatever comes before it.
    Anywhere,
    /// A rule whose star comes right after these words.
    Directly,
}

/// A program that a rule with a star should not be about.
pub(super) struct Unsafe {
    /// The words that the rule begins with.
    pub(super) words: &'static str,
    pub(super) open: Open,
    /// What it can do, as the rest of a sentence.
    pub(super) why: &'static str,
    /// What to write; words in capitals are to be filled in.
    pub(super) instead: &'static [&'static str],
}

const fn row(
    words: &'static str,
    open: Open,
    why: &'static str,
    instead: &'static [&'static str],
) -> Unsafe {
    Unsafe { words, open, why, instead }
}

const FETCH: &str =
    "writes any file (`-o`), sends any file and reaches any host, whatever stands before its star";
const CHANGES: &str = "changes whatever it is given, also files that no `Edit` rule speaks of";
const REMOTE: &str =
    "runs anything on another machine, and programs on this one (`-o ProxyCommand`)";
const SENDS: &str = "sends any file anywhere and writes any file";
const INSTALLS: &str = "installs any package, and packages run code of their own when they are";
const ACCOUNT: &str = "changes anything that its credentials reach";
const DATABASE: &str = "runs any statement, and shell commands from within";
const OTHERS: &str = "runs other programs";

/// Each with the programs' own manuals as its source.
pub(super) const UNSAFE: &[Unsafe] = &[
    row("curl", Open::Anywhere, FETCH, &["WebFetch(domain:HOST)"]),
    row("wget", Open::Anywhere, FETCH, &["WebFetch(domain:HOST)"]),
    row(
        "git",
        Open::Directly,
        "covers `git -c`, `git config` and aliases, which run programs, and `git push`",
        &["Bash(git SUBCOMMAND *)"],
    ),
    row(
        "git -c",
        Open::Anywhere,
        "sets any configuration, and much of it names programs to run",
        &["Bash(git SUBCOMMAND *)"],
    ),
    row(
        "git config",
        Open::Directly,
        "sets configuration that names programs which git runs later",
        &["Bash(git config --get NAME)"],
    ),
    row(
        "awk",
        Open::Anywhere,
        "runs commands and writes files from within its program; what only reads needs no rule",
        &[],
    ),
    row(
        "gawk",
        Open::Anywhere,
        "runs commands and writes files from within its program; what only reads needs no rule",
        &[],
    ),
    row(
        "mawk",
        Open::Anywhere,
        "runs commands and writes files from within its program; what only reads needs no rule",
        &[],
    ),
    row(
        "sed",
        Open::Anywhere,
        "edits files in place, writes files (`w`) and runs commands (`e`); what only reads needs no rule",
        &["Edit(PATH/**)"],
    ),
    row(
        "tar",
        Open::Anywhere,
        "runs programs (`--to-command`, `--checkpoint-action`) and writes wherever it is told",
        &["Bash(tar -xf FILE)"],
    ),
    row("unzip", Open::Anywhere, CHANGES, &["Bash(unzip FILE)"]),
    row("rsync", Open::Anywhere, SENDS, &["Bash(rsync -a FROM TO)"]),
    row("scp", Open::Anywhere, SENDS, &["Bash(scp FILE HOST:FILE)"]),
    row("sftp", Open::Anywhere, SENDS, &[]),
    row("nc", Open::Anywhere, SENDS, &[]),
    row("ncat", Open::Anywhere, SENDS, &[]),
    row("socat", Open::Anywhere, SENDS, &[]),
    row("ssh", Open::Anywhere, REMOTE, &["Bash(ssh HOST COMMAND)"]),
    row("tee", Open::Anywhere, CHANGES, &["Edit(PATH)"]),
    row("dd", Open::Anywhere, CHANGES, &["Bash(dd if=FROM of=TO)"]),
    row("cp", Open::Anywhere, CHANGES, &["Bash(cp FROM TO)"]),
    row("mv", Open::Anywhere, CHANGES, &["Bash(mv FROM TO)"]),
    row("ln", Open::Anywhere, CHANGES, &["Bash(ln -s TARGET NAME)"]),
    row("install", Open::Anywhere, CHANGES, &["Bash(install FROM TO)"]),
    row("truncate", Open::Anywhere, CHANGES, &["Bash(truncate -s 0 FILE)"]),
    row("rm", Open::Anywhere, "removes whatever it is given", &["Bash(rm -r DIRECTORY)"]),
    row("chmod", Open::Anywhere, CHANGES, &["Bash(chmod +x FILE)"]),
    row("chown", Open::Anywhere, CHANGES, &["Bash(chown USER FILE)"]),
    row(
        "podman",
        Open::Directly,
        "runs any image, with any directory of this machine in it",
        &["Bash(podman ps *)"],
    ),
    row(
        "podman run",
        Open::Directly,
        "runs any image, with any directory of this machine in it",
        &["Bash(podman run --rm IMAGE)"],
    ),
    row(
        "kubectl",
        Open::Directly,
        "covers `kubectl exec`, `apply` and `delete`",
        &["Bash(kubectl get *)"],
    ),
    row(
        "kubectl exec",
        Open::Directly,
        "runs anything in any container",
        &["Bash(kubectl exec POD -- COMMAND)"],
    ),
    row(
        "gh",
        Open::Directly,
        "covers `gh api`, aliases and extensions, which do anything that its token may",
        &["Bash(gh pr view *)"],
    ),
    row(
        "gh api",
        Open::Anywhere,
        "changes anything that its token may (`-X`, `-f`), whatever stands before its star",
        &["Bash(gh pr view *)"],
    ),
    row("aws", Open::Directly, ACCOUNT, &["Bash(aws SERVICE list-NAME *)"]),
    row("gcloud", Open::Directly, ACCOUNT, &["Bash(gcloud GROUP list *)"]),
    row("az", Open::Directly, ACCOUNT, &["Bash(az GROUP list *)"]),
    row("terraform", Open::Directly, ACCOUNT, &["Bash(terraform plan *)"]),
    row("helm", Open::Directly, ACCOUNT, &["Bash(helm list *)"]),
    row("npm install", Open::Directly, INSTALLS, &["Bash(npm install)", "Bash(npm ci)"]),
    row("npm i", Open::Directly, INSTALLS, &["Bash(npm install)", "Bash(npm ci)"]),
    row("pnpm add", Open::Directly, INSTALLS, &["Bash(pnpm install)"]),
    row("pip", Open::Directly, INSTALLS, &["Bash(pip install -r FILE)"]),
    row("pip install", Open::Directly, INSTALLS, &["Bash(pip install -r FILE)"]),
    row("pip3", Open::Directly, INSTALLS, &["Bash(pip3 install -r FILE)"]),
    row("pip3 install", Open::Directly, INSTALLS, &["Bash(pip3 install -r FILE)"]),
    row("cargo install", Open::Directly, INSTALLS, &["Bash(cargo install PACKAGE)"]),
    row("gem install", Open::Directly, INSTALLS, &["Bash(gem install PACKAGE)"]),
    row("brew", Open::Directly, INSTALLS, &["Bash(brew install PACKAGE)"]),
    row("brew install", Open::Directly, INSTALLS, &["Bash(brew install PACKAGE)"]),
    row("apt", Open::Directly, INSTALLS, &["Bash(apt install PACKAGE)"]),
    row("apt-get", Open::Directly, INSTALLS, &["Bash(apt-get install PACKAGE)"]),
    row("psql", Open::Anywhere, DATABASE, &[]),
    row("mysql", Open::Anywhere, DATABASE, &[]),
    row("sqlite3", Open::Anywhere, DATABASE, &[]),
    row("vim", Open::Anywhere, OTHERS, &[]),
    row("vi", Open::Anywhere, OTHERS, &[]),
    row("emacs", Open::Anywhere, OTHERS, &[]),
    row("gdb", Open::Anywhere, OTHERS, &[]),
    row("strace", Open::Anywhere, OTHERS, &[]),
    row("script", Open::Anywhere, OTHERS, &[]),
    row("expect", Open::Anywhere, OTHERS, &[]),
    row("tmux", Open::Anywhere, OTHERS, &[]),
    row("screen", Open::Anywhere, OTHERS, &[]),
    row("crontab", Open::Anywhere, OTHERS, &[]),
    row("systemctl", Open::Directly, OTHERS, &["Bash(systemctl status *)"]),
];

/// Whether a rule of these words and a star would allow more than it shows.
pub(crate) fn is_unsafe(words: &str) -> bool {
    UNSAFE.iter().any(|row| match row.open {
        Open::Directly => words == row.words,
        Open::Anywhere => words
            .strip_prefix(row.words)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
    })
}

/// Whether what runs is named by the word that follows these.
pub(crate) fn runs_what_follows(words: &str) -> bool {
    PROJECT.iter().chain(RUNNERS).any(|(runner, _)| *runner == words)
}

/// What runs code of the project, with what to write in place of a rule for all of it.
pub(super) const PROJECT: &[(&str, &str)] = &[
    ("npm run", "Bash(npm run SCRIPT *)"),
    ("pnpm run", "Bash(pnpm run SCRIPT *)"),
    ("bun run", "Bash(bun run SCRIPT *)"),
    ("yarn", "Bash(yarn run SCRIPT *)"),
    ("cargo", "Bash(cargo test *)"),
    ("go", "Bash(go test *)"),
    ("deno run", "Bash(deno run FILE)"),
    ("make", "Bash(make TARGET)"),
    ("just", "Bash(just RECIPE)"),
];

/// What fetches and runs a package, or runs any program, with what to write in place of a rule for all of it.
pub(super) const RUNNERS: &[(&str, &str)] = &[
    ("npx", "Bash(npx PACKAGE *)"),
    ("npm exec", "Bash(npm exec PACKAGE)"),
    ("npm", "Bash(npm run SCRIPT *)"),
    ("pnpm", "Bash(pnpm run SCRIPT *)"),
    ("bunx", "Bash(bunx PACKAGE)"),
    ("bun", "Bash(bun test *)"),
    ("uvx", "Bash(uvx PACKAGE)"),
    ("uv run", "Bash(uv run PROGRAM *)"),
    ("uv", "Bash(uv sync *)"),
    ("poetry", "Bash(poetry run PROGRAM *)"),
    ("pipx", "Bash(pipx run PACKAGE)"),
    ("bundle", "Bash(bundle exec PROGRAM *)"),
    ("docker", "Bash(docker build *)"),
    ("mise", "Bash(mise exec -- PROGRAM *)"),
    ("direnv", "Bash(direnv exec . PROGRAM *)"),
    ("devbox", "Bash(devbox run SCRIPT)"),
    ("python", "Bash(python SCRIPT.py *)"),
    ("python3", "Bash(python3 SCRIPT.py *)"),
    ("node", "Bash(node SCRIPT.js *)"),
    ("deno", "Bash(deno test *)"),
    ("ruby", "Bash(ruby SCRIPT.rb *)"),
    ("perl", "Bash(perl SCRIPT.pl *)"),
    ("php", "Bash(php SCRIPT.php *)"),
    ("bash", "Bash(bash SCRIPT.sh)"),
    ("sh", "Bash(sh SCRIPT.sh)"),
    ("zsh", "Bash(zsh SCRIPT.sh)"),
];

/// Programs that only run another one: rules are about what is inside.
pub(super) const WRAPPERS: &[&str] = &[
    "timeout", "time", "nice", "ionice", "nohup", "stdbuf", "setsid", "watch", "flock", "env",
    "xargs", "sudo", "doas", "command", "builtin",
];

/// Wrappers that do not change what is run: it is judged as if they were not there.
pub(super) const TRANSPARENT: &[&str] =
    &["timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin"];
