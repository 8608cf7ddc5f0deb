//! What archives, patches and downloads put into directories: under names that the command may not tell.

use super::words::{Words, inside, unknown};
use crate::facts::{MayChange, PathTarget};

const TARS: &[&str] = &["tar", "gtar", "bsdtar"];
const ZIPPERS: &[&str] = &["7z", "7za", "7zr", "7zz"];

/// Programs that put a file in place of one with a longer name, and the ends of such names.
const DECOMPRESSORS: &[&str] = &[
    "gunzip",
    "gzip",
    "bunzip2",
    "bzip2",
    "unxz",
    "xz",
    "unlzma",
    "lzma",
    "unzstd",
    "zstd",
    "uncompress",
];
const COMPRESSED: &[&str] = &[".gz", ".bz2", ".xz", ".lzma", ".zst", ".Z", ".z"];

/// Options of `patch` with a value of their own (GNU patch manual).
const PATCH_VALUES: &[&str] =
    &["-i", "-d", "-o", "-B", "-D", "-F", "-g", "-p", "-r", "-V", "-Y", "-z"];

/// Whether the command makes an archive, so that its operands are read.
pub(super) fn packs(name: &str, words: Words<'_>) -> bool {
    match name {
        name if TARS.contains(&name) => {
            let long = ["--create", "--append", "--update", "--catenate", "--concatenate"];
            let makes = words.known().any(|word| long.contains(&word))
                || letters(words).any(|letters| letters.contains(['c', 'r', 'u', 'A']));
            makes && !extracts(words) && !words.known().any(|word| word == "--remove-files")
        }
        "zip" => !words.has("m", &["--move"]),
        name if ZIPPERS.contains(&name) => {
            words.operands().next() == Some("a") && !words.known().any(|word| word == "-sdel")
        }
        _ => false,
    }
}

/// Whether the command prints what an archive holds and puts it nowhere.
pub(super) fn prints(name: &str, words: Words<'_>) -> bool {
    let bundled = || words.operands().next().is_some_and(|first| is_bundle(first, 'O'));
    TARS.contains(&name) && (words.has("O", &["--to-stdout"]) || bundled())
}

/// What the command puts where.
pub(super) fn of(name: &str, words: Words<'_>) -> Vec<MayChange> {
    let places = match name {
        name if TARS.contains(&name) => {
            let mut to = words.directories(&words.values(Some('C'), &["--directory", "--cd"]));
            let beyond = words.has("P", &["--absolute-names", "--absolute-paths"]);
            // `tar xfC a d` takes its letters without a dash and their values behind.
            let bundled = words.operands().next().is_some_and(|first| is_bundle(first, 'C'));
            if beyond || bundled {
                to.push(unknown());
            }
            to
        }
        "unzip" => words.directories(&words.values(Some('d'), &[])),
        name if ZIPPERS.contains(&name) => words.directories(&words.values(Some('o'), &[])),
        "cpio" | "pax" => {
            let passed = words.operands().last().map(Some).into_iter().chain([Some(".")]);
            let mut to = words.directories(&words.values(Some('D'), &["--directory"]));
            to.extend(words.directories(&passed.collect::<Vec<_>>()));
            to
        }
        "unrar" | "unar" | "jar" => {
            let operands = words.operands().map(Some).chain([Some(".")]);
            words.directories(&operands.collect::<Vec<_>>())
        }
        "patch" if !names_its_file(words) => {
            words.directories(&words.values(Some('d'), &["--directory"]))
        }
        "wget" => return downloaded(words, &words.values(Some('P'), &["--directory-prefix"])),
        "curl" if words.has("OJ", &["--remote-name", "--remote-name-all"]) => {
            return downloaded(words, &words.values(None, &["--output-dir"]));
        }
        "scp" | "rsync" | "sftp" => return fetched(words),
        name if DECOMPRESSORS.contains(&name) => return decompressed(words).collect(),
        _ => return Vec::new(),
    };
    let unknown = words.has_unknown().then(unknown);
    places.into_iter().chain(unknown).map(MayChange::Within).collect()
}

/// The letters of short options, the first word of tar among them.
fn letters(words: Words<'_>) -> impl Iterator<Item = &str> {
    words.known().enumerate().filter_map(|(index, word)| match word.strip_prefix('-') {
        Some(option) if !option.starts_with('-') => Some(option),
        Some(_) => None,
        None => (index == 0).then_some(word),
    })
}

fn extracts(words: Words<'_>) -> bool {
    words.known().any(|word| matches!(word, "--extract" | "--get"))
        || letters(words).any(|letters| letters.contains('x'))
}

fn is_bundle(word: &str, letter: char) -> bool {
    word.contains(letter) && word.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether `patch` is told which file to change.
fn names_its_file(words: Words<'_>) -> bool {
    let mut is_value = false;
    words.known().any(|word| {
        let is_operand = !is_value && !word.starts_with('-');
        is_value = PATCH_VALUES.contains(&word);
        is_operand
    })
}

/// What a download is called: by the address, or by the server.
fn downloaded(words: Words<'_>, to: &[Option<&str>]) -> Vec<MayChange> {
    let by_server = words.has("rmiJ", &["--recursive", "--mirror", "--input-file"])
        || words
            .has("", &["--content-disposition", "--trust-server-names", "--remote-header-name"])
        || words.has_unknown();
    let mut changes = Vec::new();
    for directory in words.directories(to) {
        if by_server {
            changes.push(MayChange::Within(directory));
            continue;
        }
        for address in words.operands().filter(|word| word.contains(['/', '.'])) {
            let path = address.split(['?', '#']).next().unwrap_or(address);
            let name = path.rsplit('/').next().filter(|name| !name.is_empty());
            let name = name.unwrap_or("index.html");
            changes.push(MayChange::File(inside(words, &directory, name)));
        }
    }
    changes
}

/// What is fetched from another host to the last operand, or into it.
fn fetched(words: Words<'_>) -> Vec<MayChange> {
    if words.has_unknown() {
        return vec![MayChange::Within(unknown())];
    }
    let operands: Vec<&str> = words.operands().collect();
    let Some((to, from)) = operands.split_last() else { return Vec::new() };
    if to.contains(':') {
        return Vec::new();
    }
    let to = words.path(to);
    if words.has("rRa", &["--recursive", "--archive"]) {
        return vec![MayChange::Within(to)];
    }
    let files = from.iter().map(|from| {
        let path = from.rsplit(':').next().unwrap_or(from);
        let name = path.rsplit('/').next().unwrap_or(path);
        match name {
            "" | "." | ".." => MayChange::Within(to.clone()),
            name if name.contains(['*', '?', '[']) => MayChange::Within(to.clone()),
            name => MayChange::File(inside(words, &to, name)),
        }
    });
    std::iter::once(MayChange::File(to.clone())).chain(files).collect()
}

/// The names without the ends that tell how they are compressed.
fn decompressed(words: Words<'_>) -> impl Iterator<Item = MayChange> {
    let plain = words.operands().filter_map(move |word| {
        let plain = COMPRESSED.iter().find_map(|end| word.strip_suffix(end))?;
        Some(words.path(plain))
    });
    plain.map(|path: PathTarget| MayChange::File(path))
}
