//! Programs that create, change, move and remove files.

use super::{Operands, Program};
use crate::Effect;

/// Programs that act on none of the variables that the shell may set for them.
pub(super) const IGNORE_ENVIRONMENT: &[&str] = &[
    "rm", "rmdir", "mkdir", "touch", "cp", "mv", "ln", "chmod", "chown", "chgrp", "tee",
    "truncate", "unlink",
];

macro_rules! rsync_options {
    () => {
        "-aAcChHilLnopPqrRStuvvWxXz46 -f= --archive --verbose --quiet --checksum --recursive --relative --update --links --copy-links --safe-links \
         --hard-links --perms --executability --acls --xattrs --owner --group --times --omit-dir-times --dry-run --whole-file --one-file-system \
         --existing --ignore-existing --partial --progress --human-readable --compress --exclude= --include= --exclude-from=< --include-from=< \
         --filter= --max-size= --min-size= --size-only --stats --itemize-changes --info= --out-format= --no-owner --no-group --no-perms --mkpath \
         --numeric-ids --chmod= --chown= --bwlimit= --prune-empty-dirs --cvs-exclude !-e= !--rsh= !--rsync-path= !--daemon !--log-file="
    };
}

pub(super) const ROWS: &[Program] = &[
    Program::writes(
        &["rm"],
        "-firvdRI --force --recursive --dir --verbose --interactive? --one-file-system --preserve-root? --no-preserve-root",
        Operands::Delete,
    )
    .gnu()
    .examples(&["rm -rf build", "rm a b", "rm --rec --force \"$d\""], &["rm --frob a"]),
    Program::writes(&["unlink"], "", Operands::Delete).examples(&["unlink a"], &["unlink -x a"]),
    Program::writes(&["rmdir"], "-pv --parents --ignore-fail-on-non-empty --verbose", Operands::Delete)
        .gnu()
        .examples(&["rmdir -p a/b"], &["rmdir --frob a"]),
    Program::writes(&["mkdir"], "-pvZ -m= --parents --mode= --verbose --context?", Operands::Write)
        .gnu()
        .examples(&["mkdir -p a/b c", "mkdir -m 700 a"], &["mkdir --frob a"]),
    Program::writes(
        &["touch"],
        "-acmhf -dt= -r=< --no-create --date= --reference=< --time= --no-dereference",
        Operands::Write,
    )
    .gnu()
    .examples(&["touch a b", "touch -r a b"], &["touch --frob a"]),
    Program::writes(
        &["cp", "gcp"],
        "-abdfHiLlnPpRrsuvxTZ -St= --archive --backup? --force --interactive --link --dereference --no-dereference --no-clobber \
         --preserve? --no-preserve= --parents --recursive --symbolic-link --suffix= --target-directory= --no-target-directory \
         --update? --verbose --one-file-system --reflink? --sparse= --attributes-only --remove-destination --strip-trailing-slashes --copy-contents --context?",
        Operands::Copy,
    )
    .gnu()
    .examples(&["cp -r src dst", "cp a b c dir", "cp -t dir a b"], &["cp --frob a b"]),
    Program::writes(
        &["mv"],
        "-bfinuvTZ -St= --backup? --force --interactive --no-clobber --suffix= --target-directory= --no-target-directory --update? \
         --verbose --strip-trailing-slashes --context",
        Operands::Move,
    )
    .gnu()
    .examples(&["mv a b", "mv -n a b dir"], &["mv --frob a b"]),
    Program::writes(
        &["ln"],
        "-bdfFiLnPrsTv -St= --backup? --directory --force --interactive --logical --no-dereference --physical --relative --symbolic --suffix= \
         --target-directory= --no-target-directory --verbose",
        Operands::Link,
    )
    .gnu()
    .examples(&["ln -s target name", "ln -sf ../a b"], &["ln --frob a b"]),
    Program::writes(&["install"], "-dDvZ -gmo= --directory --group= --mode= --owner= --verbose", Operands::Write)
        .gnu()
        .check(|parsed| parsed.has(&["-d", "--directory"]))
        .examples(&["install -d -m 755 a b"], &["install a b"]),
    Program::writes(
        &["install"],
        "-bcCdDpsTvZ -gmoSt= --backup? --compare --directory --group= --mode= --owner= --preserve-timestamps --strip --suffix= --target-directory= \
         --no-target-directory --verbose !--strip-program=",
        Operands::Copy,
    )
    .gnu()
    .note("`-s` runs `strip`; `--strip-program` runs a program")
    .check(|parsed| !parsed.has(&["-s", "--strip", "-d", "--directory"]))
    .examples(&["install -m 755 app /usr/local/bin/app", "install -Dm644 a b"], &["install -s a b", "install --strip-prog=x a b"]),
    Program::writes(
        &["chmod"],
        "-cfvRrwxX --recursive --verbose --changes --silent --quiet --reference=< --preserve-root --no-preserve-root",
        Operands::ModeThenWrite,
    )
    .gnu()
    .examples(&["chmod +x run.sh", "chmod -R 755 dir", "chmod -x a"], &["chmod --frob 755 a"]),
    Program::writes(
        &["chown", "chgrp"],
        "-cfhvRHLP --recursive --verbose --changes --silent --quiet --reference=< --no-dereference --dereference --from= --preserve-root --no-preserve-root",
        Operands::ModeThenWrite,
    )
    .gnu()
    .examples(&["chown -R me:me dir", "chgrp staff a"], &["chown --frob me a"]),
    Program::writes(&["tee"], "-aip --append --ignore-interrupts --output-error?", Operands::Write)
        .gnu()
        .only_operands()
        .note("without files, or with `/dev/null`, nothing is written")
        .examples(&["tee out.log", "tee -a out.log", "tee /dev/null"], &["tee --frob a"]),
    Program::writes(
        &["truncate"],
        "-co -s= -r=< --size= --no-create --reference=< --io-blocks",
        Operands::Write,
    )
    .gnu()
    .examples(&["truncate -s 0 app.log"], &["truncate --frob a"]),
    Program::writes(&["mkfifo"], "-m= -Z --mode=", Operands::Write).gnu().examples(&["mkfifo pipe"], &["mkfifo --frob a"]),
    Program::writes(&["shred"], "-fuvxz -ns= --force --remove? --verbose --exact --zero --iterations= --size=", Operands::Write)
        .gnu()
        .effects(&[Effect::Write, Effect::Delete])
        .examples(&["shred -u a"], &["shred --random-source=x a"]),
    Program::writes(&["dd"], "", Operands::InOut)
        .examples(&["dd if=/dev/zero of=a bs=1M count=1", "dd of=a"], &["dd --frob"]),
    Program::reads(&["mktemp"], "-duqt -p= --dry-run --directory --quiet --suffix= --tmpdir?")
        .gnu()
        .neutral()
        .check(|parsed| parsed.has(&["-u", "--dry-run"]))
        .examples(&["mktemp -u"], &["mktemp -d"]),
    Program::reads(&["rsync"], rsync_options!())
        .with(Operands::Read)
        .careful()
        .check(|parsed| parsed.has(&["-n", "--dry-run"]) && is_local(parsed) && !parsed.has(&["--delete"]))
        .examples(&["rsync -avn src/ dst/"], &["rsync -a src/ dst/", "rsync -n host:a b", "rsync -n -e x a b"]),
    Program::writes(&["rsync"], concat!(rsync_options!(), " --delete --delete-after --delete-before --delete-during --delete-excluded --remove-source-files"), Operands::Copy)
        .careful()
        .effects(&[Effect::Write, Effect::Delete])
        .check(|parsed| is_local(parsed) && parsed.options.iter().any(|(name, _)| name.starts_with("--delete") || name == "--remove-source-files"))
        .incomplete()
        .examples(&["rsync -a --delete src/ dst/"], &["rsync -a src/ dst/", "rsync -a --delete src/ host:dst/"]),
    Program::writes(&["rsync"], rsync_options!(), Operands::Copy)
        .careful()
        .note("`-e` and `--rsync-path` run a program; other hosts")
        .check(is_local)
        .examples(&["rsync -a src/ dst/", "rsync -avz --exclude=target src dst"], &["rsync -a src host:dst", "rsync -e ssh a b"]),
    Program::unknown(&["rsync"], &[Effect::Read, Effect::Write, Effect::Network]).examples(&["rsync -a src host:dst"], &["rsync -a src/ dst/"]),
    Program::acts(&["mktemp", "split", "csplit", "xxd", "dos2unix", "unix2dos", "iconv", "shuf"], &[Effect::Read, Effect::Write])
        .examples(&["mktemp -d", "split -l 100 a", "xxd -r a b", "shuf -o b a"], &["mktemp -u"]),
    Program::acts(&["patch"], &[Effect::Read, Effect::Write]).examples(&["patch -p1"], &[]),
    Program::acts(&["mknod"], &[Effect::Write]).examples(&["mknod p p"], &[]),
    Program::acts(
        &["mkfs", "mkfs.ext4", "mkfs.xfs", "mke2fs", "fdisk", "sfdisk", "parted", "wipefs", "mkswap", "blkdiscard", "cryptsetup", "diskutil", "lvremove", "vgremove", "zpool", "zfs"],
        &[Effect::Write, Effect::Delete, Effect::State],
    )
    .examples(&["mkfs.ext4 /dev/sdb1", "wipefs -a /dev/sdb"], &[]),
];

/// Whether no operand is on another host.
fn is_local(parsed: &crate::judge::Parsed<'_>) -> bool {
    parsed.operands.iter().all(|word| word.literal().is_some_and(|path| !path.contains(':')))
}
