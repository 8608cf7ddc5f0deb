//! Programs that read names and metadata of files.

use super::{Operands, Program};

pub(super) const ROWS: &[Program] = &[
    Program::reads(
        &["ls", "dir", "vdir", "gls"],
        "-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1@eOP -ITw= --all --almost-all --author --escape --block-size= --ignore-backups --color? \
         --directory --dired --classify? --file-type --format= --full-time --group-directories-first --no-group \
         --human-readable --si --hide= --hyperlink? --indicator-style= --inode --ignore= --kibibytes --dereference --dereference-command-line \
         --dereference-command-line-symlink-to-dir --numeric-uid-gid --literal --quote-name --quoting-style= --reverse --recursive --size \
         --sort= --time= --time-style= --width= --context --zero --tabsize= --hide-control-chars --show-control-chars",
    )
    .gnu()
    .with(Operands::LookAt)
    .examples(&["ls", "ls -la src *.rs", "ls -1tr \"$d\"", "ls --colo=never -d */"], &["ls --frob", "ls --output=a"]),
    Program::reads(
        &["eza", "exa"],
        "-1aAbBdDfFgGhHiIlmMnoOrRSTuUxXZ@ -LsIwt= --long --all --tree --level= --git --git-ignore --icons? --no-icons --header --sort= --reverse \
         --group-directories-first --only-dirs --only-files --oneline --recurse --classify? --color= --colour= --ignore-glob= --time= \
         --time-style= --no-permissions --no-filesize --no-user --no-time --group --links --inode --blocks --binary --bytes --modified \
         --accessed --created --color-scale? --hyperlink --across --grid --extended",
    )
    .with(Operands::LookAt)
    .examples(&["eza -la --git", "exa --tree -L 2"], &["eza --frob"]),
    Program::reads(&["stat", "gstat"], "-LftxFlnqrs -c= --dereference --file-system --terse --format= --printf= --cached=")
        .gnu()
        .with(Operands::LookAt)
        .examples(&["stat Cargo.toml", "stat -c %s a", "stat -f %z a"], &["stat --frob a"]),
    Program::reads(&["readlink"], "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --zero --quiet --silent --verbose")
        .gnu()
        .with(Operands::LookAt)
        .examples(&["readlink -f bin/app"], &["readlink --frob a"]),
    Program::reads(
        &["realpath"],
        "-emLPqsz --canonicalize-existing --canonicalize-missing --relative-to= --relative-base= --quiet --strip --no-symlinks --logical \
         --physical --zero",
    )
    .gnu()
    .with(Operands::LookAt)
    .examples(&["realpath --relative-to=. src/lib.rs"], &["realpath --frob a"]),
    Program::reads(
        &["file"],
        "-bhikLNnrsv0 -FeP= --brief --mime --mime-type --mime-encoding --dereference --no-dereference --separator= --extension --exclude= \
         --keep-going --no-pad --raw --special-files --print0 --version !-C !--compile !-m= !--magic-file= !-f= !--files-from= !-z \
         !--uncompress !-Z !--uncompress-noreport !-p !--preserve-date !-S !--no-sandbox",
    )
    .gnu()
    .with(Operands::LookAt)
    .careful()
    .note("`-C` writes, `-p` sets times, `-z` runs unpackers, `-m` and `-f` read more files")
    .examples(&["file bin/app", "file -b --mime-type a.png"], &["file -C -m x", "file -m x a", "file --comp x", "file -p a", "file *"]),
    Program::reads(
        &["du"],
        "-0abchklmSsxHLDP -dtB= -X=< --all --apparent-size --bytes --total --human-readable --si --max-depth= --summarize \
         --one-file-system --exclude= --exclude-from=< --threshold= --time? --time-style= --separate-dirs --inodes --null --block-size= \
         --dereference --dereference-args --no-dereference --count-links !--files0-from=",
    )
    .gnu()
    .with(Operands::LookAt)
    .examples(&["du -sh .", "du -h -d1 | sort -h"], &["du --files0-from=list"]),
    Program::reads(
        &["df"],
        "-ahHiklPTv -txB= --all --human-readable --si --inodes --local --portability --type= --print-type --exclude-type= --total \
         --output? --block-size= --no-sync !--sync",
    )
    .gnu()
    .with(Operands::LookAt)
    .examples(&["df -h ."], &["df --sync"]),
    Program::reads(
        &["tree"],
        "-adflFhiCnNpqrstuxDgvJXUcQS -LPI= --dirsfirst --noreport --gitignore --prune --charset= --filelimit= --timefmt= --du --si \
         --inodes --device --matchdirs --sort= --ignore-case --metafirst --filesfirst !-o= !-R !-H=",
    )
    .with(Operands::LookAt)
    .careful()
    .note("`-o` writes; `-R` with `-H` writes one file per directory")
    .examples(&["tree -L 2 src", "tree -a -I 'target|.git'"], &["tree -o out", "tree -R -L 2 -H . -o x", "tree \"$x\""]),
    Program::reads(&["getfacl"], "-acesRLPtpnd --access --omit-header --recursive --tabular --numeric")
        .with(Operands::LookAt)
        .examples(&["getfacl -R src"], &["getfacl --restore x"]),
    Program::reads(&["lsattr"], "-RVadlpv").with(Operands::LookAt).examples(&["lsattr -d ."], &["lsattr -x a"]),
    Program::reads(&["mountpoint"], "-dqx --quiet --fs-devno --nofollow").with(Operands::LookAt).examples(&["mountpoint -q /mnt"], &["mountpoint --frob /"]),
];
