//! Archives and compressed files: what lists them, what packs and unpacks them; and compiled files.

use super::text::no_option_files;
use super::{Operands, Program};
use crate::Effect;
use crate::judge::Parsed;

macro_rules! tar_options {
    () => {
        "-vzjJakmphPSwOl -X=< --verbose --gzip --bzip2 --xz --zstd --lzma --auto-compress --wildcards --no-wildcards --exclude= \
         --exclude-from=< --exclude-vcs --exclude-ignore= --strip-components= --no-same-owner --no-same-permissions --same-owner --numeric-owner \
         --totals? --overwrite --keep-old-files --skip-old-files --one-file-system --dereference --transform= --owner= --group= --mode= --mtime= \
         --sort= --full-time --null --no-recursion --ignore-failed-read !-I= !--use-compress-program= !--to-command= !--checkpoint-action= \
         !--checkpoint !-F= !--info-script= !--new-volume-script= !--rsh-command= !--rmt-command= !--index-file= !--remove-files !--delete !-T= !--files-from="
    };
}

pub(super) const ROWS: &[Program] = &[
    Program::reads(&["tar", "gtar", "bsdtar"], concat!(tar_options!(), " -t -f=< -C= --list --file=< --directory="))
        .gnu()
        .with(Operands::Text)
        .careful()
        .note("everything but listing; archives on other hosts; options that name a program")
        .check(|parsed| parsed.has(&["-t", "--list"]) && tar_archive(parsed).is_some() && archives_are_here(parsed))
        .examples(&["tar -tzf a.tgz", "tar --list -f a.tar", "tar -tf a.tar src"], &["tar -xf a.tar", "tar -tf host:a.tar", "tar -tf a.tar -f host:b", "tar -tf a --to-command=x", "tar -tf a -I x", "tar -t"]),
    Program::reads(&["tar", "gtar", "bsdtar"], concat!(tar_options!(), " -t"))
        .with(Operands::Text)
        .careful()
        .check(|parsed| {
            old_style(parsed, b't') && parsed.options.is_empty() && parsed.literal(1).is_some_and(|archive| !archive.contains(':'))
        })
        .examples(&["tar tzf a.tgz", "tar tvf a.tar | head"], &["tar xzf a.tgz", "tar tf host:a", "tar tf a --to-command=x"]),
    Program::writes(&["tar", "gtar", "bsdtar"], concat!(tar_options!(), " -c -f=> -C= --create --file=> --directory="), Operands::Read)
        .gnu()
        .careful()
        .check(|parsed| parsed.has(&["-c", "--create"]) && archives_are_here(parsed))
        .examples(&["tar -czf out.tgz src", "tar --create -f a.tar -C d ."], &["tar -czf host:a src", "tar -cf a -I x src", "tar -xf a"]),
    Program::writes(&["tar", "gtar", "bsdtar"], concat!(tar_options!(), " -x -f=< -C=> --extract --get --file=< --directory=>"), Operands::Text)
        .gnu()
        .careful()
        .incomplete()
        .effects(&[Effect::Read, Effect::Write])
        .check(|parsed| parsed.has(&["-x", "--extract", "--get"]) && archives_are_here(parsed))
        .examples(&["tar -xzf a.tgz -C d", "tar --extract -f a.tar"], &["tar -xf a --to-command=x", "tar -tf a"]),
    Program::acts(&["tar", "gtar", "bsdtar"], &[Effect::Read, Effect::Write])
        .check(|parsed| (old_style(parsed, b'x') || old_style(parsed, b'c')) && parsed.options.iter().all(|(name, _)| matches!(name.as_ref(), "-C" | "-v")))
        .examples(&["tar xzf a.tgz", "tar czf a.tgz src", "tar xf a.tar -C d"], &["tar xf a --to-command=x", "tar tf a"]),
    Program::unknown(&["tar", "gtar", "bsdtar"], &[Effect::Read, Effect::Write, Effect::ExecUnknown])
        .note("options that name a program, archives on other hosts")
        .examples(&["tar -xf a --to-command=x"], &["tar -xf a"]),
    Program::reads(&["unzip"], "-ltvqZ12hmszCpc -x=")
        .careful()
        .note("unpacks without `-l`, `-t`, `-v`, `-z`, `-Z`, `-p` or `-c`")
        .check(|parsed| parsed.has(&["-l", "-t", "-v", "-Z", "-z", "-p", "-c"]))
        .examples(&["unzip -l a.zip", "unzip -tq a.zip", "unzip -p a.zip a"], &["unzip a.zip", "unzip -o a.zip", "unzip -lo a.zip"]),
    Program::writes(&["unzip"], "-oqnjaLCXUfu -d=> -x=", Operands::Read)
        .careful()
        .incomplete()
        .effects(&[Effect::Read, Effect::Write])
        .examples(&["unzip a.zip -d out", "unzip -oq a.zip"], &["unzip -l a.zip", "unzip \"$x\""]),
    Program::reads(&["zipinfo"], "-12lsmhtTzv").careful().examples(&["zipinfo -1 a.zip"], &["zipinfo --frob a"]),
    Program::reads(&["7z", "7za", "7zz", "7zr"], "~-slt ~-ba")
        .careful()
        .note("only `l` and `t`")
        .check(|parsed| matches!(parsed.literal(0), Some("l" | "t")))
        .examples(&["7z l a.7z", "7z l -slt a.7z"], &["7z x a.7z", "7z a a.7z src", "7z l -so a"]),
    Program::acts(&["unzip", "zip", "7z", "7za", "7zz", "unrar", "cpio", "ar"], &[Effect::Read, Effect::Write])
        .note("`zip -TT` runs a program")
        .check(|parsed| !parsed.options.iter().any(|(name, _)| name.starts_with("-TT") || name.starts_with("--unzip-command")))
        .examples(&["unzip -P pw a.zip", "zip -r a.zip src", "7z x a.7z"], &["unzip -l a.zip", "zip -T -TT x a.zip"]),
    Program::reads(
        &["gzip", "gunzip", "pigz", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "brotli"],
        "-cdlktqv0123456789nf -T= --stdout --to-stdout --list --test --decompress --uncompress --keep --quiet --verbose --threads= --force",
    )
    .careful()
    .note("writes and removes unless `-c`, `-l` or `-t` is given; of several modes some take the last")
    .check(unpacks_nothing)
    .examples(&["gzip -dc a.gz", "gunzip -c a.gz", "xz -l a.xz", "gzip -t a.gz"], &["gzip a", "gunzip a.gz", "xz -ld a.xz", "bzip2 -k a"]),
    Program::acts(
        &["gzip", "gunzip", "pigz", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd", "lz4", "brotli"],
        &[Effect::Read, Effect::Write, Effect::Delete],
    )
    .examples(&["gzip app.log", "xz -d a.xz"], &["gzip -c a"]),
    // Compiled files.
    Program::reads(
        &["nm"],
        "-aACDgnopPrSuBsjlU -tf= --demangle? --dynamic --extern-only --defined-only --undefined-only --print-size --size-sort --debug-syms \
         --numeric-sort --no-demangle --print-file-name --line-numbers !--plugin=",
    )
    .careful()
    .note("`--plugin` loads a library; `@file` holds more options")
    .check(no_option_files)
    .examples(&["nm -D lib.so", "nm -C --size-sort a.out"], &["nm --plugin x a", "nm @more"]),
    Program::reads(&["size"], "-ABGdoxt --format= --radix= --common --totals")
        .careful()
        .note("`@file` holds more options")
        .check(no_option_files)
        .examples(&["size a.out", "size -A --format=sysv a.o"], &["size @more", "size --target=x a"]),
    Program::reads(
        &["objdump"],
        "-afphxdDStTrRslCwzg -jM= --demangle? --disassemble? --source --syms --dynamic-syms --headers --section-headers --private-headers --file-headers \
         --section= --no-show-raw-insn --all-headers --full-contents --reloc --disassembler-options= !--plugin=",
    )
    .careful()
    .note("`--plugin` loads a library; `@file` holds more options")
    .check(no_option_files)
    .examples(&["objdump -d a.out"], &["objdump --plugin x -t a", "objdump -d @more"]),
    Program::reads(
        &["readelf"],
        "-ahlSsrdVWngtueI -pxR= --all --file-header --program-headers --section-headers --sections --symbols --syms --dyn-syms --dynamic --relocs --wide --notes \
         --string-dump= --hex-dump=",
    )
    .careful()
    .note("`@file` holds more options")
    .check(no_option_files)
    .examples(&["readelf -d a.out"], &["readelf @more", "readelf --frob a"]),
    Program::unknown(&["ldd"], &[Effect::Read, Effect::ExecUnknown]).note("may run the program it looks at").examples(&["ldd a.out"], &[]),
];

/// `tar tzf`: letters in the first operand, the archive in the next.
fn old_style(parsed: &Parsed<'_>, mode: u8) -> bool {
    parsed.literal(0).is_some_and(|letters| {
        letters.bytes().any(|letter| letter == mode)
            && letters.ends_with('f')
            && letters.bytes().all(|letter| letter == mode || b"vzjJpf".contains(&letter))
    })
}

/// Whether no archive lies on another host.
fn archives_are_here(parsed: &Parsed<'_>) -> bool {
    parsed
        .values(&["-f", "--file"])
        .all(|value| value.literal().is_some_and(|archive| !archive.contains(':')))
}

fn tar_archive<'p>(parsed: &'p Parsed<'_>) -> Option<&'p str> {
    parsed.values(&["-f", "--file"]).next().and_then(|value| value.literal())
}

/// Listing, testing, or writing to standard output; of several modes some programs take the last.
fn unpacks_nothing(parsed: &Parsed<'_>) -> bool {
    parsed.has(&["-c", "--stdout", "--to-stdout"])
        || parsed.has(&["-l", "-t", "--list", "--test"])
            && !parsed.has(&["-d", "--decompress", "--uncompress"])
}
