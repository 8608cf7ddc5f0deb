//! `git`, subcommand by subcommand: the reading forms with the options that neither write nor execute.
//!
//! What a repository's own configuration makes of them (file system monitors, external differs, aliases) is not seen here.

use super::{Operands, Program};
use crate::Effect;
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

const fn reads(names: &'static [&'static str], options: &'static str) -> Program {
    Program::reads(names, options).with(Operands::Text).careful()
}

pub(super) const ROWS: &[Program] = &[
    reads(
        &["git status"],
        "-sbvz -u? --short --branch --porcelain? --long --verbose --untracked-files? --ignored? --show-stash --ahead-behind \
         --no-ahead-behind --renames --no-renames --column? --no-column --ignore-submodules? --find-renames?",
    ),
    reads(&["git diff"], concat!(diff_options!(), " -123 --cached --staged --merge-base --base --ours --theirs")),
    reads(&["git diff-tree", "git diff-index", "git diff-files", "git range-diff"], concat!(diff_options!(), " -rt --root --cached --no-commit-id --stdin"))
        .check(formats_are_plain),
    reads(&["git log", "git show", "git whatchanged", "git rev-list", "git stash list", "git reflog show"], concat!(diff_options!(), " ", log_options!(), " -n="))
        .check(formats_are_plain),
    reads(&["git stash show"], concat!(diff_options!(), " --include-untracked --only-untracked")),
    reads(&["git shortlog"], "-nsec -w? --numbered --summary --email --all --since= --until= --group= --no-merges --format= --author=")
        .check(formats_are_plain),
    reads(
        &["git describe"],
        "--all --tags --contains --abbrev= --always --dirty? --broken? --long --match= --exclude= --first-parent --exact-match \
         --candidates= --debug",
    ),
    reads(
        &["git rev-parse"],
        "-q --show-toplevel --git-dir --absolute-git-dir --git-common-dir --show-prefix --show-cdup --is-inside-work-tree \
         --is-inside-git-dir --is-bare-repository --is-shallow-repository --abbrev-ref? --short? --verify --quiet --symbolic \
         --symbolic-full-name --all --branches? --tags? --remotes? --show-superproject-working-tree --git-path= --revs-only \
         --no-revs --flags --no-flags --sq --not --default= --local-env-vars --show-object-format? --path-format= --resolve-git-dir=",
    ),
    reads(
        &["git ls-files"],
        "-cdmoisuktvfz -x= -X=< --cached --deleted --modified --others --ignored --stage --unmerged --killed --exclude= \
         --exclude-from=< --exclude-standard --error-unmatch --full-name --directory --no-empty-directory --eol --abbrev? \
         --recurse-submodules --deduplicate --format= --with-tree= --debug",
    ),
    reads(
        &["git ls-tree"],
        "-rdtlz --name-only --name-status --long --full-name --full-tree --abbrev? --object-only --format=",
    ),
    reads(&["git cat-file"], "-ptse --allow-unknown-type"),
    reads(
        &["git blame", "git annotate"],
        "-bltsefnpwc -L= -MC? --root --show-stats --porcelain --line-porcelain --incremental --date= --abbrev= --show-name \
         --show-number --show-email --since= --reverse --first-parent --ignore-rev= --ignore-revs-file=< --progress --no-progress",
    ),
    reads(
        &["git grep"],
        "-nivwlLcohHEFPGqIWpzar -emABC= -f=< -# --and --or --not --cached --untracked --no-exclude-standard --exclude-standard \
         --ignore-case --word-regexp --invert-match --line-number --column --files-with-matches --name-only \
         --files-without-match --count --only-matching --break --heading --show-function --function-context --max-depth= \
         --recursive --no-recursive --extended-regexp --basic-regexp --perl-regexp --fixed-strings --all-match --quiet \
         --max-count= --context= --after-context= --before-context= --threads= --color? --no-color --text --full-name \
         --recurse-submodules --null",
    ),
    reads(&["git merge-base"], "-a --all --octopus --independent --is-ancestor --fork-point"),
    reads(&["git show-ref"], "-qds --head --heads --tags --branches --dereference --hash? --verify --abbrev? --quiet"),
    reads(
        &["git for-each-ref"],
        "-s --count= --sort= --format= --points-at= --merged? --no-merged? --contains? --no-contains? --shell --ignore-case",
    )
    .check(formats_are_plain),
    reads(&["git name-rev", "git cherry"], "-v --tags --refs= --all --always --name-only --abbrev? --verbose"),
    reads(&["git count-objects"], "-vH --verbose --human-readable"),
    reads(&["git check-ignore", "git check-attr"], "-qvnza --quiet --verbose --non-matching --no-index --all --cached"),
    reads(&["git version", "git worktree list", "git submodule status", "git notes list", "git notes show"], "-vz --porcelain --cached --recursive --verbose --build-options"),
    reads(&["git branch"], concat!(listing_options!(), " -arv --all --remotes --show-current --verbose --abbrev? --no-abbrev"))
        .check(|parsed| lists(parsed) && formats_are_plain(parsed)),
    reads(&["git tag"], concat!(listing_options!(), " -n?")).check(|parsed| lists(parsed) && formats_are_plain(parsed)),
    reads(&["git remote"], "-v --verbose").check(|parsed| parsed.operands.is_empty()),
    reads(&["git remote get-url"], "--all --push"),
    reads(&["git remote show"], "-n").check(|parsed| parsed.operands.is_empty() || parsed.has(&["-n"])),
    reads(&["git reflog"], concat!(diff_options!(), " ", log_options!(), " -n=")).check(|parsed| {
        formats_are_plain(parsed) && parsed.operands.iter().all(|word| word.literal().is_some_and(|text| text.contains(['@', '/']) || text == "HEAD"))
    }),
    reads(
        &["git config"],
        "-lz --get= --get-all= --get-regexp= --list --show-origin --show-scope --global --local --system --worktree --name-only --null \
         --type= --bool --int --path --includes --no-includes --default=",
    )
    .check(config_reads),
    reads(&["git config get", "git config list"], "-lz --show-origin --show-scope --global --local --system --worktree --name-only --null --type= --all --regexp --default="),
    // Forms that write.
    Program::acts(
        &[
            "git add", "git apply", "git archive", "git am", "git bisect", "git branch", "git bundle", "git checkout", "git cherry-pick",
            "git commit-graph", "git config", "git format-patch", "git gc", "git init", "git lfs", "git maintenance", "git mv",
            "git notes", "git pack-refs", "git prune", "git reflog", "git remote", "git repack", "git replace", "git reset",
            "git restore", "git revert", "git sparse-checkout", "git stash", "git switch", "git tag", "git update-index",
            "git update-ref", "git worktree", "git symbolic-ref", "git write-tree",
        ],
        &[Effect::Write],
    ),
    Program::acts(&["git clean", "git rm"], &[Effect::Write, Effect::Delete]),
    Program::acts(&["git commit", "git merge", "git rebase", "git filter-branch"], &[Effect::Write, Effect::ExecProject]),
    Program::acts(
        &["git fetch", "git pull", "git push", "git clone", "git submodule", "git ls-remote", "git remote show", "git remote update"],
        &[Effect::Write, Effect::Network],
    ),
    Program::acts(
        &["git diff", "git log", "git show", "git grep", "git rev-list", "git stash show", "git stash list"],
        &[Effect::Read, Effect::Write, Effect::ExecUnknown],
    )
    .class(crate::Class::Unknown),
];

/// Formats that check signatures run a program.
fn formats_are_plain(parsed: &Parsed<'_>) -> bool {
    parsed.values(&["--format", "--pretty"]).all(|value| {
        value.literal().is_some_and(|text| !text.contains("%G") && !text.contains("signature"))
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
