//! Programs that create, change, move and remove files.

use super::{Operands, Program};
use crate::Effect;

/// Programs that act on none of the variables that the shell may set for them.
pub(super) const IGNORE_ENVIRONMENT: &[&str] = &[
    "rm", "rmdir", "mkdir", "touch", "cp", "mv", "ln", "chmod", "chown", "chgrp", "tee",
    "truncate", "unlink",
];

pub(super) const ROWS: &[Program] = &[
    Program::writes(
        &["rm"],
        "-firvdRI --force --recursive --dir --verbose --interactive? --one-file-system --preserve-root? --no-preserve-root",
        Operands::Delete,
    ),
    Program::writes(&["unlink"], "", Operands::Delete),
    Program::writes(
        &["rmdir"],
        "-pv --parents --ignore-fail-on-non-empty --verbose",
        Operands::Delete,
    ),
    Program::writes(&["mkdir"], "-pvZ -m= --parents --mode= --verbose", Operands::Write),
    Program::writes(
        &["touch"],
        "-acmhf -dt= -r=< --no-create --date= --reference=< --time= --no-dereference",
        Operands::Write,
    ),
    Program::writes(
        &["cp"],
        "-abdfHiLlnPpRrsuvxTZ -St= --archive --backup? --force --interactive --link --dereference --no-dereference --no-clobber \
         --preserve? --no-preserve= --parents --recursive --symbolic-link --suffix= --target-directory= --no-target-directory \
         --update? --verbose --one-file-system --reflink? --sparse= --attributes-only --remove-destination",
        Operands::Copy,
    ),
    Program::writes(
        &["mv"],
        "-bfinuvTZ -St= --backup? --force --interactive --no-clobber --suffix= --target-directory= --no-target-directory --update? \
         --verbose --strip-trailing-slashes",
        Operands::Move,
    ),
    Program::writes(
        &["ln"],
        "-bfFiLnPrsTv -St= --backup? --force --interactive --logical --no-dereference --physical --relative --symbolic --suffix= \
         --target-directory= --no-target-directory --verbose",
        Operands::Link,
    ),
    Program::writes(
        &["chmod"],
        "-cfvRrwxX --recursive --verbose --changes --silent --quiet --reference=< --preserve-root --no-preserve-root",
        Operands::ModeThenWrite,
    ),
    Program::writes(
        &["chown", "chgrp"],
        "-cfhvRHLP --recursive --verbose --changes --silent --quiet --reference=< --no-dereference --dereference --from=",
        Operands::ModeThenWrite,
    ),
    Program::writes(&["tee"], "-aip --append --ignore-interrupts --output-error?", Operands::Write),
    Program::writes(
        &["truncate"],
        "-co -s= -r=< --size= --no-create --reference=< --io-blocks",
        Operands::Write,
    ),
    Program::acts(
        &[
            "mktemp", "split", "csplit", "install", "dd", "patch", "mkfifo", "mknod", "ex", "ed",
            "rsync", "xxd", "yq",
        ],
        &[Effect::Write],
    ),
    Program::acts(&["shred"], &[Effect::Write, Effect::Delete]),
    Program::acts(
        &["mkfs", "fdisk", "parted", "wipefs", "mkswap"],
        &[Effect::Write, Effect::Delete, Effect::State],
    ),
];
