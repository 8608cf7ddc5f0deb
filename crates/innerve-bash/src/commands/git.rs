//! `git`, subcommand by subcommand: the reading forms with the options that neither write nor execute.
//!
//! What a repository's own configuration makes of them (file system monitors, external differs, aliases) is not seen here.

use super::{Operands, Program};
use crate::Effect;
use crate::directory::shown;
use crate::judge::Parsed;

macro_rules! diff_options {
    () => {
        "-pusDabwWRzm -UlSG= -MCB? --patch --no-patch --unified= --raw --patch-with-raw --minimal --patience --histogram \
         --diff-algorithm= --stat? --numstat --shortstat --dirstat? --summary --name-only --name-status --submodule? --color? \
         --no-color --color-moved? --no-color-moved --word-diff? --word-diff-regex= --color-words? --no-renames --check --full-index --binary --abbrev? \
         --find-renames? --find-copies? --find-copies-harder --diff-filter= --pickaxe-all --pickaxe-regex --no-ext-diff \
         --no-textconv --text --ignore-cr-at-eol --ignore-space-at-eol --ignore-space-change --ignore-all-space \
         --ignore-blank-lines --ignore-matching-lines= --function-context --exit-code --quiet --src-prefix= --dst-prefix= \
         --no-prefix --line-prefix= --relative? --no-relative --inter-hunk-context= --compact-summary --cumulative --stat-width= --stat-name-width= \
         --stat-count= --irreversible-delete --ignore-submodules? --skip-to= --rotate-to="
    };
}

macro_rules! log_options {
    () => {
        "-ignEFPtc -L= -# --oneline --graph --all --branches? --tags? --remotes? --decorate? --no-decorate --decorate-refs= --follow \
         --max-count= --skip= --since= --after= --until= --before= --author= --committer= --grep= --all-match --invert-grep \
         --regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --merges --no-merges --first-parent --reverse --date= --date-order \
         --topo-order --author-date-order --pretty? --format= --abbrev-commit --no-abbrev-commit --source --full-history \
         --simplify-merges --ancestry-path? --left-right --left-only --right-only --cherry-pick --cherry-mark --cherry --not --glob= --exclude= --parents \
         --children --boundary --walk-reflogs --relative-date --no-notes --notes? --encoding= --cc --log-size --no-walk? \
         --simplify-by-decoration --dense --sparse --min-parents= --max-parents= --clear-decorations --mailmap --use-mailmap \
         --no-mailmap --count --objects --timestamp --no-commit-header --diff-merges= --no-diff-merges --dd --root --remerge-diff"
    };
}

macro_rules! listing_options {
    () => {
        "-il --list --contains? --no-contains? --merged? --no-merged? --sort= --format= --points-at= --column? --no-column --color? \
         --no-color --ignore-case --omit-empty"
    };
}

/// Reads what the repository holds.
const fn reads(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options).with(Operands::Text).careful()
}

pub(super) const ROWS: &[Program] = &[
    reads(
        &["git status"],
        "-sbvz -u? --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --show-stash --ahead-behind \
         --no-ahead-behind --renames --no-renames --column? --no-column --ignore-submodules? --find-renames?",
    )
    .examples(&["git status", "git status -sb", "git status --porcelain=v1 -uno src"], &["git status $x", "git status --frob", "git -c core.fsmonitor=x status"]),
    reads(&["git diff"], concat!(diff_options!(), " -123 --cached --staged --merge-base --base --ours --theirs --no-index"))
        .note("`--output` writes, `--ext-diff` and `--textconv` run programs")
        .examples(
            &["git diff", "git diff HEAD~1 -- src", "git diff --stat main...HEAD", "git diff --cached -U5 --name-only", "git diff -- \"$f\""],
            &["git diff --output=x", "git diff --output x", "git diff --ext-diff", "git diff --textconv", "git diff $x", "git diff \"$x\""],
        ),
    reads(&["git diff-tree", "git diff-index", "git diff-files", "git range-diff"], concat!(diff_options!(), " -rt --root --cached --no-commit-id --stdin"))
        .check(formats_are_plain)
        .examples(&["git diff-tree --no-commit-id --name-only -r HEAD", "git diff-index --quiet HEAD"], &["git diff-tree --output=x HEAD"]),
    reads(&["git log", "git show", "git whatchanged", "git rev-list", "git stash list", "git reflog show"], concat!(diff_options!(), " ", log_options!(), " -n="))
        .note("`--output` writes; `--ext-diff`, `--textconv`, `--show-signature` and formats with signatures run programs")
        .check(formats_are_plain)
        .examples(
            &["git log --oneline -20", "git log -p --follow -- src/lib.rs", "git show HEAD:src/lib.rs", "git log --format='%h %s' --since=yesterday", "git log -S foo --all", "git rev-list --count HEAD", "git stash list"],
            &["git log --output=x", "git log --format=%G?", "git log --format='%h %+GK'", "git log --pretty='format:%-G?'", "git log --pretty='% GS'", "git log --show-signature", "git show --ext-diff", "git log \"$x\"", "git log --pretty=\"$x\""],
        ),
    reads(&["git stash show"], concat!(diff_options!(), " --include-untracked --only-untracked")).examples(&["git stash show -p"], &["git stash show --output=x"]),
    reads(&["git shortlog"], "-nsec -w? -# --numbered --summary --email --committer --all --since= --until= --group= --no-merges --format= --author=")
        .check(formats_are_plain)
        .examples(&["git shortlog -sn HEAD"], &["git shortlog --format=%GK"]),
    reads(
        &["git describe"],
        "--all --tags --contains --abbrev= --always --dirty? --broken? --long --match= --exclude= --first-parent --exact-match \
         --candidates= --debug",
    )
    .examples(&["git describe --tags --always --dirty"], &["git describe --frob"]),
    reads(
        &["git rev-parse"],
        "-q --show-toplevel --git-dir --absolute-git-dir --git-common-dir --show-prefix --show-cdup --is-inside-work-tree \
         --is-inside-git-dir --is-bare-repository --is-shallow-repository --abbrev-ref? --short? --verify --quiet --symbolic \
         --symbolic-full-name --all --branches? --tags? --remotes? --show-superproject-working-tree --git-path= --revs-only \
         --no-revs --flags --no-flags --sq --not --default= --local-env-vars --show-object-format? --path-format= --resolve-git-dir= --end-of-options",
    )
    .examples(&["git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git rev-parse --show-toplevel"], &["git rev-parse --parseopt", "git rev-parse $x"]),
    reads(
        &["git ls-files"],
        "-cdmoisuktvfz -x= -X=< --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude= \
         --exclude-from=< --exclude-standard --error-unmatch --full-name --directory --no-empty-directory --eol --abbrev? \
         --recurse-submodules --deduplicate --format= --with-tree= --debug",
    )
    .examples(&["git ls-files '*.rs'", "git ls-files -o --exclude-standard"], &["git ls-files --frob"]),
    reads(
        &["git ls-tree"],
        "-rdtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format=",
    )
    .examples(&["git ls-tree -r --name-only HEAD"], &["git ls-tree --frob HEAD"]),
    reads(&["git cat-file"], "-ptse --allow-unknown-type --batch? --batch-check? --batch-all-objects --buffer --unordered --follow-symlinks")
        .note("`--textconv` and `--filters` run programs")
        .examples(&["git cat-file -p HEAD", "git cat-file --batch-check"], &["git cat-file --textconv HEAD:a", "git cat-file --filters HEAD:a"]),
    reads(
        &["git blame", "git annotate"],
        "-bltsefnpwc -L= -MC? --root --show-stats --porcelain --line-porcelain --incremental --date= --abbrev= --show-name \
         --show-number --show-email --since= --reverse --first-parent --ignore-rev= --ignore-revs-file=< --progress --no-progress --color-lines",
    )
    .examples(&["git blame -L 10,20 src/lib.rs"], &["git blame --contents x a"]),
    reads(
        &["git grep"],
        "-nivwlLcohHEFPGqIWpzar -emABC= -f=< -# --and --or --not --cached --untracked --no-exclude-standard --exclude-standard \
         --ignore-case --word-regexp --invert-match --line-number --column --files-with-matches --name-only \
         --files-without-match --count --only-matching --break --heading --show-function --function-context --max-depth= \
         --recursive --no-recursive --extended-regexp --basic-regexp --perl-regexp --fixed-strings --all-match --quiet \
         --max-count= --context= --after-context= --before-context= --threads= --color? --no-color --text --full-name \
         --recurse-submodules --null",
    )
    .note("`-O` runs a pager, `--ext-grep` and `--textconv` run programs")
    .examples(&["git grep -n foo -- src", "git grep -l -e a --and -e b"], &["git grep -Oless x", "git grep --open-files-in-pager=x y", "git grep --textconv x", "git grep \"$x\""]),
    reads(&["git merge-base"], "-a --all --octopus --independent --is-ancestor --fork-point").examples(&["git merge-base main HEAD"], &["git merge-base --frob a b"]),
    reads(&["git show-ref"], "-qds --head --heads --tags --branches --dereference --hash? --verify --abbrev? --quiet")
        .examples(&["git show-ref --verify --quiet refs/heads/main"], &["git show-ref --frob"]),
    reads(&["git show-branch"], "-arg --all --remotes --current --list --merge-base --independent --topics --no-name --sha1-name --color? --no-color --more=")
        .examples(&["git show-branch --all"], &["git show-branch --frob"]),
    reads(
        &["git for-each-ref"],
        "-s --count= --sort= --format= --points-at= --merged? --no-merged? --contains? --no-contains? --shell --ignore-case",
    )
    .note("formats and keys with signatures run programs")
    .check(formats_are_plain)
    .examples(&["git for-each-ref --format='%(refname:short)' refs/heads"], &["git for-each-ref --format='%(signature)'", "git for-each-ref --sort=signature:key"]),
    reads(&["git name-rev", "git cherry"], "-v --tags --refs= --all --always --name-only --abbrev? --verbose").examples(&["git cherry -v main"], &["git name-rev --frob x"]),
    reads(&["git count-objects"], "-vH --verbose --human-readable").examples(&["git count-objects -vH"], &["git count-objects --frob"]),
    reads(&["git fsck"], "-v --full --no-full --strict --unreachable --dangling --no-dangling --no-reflogs --connectivity-only --root --tags --cache --name-objects --verbose --progress --no-progress")
        .note("`--lost-found` writes")
        .examples(&["git fsck --full --no-dangling"], &["git fsck --lost-found"]),
    reads(&["git check-ignore", "git check-attr", "git check-ref-format", "git check-mailmap"], "-qvnza --quiet --verbose --non-matching --no-index --all --cached --stdin --branch --normalize")
        .examples(&["git check-ignore -v target"], &["git check-attr --frob a"]),
    reads(&["git hash-object"], "-t= --stdin --no-filters --path= !-w").note("`-w` writes").examples(&["git hash-object a"], &["git hash-object -w a"]),
    reads(&["git verify-pack"], "-vs --verbose --stat-only").examples(&["git verify-pack -v a.idx"], &["git verify-pack --frob a"]),
    reads(&["git version", "git worktree list", "git submodule status", "git notes list", "git notes show", "git bisect log", "git lfs ls-files", "git lfs status", "git lfs env"], "-vz --porcelain --cached --recursive --verbose --build-options")
        .examples(&["git worktree list", "git submodule status", "git version"], &["git worktree add ../x", "git notes add -m x", "git bisect start"]),
    reads(&["git branch"], concat!(listing_options!(), " -arv --all --remotes --show-current --verbose --abbrev? --no-abbrev"))
        .note("an operand that is no pattern to list makes a branch")
        .check(|parsed| lists(parsed) && formats_are_plain(parsed))
        .examples(&["git branch", "git branch -avv", "git branch --show-current", "git branch --contains HEAD", "git branch --list 'x*'"], &["git branch new", "git branch -D old", "git branch --del --forc x", "git branch -m a b", "git branch --edit-description"]),
    reads(&["git tag"], concat!(listing_options!(), " -n?"))
        .note("an operand that is no pattern to list makes a tag")
        .check(|parsed| lists(parsed) && formats_are_plain(parsed))
        .examples(&["git tag", "git tag -l 'v1.*'", "git tag --points-at HEAD", "git tag -n3"], &["git tag v1", "git tag -d v1", "git tag -v v1", "git tag -l --format='%(signature)'"]),
    reads(&["git remote"], "-v --verbose").check(|parsed| parsed.operands.is_empty()).examples(&["git remote -v"], &["git remote add a b", "git remote -v update"]),
    reads(&["git remote get-url"], "--all --push").examples(&["git remote get-url origin"], &["git remote set-url origin x"]),
    reads(&["git remote show"], "-n").check(|parsed| parsed.operands.is_empty() || parsed.has(&["-n"])).examples(&["git remote show -n origin"], &["git remote show origin"]),
    reads(&["git reflog"], concat!(diff_options!(), " ", log_options!(), " -n="))
        .check(|parsed| {
            formats_are_plain(parsed) && parsed.operands.iter().all(|word| word.literal().is_some_and(|text| text.contains(['@', '/']) || text == "HEAD"))
        })
        .examples(&["git reflog", "git reflog -10", "git reflog HEAD@{1}"], &["git reflog expire --all", "git reflog delete HEAD@{0}"]),
    reads(&["git symbolic-ref"], "-q --short --quiet --recurse --no-recurse").check(|parsed| parsed.operands.len() == 1 && parsed.literal(0).is_some()).examples(&["git symbolic-ref --short HEAD"], &["git symbolic-ref refs/*", "git symbolic-ref HEAD refs/heads/x", "git symbolic-ref -d X"]),
    reads(&["git clean"], "-ndxXq -e= --dry-run --quiet --exclude=")
        .note("only with `-n`")
        .check(|parsed| parsed.has(&["-n", "--dry-run"]))
        .examples(&["git clean -nd", "git clean --dry-run"], &["git clean -fd", "git clean -nf", "git clean"]),
    reads(&["git apply"], "-v -pC= --check --stat --numstat --summary --verbose --cached --index --reverse --recount --directory= --exclude= --include= -R")
        .note("only with `--check`, `--stat`, `--numstat` or `--summary`")
        .check(|parsed| parsed.has(&["--check", "--stat", "--numstat", "--summary"]))
        .examples(&["git apply --check a.patch"], &["git apply a.patch", "git apply --stat --apply a.patch"]),
    reads(
        &["git config"],
        "-lz --get= --get-all= --get-regexp= --list --show-origin --show-scope --global --local --system --worktree --name-only --null \
         --type= --bool --int --path --includes --no-includes --default=",
    )
    .note("a second operand is written")
    .check(config_reads)
    .examples(&["git config --get user.name", "git config user.email", "git config -l", "git config --get-regexp '^alias'"], &["git config user.name me", "git config --unset a.b", "git config -e", "git config --add a.b c"]),
    reads(&["git config get", "git config list"], "-lz --show-origin --show-scope --global --local --system --worktree --name-only --null --type= --all --regexp --default=")
        .examples(&["git config get user.name", "git config list"], &["git config set a.b c"]),
    // Forms that write.
    Program::acts(
        &[
            "git add", "git apply", "git archive", "git bisect", "git branch", "git bundle", "git commit-graph", "git config", "git format-patch",
            "git hash-object", "git fsck", "git init", "git lfs", "git maintenance", "git mv", "git notes", "git pack-refs", "git reflog", "git remote", "git repack",
            "git replace", "git reset", "git restore", "git sparse-checkout", "git stash", "git tag", "git update-index", "git update-ref", "git symbolic-ref",
            "git write-tree", "git commit-tree", "git read-tree", "git checkout-index", "git rerere",
        ],
        &[Effect::Write],
    )
    .examples(&["git add -A", "git stash", "git branch -D x", "git reset --hard", "git tag v1", "git config a.b c"], &["git branch", "git stash list", "git config -l"]),
    Program::acts(&["git clean", "git rm", "git gc", "git prune"], &[Effect::Write, Effect::Delete]).examples(&["git clean -fdx", "git rm a"], &["git clean -n"]),
    Program::acts(
        &["git commit", "git merge", "git rebase", "git checkout", "git switch", "git cherry-pick", "git revert", "git am", "git worktree", "git filter-branch"],
        &[Effect::Write, Effect::ExecProject],
    )
    .note("run the repository's hooks")
    .examples(&["git commit -m x", "git checkout -b x", "git rebase main", "git worktree add ../x"], &["git worktree list"]),
    Program::unknown(
        &["git ls-remote", "git fetch", "git clone", "git pull", "git push", "git archive", "git fetch-pack", "git send-pack"],
        &[Effect::Read, Effect::Write, Effect::Network, Effect::ExecUnknown],
    )
    .note("options and addresses that name a program")
    .check(names_program)
    .examples(
        &["git ls-remote --upload-pack=./x .", "git push --exec ./x .", "git fetch 'ext::sh -c ls'", "git fetch --upl ./x .", "git clone -c core.fsmonitor=x . a"],
        &["git ls-remote origin", "git fetch --all", "git push -u origin main", "git clone --depth 1 https://example.com/x.git"],
    ),
    Program::unknown(&["git clone"], &[Effect::Read, Effect::Write, Effect::Network, Effect::ExecUnknown])
        .check(|parsed| parsed.options.iter().any(|(name, _)| name.starts_with("-u")))
        .examples(&["git clone -u ./x . a"], &["git clone -b main https://example.com/x.git"]),
    Program::unknown(&["git bisect run", "git submodule foreach"], &[Effect::Write, Effect::ExecUnknown])
        .note("run the command in their words")
        .examples(&["git bisect run make test", "git submodule foreach 'git pull'"], &["git bisect start"]),
    Program::acts(&["git ls-remote", "git remote show"], &[Effect::Read, Effect::Network]).examples(&["git ls-remote origin", "git remote show origin"], &["git remote show -n origin"]),
    Program::acts(
        &["git fetch", "git clone", "git submodule", "git remote update"],
        &[Effect::Write, Effect::Network],
    )
    .examples(&["git fetch --all", "git clone https://example.com/x.git", "git submodule update --init"], &["git submodule status"]),
    Program::acts(&["git pull", "git push"], &[Effect::Write, Effect::Network, Effect::ExecProject])
        .note("run the repository's hooks")
        .examples(&["git push --force", "git pull --rebase"], &[]),
    Program::unknown(
        &["git diff", "git log", "git show", "git grep", "git rev-list", "git whatchanged", "git stash show", "git diff-tree", "git diff-index"],
        &[Effect::Read, Effect::Write, Effect::ExecUnknown],
    )
    .note("options that write or run programs")
    .examples(&["git diff --output=x", "git log --ext-diff"], &["git diff"]),
    Program::unknown(
        &["git verify-commit", "git verify-tag", "git difftool", "git mergetool", "git daemon", "git instaweb", "git send-email", "git hook", "git help", "git web--browse", "git credential", "git gui", "git filter-repo"],
        &[Effect::Read, Effect::ExecUnknown],
    )
    .note("run programs that the configuration names")
    .examples(&["git verify-commit HEAD", "git difftool"], &[]),
];

/// Whether an option gives the program to run at the other end, or configuration; or an address does (`ext::…`). Long
/// options may be shortened.
fn names_program(parsed: &Parsed<'_>) -> bool {
    let runs = |name: &str| {
        let name = name.split('=').next().unwrap_or_default();
        ["--upload-pack", "--receive-pack", "--exec", "--config", "--template"]
            .iter()
            .any(|option| name.len() > 2 && option.starts_with(name))
            || name.starts_with("-c")
    };
    parsed.options.iter().any(|(name, _)| runs(name))
        || parsed.operands.iter().any(|word| shown(word).contains("::"))
}

/// Formats that check signatures run a program.
fn formats_are_plain(parsed: &Parsed<'_>) -> bool {
    parsed.values(&["--format", "--pretty", "--sort"]).all(|value| {
        value.literal().is_some_and(|text| !checks_signatures(text) && !text.contains("signature"))
    })
}

/// Whether a format holds `%G?` and the like, with or without what adds or drops a blank before it (git, "pretty-formats").
fn checks_signatures(format: &str) -> bool {
    format.split('%').skip(1).any(|placeholder| {
        placeholder.strip_prefix(['+', '-', ' ']).unwrap_or(placeholder).starts_with('G')
    })
}

/// `git branch` and `git tag` list without operands, or when an option says so.
fn lists(parsed: &Parsed<'_>) -> bool {
    parsed.operands.is_empty()
        || parsed.has(&[
            "-l",
            "--list",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ])
}

fn config_reads(parsed: &Parsed<'_>) -> bool {
    if parsed.has(&["--get", "--get-all", "--get-regexp"]) {
        return parsed.operands.len() <= 1;
    }
    if parsed.has(&["-l", "--list"]) {
        return parsed.operands.is_empty();
    }
    // One name alone is read; a second operand would be written.
    parsed.operands.len() == 1 && parsed.literal(0).is_some_and(|name| name.contains('.'))
}
