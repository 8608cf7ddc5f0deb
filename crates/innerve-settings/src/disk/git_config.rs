//! The programs that a repository's own configuration makes git run, even for commands that only read.
//!
//! The keys are those of git's configuration documentation (git-config). What is not known to be harmless is reported:
//! a question too many is better than a program that nobody asked about.

mod syntax;

use std::fs;
use std::path::{Path, PathBuf};

use super::repository;
use syntax::{Entry, entries};

/// The largest configuration that is read, in bytes.
const MAX_SIZE: u64 = 1024 * 1024;

/// So many files may include one another.
const MAX_FILES: usize = 16;

/// Sections in which no key names a program.
const HARMLESS_SECTIONS: &[&str] = &[
    "advice",
    "add",
    "am",
    "apply",
    "author",
    "blame",
    "branch",
    "checkout",
    "clean",
    "clone",
    "color",
    "column",
    "committer",
    "extensions",
    "feature",
    "fetch",
    "fsck",
    "gc",
    "grep",
    "i18n",
    "index",
    "init",
    "log",
    "mailmap",
    "maintenance",
    "notes",
    "pack",
    "pretty",
    "pull",
    "push",
    "rebase",
    "receive",
    "rerere",
    "safe",
    "showbranch",
    "splitindex",
    "stash",
    "status",
    "tag",
    "transfer",
    "user",
    "versionsort",
    "worktree",
];

/// Single keys that name no program, in sections that have others which do.
const HARMLESS_KEYS: &[&str] = &[
    "core.abbrev",
    "core.attributesfile",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.commentstring",
    "core.commitgraph",
    "core.compression",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.hidedotfiles",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.multipackindex",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.protecthfs",
    "core.protectntfs",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.warnambiguousrefs",
    "core.whitespace",
    "core.worktree",
    "commit.cleanup",
    "commit.gpgsign",
    "commit.status",
    "commit.template",
    "commit.verbose",
    "credential.username",
    "credential.usehttppath",
    "diff.algorithm",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.dstprefix",
    "diff.ignoresubmodules",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.orderfile",
    "diff.relative",
    "diff.renamelimit",
    "diff.renames",
    "diff.srcprefix",
    "diff.statgraphwidth",
    "diff.submodule",
    "diff.tool",
    "diff.wordregex",
    "diff.wserrorhighlight",
    "diff.*.algorithm",
    "diff.*.binary",
    "diff.*.cachetextconv",
    "diff.*.funcname",
    "diff.*.wordregex",
    "diff.*.xfuncname",
    "filter.*.required",
    "format.pretty",
    "gpg.format",
    "lfs.*.access",
    "lfs.*.locksverify",
    "lfs.allowincompletepush",
    "lfs.concurrenttransfers",
    "lfs.repositoryformatversion",
    "lfs.url",
    "merge.conflictstyle",
    "merge.defaulttoupstream",
    "merge.directoryrenames",
    "merge.ff",
    "merge.log",
    "merge.renamelimit",
    "merge.renames",
    "merge.stat",
    "merge.tool",
    "remote.*.fetch",
    "remote.*.gh-resolved",
    "remote.*.mirror",
    "remote.*.partialclonefilter",
    "remote.*.promisor",
    "remote.*.prune",
    "remote.*.prunetags",
    "remote.*.push",
    "remote.*.skipdefaultupdate",
    "remote.*.skipfetchall",
    "remote.*.tagopt",
    "remote.pushdefault",
    "submodule.*.active",
    "submodule.*.branch",
    "submodule.*.fetchrecursesubmodules",
    "submodule.*.ignore",
    "submodule.*.path",
    "submodule.active",
    "submodule.fetchjobs",
    "submodule.recurse",
];

/// The programs that git runs for Large File Storage, in the words that `git lfs install` writes.
const LFS: &[&str] = &[
    "git-lfs clean -- %f",
    "git-lfs smudge -- %f",
    "git-lfs smudge --skip -- %f",
    "git-lfs filter-process",
    "git-lfs filter-process --skip",
];

/// What git would run from `directory` on for a read; empty if nothing, or outside of a repository.
pub(super) fn programs(directory: &Path) -> Vec<String> {
    let repository = match repository::find(directory) {
        Ok(Some(repository)) => repository,
        Ok(None) => return Vec::new(),
        Err(doubt) => return vec![doubt],
    };
    let mut found = Vec::new();
    let mut files = vec![repository.common.join("config"), repository.git.join("config.worktree")];
    let mut read = 0;
    while let Some(file) = files.pop() {
        read += 1;
        if read > MAX_FILES {
            found.push("too many included files".to_owned());
            break;
        }
        match text(&file) {
            Ok(Some(text)) => examine(&text, &file, &mut files, &mut found),
            Ok(None) => {}
            Err(doubt) => found.push(doubt),
        }
    }
    // Refreshing the index, as `git status` does, runs this hook.
    if repository.common.join("hooks/post-index-change").exists() {
        found.push("hooks/post-index-change".to_owned());
    }
    found.sort();
    found.dedup();
    found
}

fn text(file: &Path) -> Result<Option<String>, String> {
    let doubt = || format!("an unreadable `{}`", file.display());
    let metadata = match fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if crate::load::is_absent(&error) => return Ok(None),
        Err(_) => return Err(doubt()),
    };
    if !metadata.is_file() || metadata.len() > MAX_SIZE {
        return Err(doubt());
    }
    fs::read_to_string(file).map(Some).map_err(|_| doubt())
}

/// Adds what one file names, and the files that it includes, whatever their condition.
fn examine(text: &str, file: &Path, files: &mut Vec<PathBuf>, found: &mut Vec<String>) {
    let Some(entries) = entries(text) else {
        found.push(format!("an odd `{}`", file.display()));
        return;
    };
    for entry in entries {
        if matches!(entry.section.as_str(), "include" | "includeif") && entry.name == "path" {
            match included(&entry.value, file) {
                Some(path) => files.push(path),
                None => found.push(format!("{}.path = {}", entry.section, entry.value)),
            }
        } else if !is_harmless(&entry) {
            found.push(format!("{} = {}", entry.key(), entry.value));
        }
    }
}

fn included(value: &str, file: &Path) -> Option<PathBuf> {
    // A home is not known here.
    (!value.starts_with('~') && !value.starts_with('%') && !value.is_empty())
        .then(|| file.parent().unwrap_or(Path::new("/")).join(value))
}

fn is_harmless(entry: &Entry) -> bool {
    let value = entry.value.as_str();
    let lower = value.to_ascii_lowercase();
    let is_flag = matches!(
        lower.as_str(),
        "" | "true" | "false" | "yes" | "no" | "on" | "off" | "always" | "never" | "auto"
    ) || lower.trim_end_matches(['k', 'm', 'g']).parse::<i64>().is_ok();
    let pattern = entry.pattern();
    match pattern.as_str() {
        // A remote can be a program: `ext::sh -c …`.
        "remote.*.url" | "remote.*.pushurl" | "submodule.*.url" => {
            !value.contains("::") && !value.starts_with('-')
        }
        "submodule.*.update" => !value.starts_with('!'),
        "filter.*.clean" | "filter.*.smudge" | "filter.*.process" => LFS.contains(&value),
        _ if entry.section == "alias" => !value.starts_with('!'),
        // Signatures are verified by a program that the configuration may choose; a flag may turn that on.
        "log.showsignature" => matches!(lower.as_str(), "false" | "no" | "off"),
        _ => {
            HARMLESS_KEYS.contains(&pattern.as_str())
                || HARMLESS_SECTIONS.contains(&entry.section.as_str())
                || is_flag
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let (mut files, mut found) = (Vec::new(), Vec::new());
        examine(text, Path::new("/r/.git/config"), &mut files, &mut found);
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn everyday_configurations_name_nothing() {
        check(
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
             [remote \"origin\"]\n\turl = git@github.com:o/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
             [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n\
             [user]\n\tname = A B\n\temail = a@b\n\
             [filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge = git-lfs smudge -- %f\n\tprocess = git-lfs filter-process\n\trequired = true\n\
             [submodule \"x\"]\n\tactive = true\n\turl = https://x/y\n\
             [core]\n\tfsmonitor = true\n[pager]\n\tlog = false\n[alias]\n\tst = status\n",
            &[],
        );
    }

    #[test]
    fn every_way_to_name_a_program_is_reported() {
        check("[core]\n fsmonitor = ./evil.sh\n", &["core.fsmonitor = ./evil.sh"]);
        check("[CORE]FsMonitor=evil", &["core.fsmonitor = evil"]);
        check("[core] pager = sh -c x", &["core.pager = sh -c x"]);
        check("[core]\nhooksPath = h", &["core.hookspath = h"]);
        check("[diff]\n external = ./evil.sh\n", &["diff.external = ./evil.sh"]);
        check(
            "[diff \"x\"]\n textconv = ./evil.sh\n command = y",
            &["diff.x.textconv = ./evil.sh", "diff.x.command = y"],
        );
        check("[diff.x]\n textconv = e", &["diff.x.textconv = e"]);
        check("[filter \"x\"]\n clean = e\n", &["filter.x.clean = e"]);
        check("[filter \"lfs\"]\n clean = git-lfs clean -- %f; e\n", &[]);
        check(
            "[filter \"lfs\"]\n clean = \"git-lfs clean -- %f; e\"\n",
            &["filter.lfs.clean = git-lfs clean -- %f; e"],
        );
        check("[pager]\n log = e", &["pager.log = e"]);
        check("[gpg]\n program = e", &["gpg.program = e"]);
        check("[log]\n showSignature", &["log.showsignature = true"]);
        check("[alias]\n x = !e", &["alias.x = !e"]);
        check(
            "[remote \"o\"]\n url = ext::sh -c e\n uploadpack = u",
            &["remote.o.url = ext::sh -c e", "remote.o.uploadpack = u"],
        );
        check("[core]\n fsmonitor = ./a\\\n b", &["core.fsmonitor = ./a b"]);
        check("[core]\n fsmonitor = \"./a;b\" # c", &["core.fsmonitor = ./a;b"]);
        check("[some \"future\"]\n key = program", &["some.future.key = program"]);
        check("[include]\n path = ~/x", &["include.path = ~/x"]);
    }

    #[test]
    fn what_git_might_read_otherwise_is_reported() {
        for text in [
            "x = y",
            "[core\nx = y",
            "[core]\n= y",
            "[core]\nx y",
            "[core]\nx = \"y",
            "[core]\nx = \\q",
            "[a \"b]\nx = y",
            "[core]\nx = a\\",
        ] {
            check(text, &["an odd `/r/.git/config`"]);
        }
    }

    #[test]
    fn included_files_are_read_whatever_their_condition() {
        let (mut files, mut found) = (Vec::new(), Vec::new());
        examine(
            "[include]\npath = a\n[includeIf \"gitdir:x\"]\npath = /b",
            Path::new("/r/.git/config"),
            &mut files,
            &mut found,
        );
        assert_eq!(files, [PathBuf::from("/r/.git/a"), PathBuf::from("/b")]);
        assert!(found.is_empty());
    }
}
