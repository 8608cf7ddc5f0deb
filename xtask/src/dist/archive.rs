//! The archive that a person downloads: the same bytes whenever the same program is packed at the same commit.

use std::fs;
use std::path::{Path, PathBuf};

use xshell::{Shell, cmd};

use crate::Result;

/// The shells that completions are made for, and the file each looks for.
const COMPLETIONS: [(&str, &str); 3] =
    [("bash", "innerve.bash"), ("fish", "innerve.fish"), ("zsh", "_innerve")];

/// What goes into an archive beside what the program itself prints.
pub(super) struct Content<'a> {
    /// The program.
    pub(super) program: &'a Path,
    /// What it runs on, as a target triple.
    pub(super) target: &'a str,
    /// Files with their content, by their names in the archive.
    pub(super) papers: Vec<(&'static str, String)>,
    /// The time that all entries get, in seconds since 1970.
    pub(super) time: u64,
}

/// Packs into `out`, beside a checksum; gives the archive.
pub(super) fn pack(shell: &Shell, out: &Path, content: &Content<'_>) -> Result<PathBuf> {
    let Content { program, target, papers, time } = content;
    let version = cmd!(shell, "{program} --version").quiet().read()?;
    let version = version.split_whitespace().last().ok_or("the program has no version")?;
    let name = format!("innerve-{version}-{target}");
    let place = shell.create_temp_dir()?;
    let folder = place.path().join(&name);
    shell.create_dir(&folder)?;
    shell.copy_file(program, &folder)?;
    for (language, file) in COMPLETIONS {
        let script = cmd!(shell, "{program} completions {language}").quiet().read()?;
        shell.write_file(folder.join("completions").join(file), script + "\n")?;
    }
    let page = cmd!(shell, "{program} completions man").quiet().read()?;
    shell.write_file(folder.join("innerve.1"), page + "\n")?;
    for (file, text) in papers {
        shell.write_file(folder.join(file), text)?;
    }
    shell.create_dir(out)?;
    let time = format!("@{time}");
    let (packed, tar) = (format!("{name}.tar.gz"), place.path().join("archive.tar"));
    let folder = place.path();
    // Order, times, owner and modes do not depend on who packs, nor when (GNU tar, "Making tar Archives More
    // Reproducible"); gzip leaves name and time of its input out.
    cmd!(
        shell,
        "tar --create --format ustar --sort name --mtime {time} --owner 0 --group 0 --numeric-owner --mode u=rwX,go=rX --file {tar} --directory {folder} {name}"
    )
    .quiet()
    .run()?;
    let archive = out.join(&packed);
    fs::write(
        &archive,
        cmd!(shell, "gzip --no-name --best --stdout {tar}").quiet().output()?.stdout,
    )?;
    let _there = shell.push_dir(out);
    let sum = cmd!(shell, "sha256sum {packed}").quiet().read();
    let sum = sum.or_else(|_| cmd!(shell, "shasum -a 256 {packed}").quiet().read())?;
    shell.write_file(format!("{packed}.sha256"), sum + "\n")?;
    Ok(archive)
}

/// What a person does who has downloaded it: compare the checksum, unpack, and start the program in a new home.
pub(super) fn try_out(shell: &Shell, archive: &Path) -> Result<()> {
    let (out, file) = (archive.parent(), archive.file_name().unwrap_or_default());
    let out = out.ok_or("an archive without a directory")?;
    let sums = fs::read_to_string(archive.with_file_name(format!("{}.sha256", file.display())))?;
    let sum = {
        let _there = shell.push_dir(out);
        let sum = cmd!(shell, "sha256sum {file}").quiet().read();
        sum.or_else(|_| cmd!(shell, "shasum -a 256 {file}").quiet().read())?
    };
    if sum.trim() != sums.trim() {
        return Err(format!("the checksum of {} is another", file.display()).into());
    }
    let home = shell.create_temp_dir()?;
    let place = home.path();
    cmd!(shell, "tar --extract --gzip --file {archive} --directory {place}").quiet().run()?;
    let name = file.to_string_lossy();
    let folder = place.join(name.trim_end_matches(".tar.gz"));
    let program = folder.join("innerve");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let new = |command: xshell::Cmd<'_>| -> Result<String> {
        Ok(command.env_clear().env("PATH", &path).env("HOME", place).quiet().read()?)
    };
    let version = new(cmd!(shell, "{program} --version"))?;
    new(cmd!(shell, "{program} run"))?;
    println!("{}: {version} and its tour run in an empty home", archive.display());
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::unwrap_used, reason = "what a test cannot do ends it")]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A program that answers as ours does.
    fn program(shell: &Shell, place: &Path) -> PathBuf {
        let program = place.join("innerve");
        let script = "#!/bin/sh\ncase \"$1\" in\n--version) echo innerve 1.2.3 ;;\ncompletions) echo \"for $2\" ;;\nrun) test \"$HOME\" != / ;;\n*) exit 2 ;;\nesac\n";
        shell.write_file(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        program
    }

    fn packed(shell: &Shell, place: &Path, out: &str) -> PathBuf {
        let program = program(shell, place);
        let papers = vec![("README.md", "# innerve\n".to_owned())];
        let time = 1_700_000_000;
        let content =
            Content { program: &program, target: "x86_64-unknown-linux-gnu", papers, time };
        pack(shell, &place.join(out), &content).unwrap()
    }

    #[test]
    fn an_archive_holds_what_a_person_needs_with_owner_time_and_modes_fixed() {
        let shell = Shell::new().unwrap();
        let place = shell.create_temp_dir().unwrap();
        let archive = packed(&shell, place.path(), "out");
        assert!(archive.ends_with("out/innerve-1.2.3-x86_64-unknown-linux-gnu.tar.gz"));
        let list =
            cmd!(shell, "tar --list --verbose --numeric-owner --utc --gzip --file {archive}");
        let list = list.quiet().read().unwrap();
        let rows: Vec<(String, String)> = list
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                assert_eq!((words[1], words[3]), ("0/0", "2023-11-14"), "{line}");
                let name = words.last().unwrap().split_once('/').unwrap().1;
                (words[0].to_owned(), name.to_owned())
            })
            .collect();
        let expected = [
            ("drwxr-xr-x", ""),
            ("-rw-r--r--", "README.md"),
            ("drwxr-xr-x", "completions/"),
            ("-rw-r--r--", "completions/_innerve"),
            ("-rw-r--r--", "completions/innerve.bash"),
            ("-rw-r--r--", "completions/innerve.fish"),
            ("-rwxr-xr-x", "innerve"),
            ("-rw-r--r--", "innerve.1"),
        ]
        .map(|(mode, name)| (mode.to_owned(), name.to_owned()));
        assert_eq!(rows, expected);
        let script = "innerve-1.2.3-x86_64-unknown-linux-gnu/completions/_innerve";
        let script = cmd!(shell, "tar --extract --to-stdout --gzip --file {archive} {script}");
        assert_eq!(script.quiet().read().unwrap(), "for zsh");
    }

    #[test]
    fn the_same_program_gives_the_same_bytes_later_too() {
        let shell = Shell::new().unwrap();
        let place = shell.create_temp_dir().unwrap();
        let first = fs::read(packed(&shell, place.path(), "one")).unwrap();
        thread::sleep(Duration::from_millis(1_100));
        let second = fs::read(packed(&shell, place.path(), "two")).unwrap();
        assert!(first == second && !first.is_empty());
    }

    #[test]
    fn what_was_packed_is_tried_and_a_changed_byte_is_found() {
        let shell = Shell::new().unwrap();
        let place = shell.create_temp_dir().unwrap();
        let archive = packed(&shell, place.path(), "out");
        let _there = shell.push_dir(archive.parent().unwrap());
        cmd!(shell, "sha256sum --check --status {archive}.sha256").quiet().run().unwrap();
        try_out(&shell, &archive).unwrap();
        let mut bytes = fs::read(&archive).unwrap();
        bytes.push(0);
        fs::write(&archive, bytes).unwrap();
        let error = try_out(&shell, &archive).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }
}
