//! Which commands read whole directories.

use super::base_name;
use crate::facts::Descent;

/// Programs that read all of a directory when they have one of these letters or long options.
const BY_OPTION: &[(&[&str], &str, &[&str])] = &[
    (
        &["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep"],
        "rR",
        &["--recursive", "--dereference-recursive", "--directories=recurse"],
    ),
    (&["cp", "scp"], "rRa", &["--recursive", "--archive"]),
    (&["diff"], "r", &["--recursive"]),
];

/// Programs that always do.
const ALWAYS: &[&str] = &["ag", "ack", "ugrep", "ug", "tar", "zip", "7z", "rsync"];

/// Options that show `rg` what begins with a dot (ripgrep guide, "automatic filtering").
const RG_HIDDEN: &[&str] = &["--hidden", "-."];

/// Options of searches whose value says which names are read.
const NARROWING: &[&str] = &["-g", "--glob", "--iglob", "--include"];

/// Programs that follow the links in a directory: always, or with one of these letters or long options.
const FOLLOWING: &[(&[&str], &str, &[&str])] = &[
    (
        &["grep", "egrep", "fgrep", "zgrep", "bzgrep", "xzgrep", "ugrep", "ug"],
        "R",
        &["--dereference-recursive"],
    ),
    (&["rg"], "L", &["--follow"]),
    (&["ag", "ack"], "f", &["--follow"]),
    (&["cp", "rsync"], "L", &["--dereference", "--copy-links"]),
    (&["tar"], "h", &["--dereference"]),
    (&["diff", "scp", "zip", "7z"], "", &[]),
];

/// What a command reads in directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Search {
    /// How far it reads what lies in those that it names.
    pub(super) descent: Descent,
    /// Whether it reads the current one when it names none.
    pub(super) here: bool,
    /// Whether it follows the links that it finds there.
    pub(super) follows: bool,
}

/// What the command reads in directories. `piped` says that something is written to its input.
pub(super) fn of(argv: &[Option<String>], piped: bool) -> Search {
    let (descent, here) = extent(argv, piped);
    let follows = descent != Descent::None && follows(argv);
    Search { descent, here, follows }
}

/// The names that a search of directories is narrowed to.
pub(super) fn narrowed_to<'a>(words: &[&'a str]) -> impl Iterator<Item = &'a str> {
    words.iter().enumerate().filter_map(|(index, word)| {
        if NARROWING.contains(word) {
            return words.get(index + 1).copied();
        }
        match word.split_once('=') {
            Some((option, value)) if NARROWING.contains(&option) => Some(value),
            Some(_) | None => word.strip_prefix("-g").filter(|_| !word.starts_with("--")),
        }
    })
}

fn follows(argv: &[Option<String>]) -> bool {
    let [Some(program), words @ ..] = argv else { return true };
    let program = base_name(program);
    let row = FOLLOWING.iter().find(|(names, ..)| names.contains(&program));
    let Some((_, letters, long)) = row else { return false };
    // A word that is not known may be an option.
    letters.is_empty()
        || words.iter().any(|word| {
            word.as_deref().is_none_or(|word| is_cluster(word, letters) || is_long(word, long))
        })
        || program == "tar" && argv.get(1).is_some_and(|word| is_tar_cluster(word.as_deref()))
}

/// `tar chf x` takes its letters without a dash.
fn is_tar_cluster(word: Option<&str>) -> bool {
    word.is_some_and(|word| {
        word.contains('h') && word.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

fn extent(argv: &[Option<String>], piped: bool) -> (Descent, bool) {
    let words: Vec<&str> = argv.iter().map(|word| word.as_deref().unwrap_or_default()).collect();
    let [program, words @ ..] = words.as_slice() else { return (Descent::None, false) };
    let program = base_name(program);
    // A word that is not known may be an option.
    let unknown = argv.contains(&None);
    match program {
        "rg" => {
            let unrestricted = words.iter().filter(|word| is_cluster(word, "u")).count() > 0;
            let hidden = unrestricted || words.iter().any(|word| RG_HIDDEN.contains(word));
            let descent = if hidden || unknown { Descent::All } else { Descent::Visible };
            (descent, !piped)
        }
        "git" if words.iter().find(|word| !word.starts_with('-')) == Some(&"grep") => {
            (Descent::All, true)
        }
        name if ALWAYS.contains(&name) => (Descent::All, !piped && is_search(name)),
        name => {
            let Some((_, letters, long)) =
                BY_OPTION.iter().find(|(names, ..)| names.contains(&name))
            else {
                return (Descent::None, false);
            };
            let descends = words.iter().enumerate().any(|(index, word)| {
                is_cluster(word, letters)
                    || is_long(word, long)
                    || (*word == "recurse"
                        && index.checked_sub(1).and_then(|before| words.get(before)) == Some(&"-d"))
            });
            if descends { (Descent::All, name.ends_with("grep")) } else { (Descent::None, false) }
        }
    }
}

/// Whether the word is one of these long options, which may be cut short.
pub(super) fn is_long(word: &str, long: &[&str]) -> bool {
    word.len() > 3 && long.iter().any(|option| option.starts_with(word))
}

/// Whether the word is short options with one of these letters among them.
pub(super) fn is_cluster(word: &str, letters: &str) -> bool {
    word.strip_prefix('-').is_some_and(|cluster| {
        !cluster.starts_with('-')
            && cluster.chars().take_while(char::is_ascii_alphabetic).any(|c| letters.contains(c))
    })
}

fn is_search(name: &str) -> bool {
    matches!(name, "ag" | "ack" | "ugrep" | "ug")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, (descent, here): (Descent, bool)) {
        let argv: Vec<Option<String>> =
            command.split(' ').map(|word| (word != "?").then(|| word.to_owned())).collect();
        let search = of(&argv, false);
        assert_eq!((search.descent, search.here), (descent, here), "{command}");
    }

    #[test]
    fn searches_and_copies_of_directories_are_known() {
        check("grep -rn x", (Descent::All, true));
        check("grep -inR x .", (Descent::All, true));
        check("grep --recursive x", (Descent::All, true));
        check("grep --recurs x", (Descent::All, true));
        check("egrep -d recurse x", (Descent::All, true));
        check("grep -n x a", (Descent::None, false));
        check("grep -- x a", (Descent::None, false));
        check("rg x", (Descent::Visible, true));
        check("rg -n --hidden x", (Descent::All, true));
        check("rg -uu x", (Descent::All, true));
        check("rg ? x", (Descent::All, true));
        check("git grep x", (Descent::All, true));
        check("git --no-pager grep x", (Descent::All, true));
        check("git log", (Descent::None, false));
        check("cp -a a b", (Descent::All, false));
        check("cp a b", (Descent::None, false));
        check("diff -ur a b", (Descent::All, false));
        check("tar cf x .", (Descent::All, false));
        check("cat a", (Descent::None, false));
    }

    #[test]
    fn what_is_piped_in_is_searched_instead_of_the_directory() {
        let argv = ["rg", "x"].map(|word| Some(word.to_owned()));
        assert_eq!(of(&argv, true), Search { descent: Descent::Visible, ..Search::default() });
    }

    #[test]
    fn links_that_a_search_meets_are_followed_by_some() {
        let follows = |command: &str| {
            let argv: Vec<Option<String>> =
                command.split(' ').map(|word| (word != "?").then(|| word.to_owned())).collect();
            of(&argv, false).follows
        };
        for command in [
            "grep -R x",
            "grep -nR x a",
            "grep --dereference-rec x",
            "rg -L x",
            "rg --follow x",
            "rg ? x",
            "cp -rL a b",
            "tar chf x a",
            "tar -czhf x a",
            "zip -r x a",
            "diff -r a b",
        ] {
            assert!(follows(command), "{command}");
        }
        for command in ["grep -r x", "rg x", "cp -a a b", "tar czf x a", "git grep x", "cat a"] {
            assert!(!follows(command), "{command}");
        }
    }
}
