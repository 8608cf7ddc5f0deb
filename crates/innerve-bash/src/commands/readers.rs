//! Programs that read files and system state.

use super::{Operands, Program};
use crate::directory::shown;
use crate::judge::{Parsed, is_reading_awk, is_reading_sed};
use crate::secrets::is_secret_variable;
use crate::{Class, Effect, Word};

macro_rules! sort_options {
    () => {
        "-bcCdfghiMmnRrsuVz -kStB= --parallel= --key= --field-separator= --reverse --unique --numeric-sort --general-numeric-sort \
         --human-numeric-sort --version-sort --month-sort --ignore-case --ignore-leading-blanks --dictionary-order --check? \
         --merge --stable --zero-terminated --buffer-size= --random-sort --sort= --debug"
    };
}

macro_rules! sed_options {
    () => {
        "-nErsuz -le= --expression= --quiet --silent --regexp-extended --posix --sandbox --debug --null-data --separate --unbuffered"
    };
}

pub(super) const ROWS: &[Program] = &[
    // Without effects.
    Program::reads(&["echo", "printf", "true", "false", "pwd", "test"], "*").neutral(),
    Program::reads(&["sleep", "basename", "dirname", "seq", "yes"], "-azw -sf= --multiple --suffix= --zero --separator= --format= --equal-width")
        .neutral(),
    // Contents of files.
    Program::reads(
        &["cat"],
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
    ),
    Program::reads(&["tr"], "-cCdst --complement --delete --squeeze-repeats --truncate-set1").with(Operands::Text),
    Program::reads(&["tac"], "-br -s= --before --regex --separator="),
    Program::reads(&["head"], "-qvz -cn= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated"),
    Program::reads(
        &["tail"],
        "-qvzfFr -cns= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated --follow? --retry --pid= \
         --sleep-interval= --max-unchanged-stats=",
    ),
    Program::reads(&["wc"], "-cmlLw --bytes --chars --lines --max-line-length --words --total="),
    Program::reads(&["nl"], "-p -bdfhilnsvw= --body-numbering= --number-format= --number-width= --starting-line-number="),
    Program::reads(&["rev", "tsort", "sum", "zcat", "xzcat", "bzcat"], ""),
    Program::reads(&["fold"], "-bs -w= --bytes --spaces --width="),
    Program::reads(&["fmt"], "-cstu -wpg= -# --width= --split-only --uniform-spacing --goal= --prefix="),
    Program::reads(&["expand"], "-i -t= --initial --tabs="),
    Program::reads(&["unexpand"], "-a -t= --all --first-only --tabs="),
    Program::reads(
        &["cut"],
        "-nsz -bcdf= --complement --output-delimiter= --delimiter= --fields= --bytes= --characters= --only-delimited \
         --zero-terminated",
    ),
    Program::reads(&["paste"], "-sz -d= --delimiters= --serial --zero-terminated"),
    Program::reads(&["join"], "-iz -aejotv12= --header --check-order --nocheck-order --ignore-case"),
    Program::reads(&["comm"], "-123z --check-order --nocheck-order --total --output-delimiter= --zero-terminated"),
    Program::reads(&["cmp"], "-bls -in= --silent --quiet --bytes= --print-bytes --verbose --ignore-initial="),
    Program::reads(&["od"], "-abcdfilosxv -AjNSt= -w? --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates"),
    Program::reads(&["hexdump", "hd"], "-bcCdovx -ens= --canonical --length= --skip="),
    Program::reads(&["strings"], "-afow -nteT= -# --all --bytes= --radix= --encoding=").check(no_option_files),
    Program::reads(
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "shasum"],
        "-bctwz -al= --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --algorithm= --length=",
    ),
    Program::reads(&["base64", "base32"], "-di -w= --decode --ignore-garbage --wrap="),
    Program::reads(
        &["column"],
        "-txneJL -socNRHTOE= --table --separator= --output-separator= --json --table-columns= --table-right= --fillrows",
    ),
    Program::reads(
        &["xxd"],
        "~-a ~-autoskip ~-b ~-bits ~-C ~-e ~-E ~-i ~-include ~-p ~-ps ~-plain ~-u -lscgon=",
    )
    .check(at_most_one),
    Program::reads(
        &["uniq"],
        "-cdDiuz -fsw= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --all-repeated? \
         --group? --zero-terminated",
    )
    .check(at_most_one),
    Program::writes(
        &["uniq"],
        "-cdDiuz -fsw= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars=",
        Operands::Copy,
    )
    .check(|parsed| parsed.operands.len() == 2),
    Program::reads(&["shuf"], "-ezr -in= --echo --input-range= --head-count= --repeat --zero-terminated").careful(),
    Program::reads(&["sort"], sort_options!()).careful(),
    Program::writes(&["sort"], concat!(sort_options!(), " -o=> --output=>"), Operands::Read)
        .careful()
        .check(|parsed| parsed.has(&["-o", "--output"])),
    Program::reads(
        &["diff"],
        "-abBcdeEiNnpqrstTuwyZ -CUIWxFL= -X=< --brief --recursive --unified? --context? --side-by-side --color? --ignore-case \
         --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --exclude= --exclude-from=< \
         --new-file --text --report-identical-files --suppress-common-lines --width= --minimal --label= --strip-trailing-cr \
         --no-dereference --left-column --ed --normal --rcs --show-function-line= --show-c-function --tabsize= --expand-tabs",
    ),
    Program::reads(
        &["grep", "egrep", "fgrep", "zgrep"],
        "-EFGPicvwxyLlqsnbHhoTZzUaIrR -emABCDd= -f=< -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp= \
         --file=< --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? \
         --files-without-match --files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset \
         --with-filename --no-filename --label= --line-number --initial-tab --null --null-data --after-context= \
         --before-context= --context= --text --binary-files= --devices= --directories= --exclude= --exclude-from=< \
         --exclude-dir= --include= --recursive --dereference-recursive --line-buffered --binary",
    )
    .with(Operands::PatternThenRead),
    Program::reads(
        &["rg"],
        "-abcFHhiIlLnNoPpqsSuUvwx0. -egtTmABCjMdrE= -f=< --regexp= --file=< --glob= --iglob= --type= --type-not= --type-list \
         --max-count= --after-context= --before-context= --context= --threads= --max-columns= --max-columns-preview \
         --max-depth= --replace= --encoding= --count --count-matches --fixed-strings --with-filename --no-filename \
         --ignore-case --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global \
         --no-ignore-exclude --no-ignore-files --files-with-matches --files-without-match --follow --line-number \
         --no-line-number --only-matching --pcre2 --pretty --quiet --case-sensitive --smart-case --unrestricted --multiline \
         --multiline-dotall --invert-match --word-regexp --line-regexp --null --null-data --hidden --no-hidden --files --json \
         --heading --no-heading --color= --colors= --column --no-column --no-config --no-messages --sort= --sortr= --stats --trim \
         --vimgrep --text --binary --passthru --max-filesize= --one-file-system --context-separator= --crlf --debug \
         --byte-offset --engine= --include-zero --no-unicode --path-separator= --no-require-git --glob-case-insensitive",
    )
    .with(Operands::PatternThenRead)
    .careful(),
    Program::reads(
        &["fd", "fdfind"],
        "-HIuagsiFpL01q -etdESoCcj= --hidden --no-ignore --no-ignore-vcs --unrestricted --absolute-path --glob --case-sensitive \
         --ignore-case --fixed-strings --full-path --follow --print0 --extension= --type= --max-depth= --min-depth= \
         --exact-depth= --exclude= --size= --owner= --base-directory= --color= --threads= --max-results= --changed-within= \
         --changed-before= --regex --prune --quiet --strip-cwd-prefix? --one-file-system",
    )
    .with(Operands::Text)
    .careful(),
    Program::reads(&["sed", "gsed"], sed_options!()).with(Operands::PatternThenRead).careful().check(sed_reads),
    Program::writes(&["sed", "gsed"], concat!(sed_options!(), " -i? --in-place?"), Operands::ScriptThenWrite)
        .careful()
        .check(|parsed| parsed.has(&["-i", "--in-place"]) && sed_reads(parsed)),
    Program::reads(&["awk", "gawk", "mawk", "nawk"], "-Fv= --field-separator= --assign= --posix --re-interval")
        .with(Operands::ScriptThenRead)
        .careful()
        .check(|parsed| parsed.literal(0).is_some_and(is_reading_awk)),
    Program::reads(
        &["jq"],
        "-cnrjaSCMseR --compact-output --null-input --raw-output --join-output --ascii-output --sort-keys --color-output \
         --monochrome-output --slurp --exit-status --raw-input --tab --indent= --stream --seq",
    )
    .with(Operands::ScriptThenRead)
    .check(|parsed| {
        parsed.literal(0).is_some_and(|program| {
            !["env", "ENV", "import", "include", "input_filename", "$__"].iter().any(|word| program.contains(word))
        })
    }),
    Program::reads(
        &["yq"],
        "-rPeCMNjcy -opI= --output-format= --input-format= --prettyPrint --raw-output --unwrapScalar? --no-colors --colors",
    )
    .with(Operands::ScriptThenRead)
    .careful()
    .check(|parsed| {
        parsed.literal(0).is_some_and(|program| {
            !["env", "ENV", "load", "eval", "system", "split_doc"].iter().any(|word| program.contains(word))
        })
    }),
    Program::reads(&["tar"], "-tvzjJa -f=< --list --verbose --gzip --bzip2 --xz --zstd --file=< --wildcards --exclude= --auto-compress")
        .with(Operands::Text)
        .careful()
        .check(tar_lists),
    Program::acts(&["tar"], &[Effect::Read, Effect::Write]),
    Program::reads(&["unzip"], "-ltvqZ12hmsTz").careful().check(|parsed| parsed.has(&["-l", "-t", "-v", "-Z"])),
    Program::reads(&["zipinfo"], "-12lsmhtTz").careful(),
    Program::acts(&["unzip", "zip", "7z"], &[Effect::Read, Effect::Write]),
    Program::reads(&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"], "-cdlktqv --stdout --list --test --decompress --to-stdout")
        .careful()
        .check(unpacks_nothing),
    Program::acts(&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd"], &[Effect::Write, Effect::Delete]),
    Program::reads(&["nm", "size"], "-aACDgnopPrSuB -tf= --demangle? --dynamic --extern-only --defined-only --undefined-only --print-size --size-sort")
        .careful()
        .check(no_option_files),
    Program::reads(&["objdump"], "-afphxdDStTrRslCwzg -jM= --demangle? --disassemble? --source --syms --headers --section= --no-show-raw-insn")
        .careful()
        .check(no_option_files),
    Program::reads(&["bc"], "-lqsw --mathlib --quiet"),
    Program::reads(&["readelf"], "-ahlSsrdVWngtueI --all --file-header --sections --symbols --dynamic --wide --notes").careful(),
    // Names and metadata of files.
    Program::reads(
        &["ls", "dir", "vdir"],
        "-aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1 -ITw= --all --almost-all --author --escape --block-size= --ignore-backups --color? \
         --directory --dired --classify? --file-type --format= --full-time --group-directories-first --no-group \
         --human-readable --si --hide= --hyperlink? --indicator-style= --inode --ignore= --kibibytes --dereference \
         --numeric-uid-gid --literal --quote-name --quoting-style= --reverse --recursive --size --sort= --time= --time-style= \
         --width= --context --zero --tabsize=",
    )
    .with(Operands::LookAt),
    Program::reads(&["stat"], "-Lftx -c= --dereference --file-system --terse --format= --printf= --cached=").with(Operands::LookAt),
    Program::reads(&["readlink"], "-femnqsvz --canonicalize --no-newline --zero").with(Operands::LookAt),
    Program::reads(&["realpath"], "-emLPqsz --relative-to= --relative-base= --quiet --no-symlinks --logical --physical")
        .with(Operands::LookAt),
    Program::reads(
        &["file"],
        "-bhikLNnprs0 -F= --brief --mime --mime-type --mime-encoding --dereference --no-dereference --separator= --extension \
         --keep-going --no-pad",
    )
    .with(Operands::LookAt)
    .careful(),
    Program::reads(
        &["du"],
        "-0abchklmSsxHLDP -dtB= --all --apparent-size --bytes --total --human-readable --si --max-depth= --summarize \
         --one-file-system --exclude= --threshold= --time? --time-style= --separate-dirs --inodes --null --block-size= --dereference",
    )
    .with(Operands::LookAt),
    Program::reads(
        &["df"],
        "-ahHiklPTv -txB= --all --human-readable --si --inodes --local --portability --type= --print-type --exclude-type= --total \
         --output? --block-size=",
    )
    .with(Operands::LookAt),
    Program::reads(
        &["tree"],
        "-adflFhiCnNpqrstuxDgvJXUcQS -LPI= --dirsfirst --noreport --gitignore --prune --charset= --filelimit= --timefmt= --du --si \
         --inodes --device --matchdirs --sort= --ignore-case",
    )
    .with(Operands::LookAt)
    .careful(),
    // System state.
    Program::reads(&["which"], "-as --all").with(Operands::Text),
    Program::reads(&["whereis"], "-bmsul").with(Operands::Text),
    Program::reads(&["whoami", "groups", "arch", "tty", "logname", "users"], "").with(Operands::Text),
    Program::reads(&["id"], "-agGnruzZ --group --groups --name --real --user --zero").with(Operands::Text),
    Program::reads(
        &["uname"],
        "-asnrvmpio --all --kernel-name --nodename --kernel-release --kernel-version --machine --processor --operating-system",
    )
    .with(Operands::Text),
    Program::reads(&["nproc"], "--all --ignore=").with(Operands::Text),
    Program::reads(&["uptime", "w", "who"], "-pshabdlmqrtTuH --pretty --since").with(Operands::Text),
    Program::reads(&["free"], "-bkmghtwlv -sc= --mega --giga --kilo --human --total --wide").with(Operands::Text),
    Program::reads(&["lscpu", "lsmem"], "-abcJprxyB --all --json --extended? --parse?").with(Operands::Text),
    Program::reads(&["lsblk", "findmnt"], "-abdflmnprtDJLPST -o= --all --fs --json --list --noheadings --output= --paths --bytes")
        .with(Operands::Text),
    Program::reads(&["locale"], "-amck").with(Operands::Text),
    Program::reads(&["cal", "ncal"], "-13yjmMswhb -nABm=").with(Operands::Text),
    Program::reads(&["hostname"], "-fsidAI --fqdn --short --ip-address --all-ip-addresses")
        .with(Operands::Text)
        .careful()
        .check(|parsed| parsed.operands.is_empty()),
    Program::reads(
        &["date"],
        "-Ru -I? -d= -r=< --date= --utc --universal --rfc-3339= --iso-8601? --rfc-email --reference=< --debug",
    )
    .with(Operands::Text)
    .careful()
    .check(|parsed| parsed.operands.iter().all(|word| is_one_word(word) && shown(word).starts_with('+'))),
    Program::reads(
        &["ps"],
        "-AaedfFljLTHwxNMycZ -opuUCtgGsqOk= --sort= --no-headers --no-heading --forest --pid= --ppid= --user= --User= --format= --headers \
         --cols= --columns= --width= --deselect --cumulative",
    )
    .with(Operands::Text)
    .careful()
    .check(ps_hides_environments),
    Program::reads(
        &["pgrep"],
        "-acfilnovwx -dgGPstuUr= --full --list-name --list-full --count --newest --oldest --exact --ignore-case --parent= --euid= --uid=",
    )
    .with(Operands::Text),
    Program::reads(&["pstree"], "-acghlnpstTuZA -H= --arguments --show-pids --long").with(Operands::Text),
    Program::reads(&["lsof"], "-nPtlUabRwNV -i? -pucdg=").with(Operands::Text).careful(),
    Program::reads(&["ss"], "-tulnpaoeimsrHxw460OZ --tcp --udp --listening --numeric --processes --all --summary --no-header")
        .with(Operands::Text)
        .careful(),
    Program::reads(&["netstat"], "-tulnpaeirsgWNoMx46 --tcp --udp --listening --numeric --programs --all --route").with(Operands::Text).careful(),
    Program::reads(&["vmstat", "iostat", "mpstat"], "-adfimnstwxkzhcNpy").with(Operands::Text),
    Program::reads(&["ip"], "-46scojpdh ~-br ~-brief ~-json ~-stats").with(Operands::Text).careful().check(ip_shows),
    Program::acts(&["ip"], &[Effect::State]),
    Program::reads(
        &["journalctl"],
        "-exfkrqa -unpogtSU= -b? --no-pager --since= --until= --unit= --lines? --priority= --output= --user --system --grep= \
         --follow --reverse --boot? --dmesg --quiet --user-unit= --identifier= --list-boots --disk-usage",
    )
    .with(Operands::Text)
    .careful(),
    Program::reads(&["dmesg"], "-HTtxkurPSed -lf= -L? --human --ctime --level= --facility= --color? --kernel --nopager --notime --reltime")
        .with(Operands::Text)
        .careful(),
    Program::reads(&["getconf", "getent", "factor", "expr", "numfmt", "help"], "-as --to= --from= --suffix= --padding= --grouping --field= --header?")
        .with(Operands::Text),
    Program::reads(&["man", "apropos", "whatis"], "-k")
        .with(Operands::Text)
        .careful()
        .check(|parsed| (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(is_plain_name))),
    Program::reads(&["printenv"], "").with(Operands::Text).careful().check(|parsed| {
        !parsed.operands.is_empty()
            && (0..parsed.operands.len()).all(|index| parsed.literal(index).is_some_and(|name| !is_secret_variable(name)))
    }),
    Program::acts(&["printenv"], &[Effect::Secret]).class(Class::Unknown),
];

fn is_one_word(word: &Word) -> bool {
    match word {
        Word::Literal(_) => true,
        Word::Dynamic(dynamic) => dynamic.one_word,
    }
}

/// Programs whose second operand is written.
fn at_most_one(parsed: &Parsed<'_>) -> bool {
    parsed.operands.len() <= 1 && parsed.operands.iter().all(|word| is_one_word(word))
}

/// Programs that read options from `@file`.
fn no_option_files(parsed: &Parsed<'_>) -> bool {
    !parsed.operands.iter().any(|word| shown(word).starts_with('@'))
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+' | b'.' | b':')
        })
}

fn sed_reads(parsed: &Parsed<'_>) -> bool {
    let mut scripts = parsed.values(&["-e", "--expression"]).peekable();
    if scripts.peek().is_none() {
        return parsed.literal(0).is_some_and(is_reading_sed);
    }
    scripts.all(|script| script.literal().is_some_and(is_reading_sed))
}

/// `tar -tf FILE` and `tar tf FILE`, but no archive on another host.
fn tar_lists(parsed: &Parsed<'_>) -> bool {
    let old_style = parsed.literal(0).is_some_and(|letters| {
        letters.contains('t')
            && letters.ends_with('f')
            && letters.bytes().all(|letter| b"tvzjJf".contains(&letter))
    });
    let archive = if old_style {
        parsed.literal(1)
    } else if parsed.has(&["-t", "--list"]) {
        parsed.values(&["-f", "--file"]).next().and_then(|value| value.literal())
    } else {
        None
    };
    archive.is_some_and(|path| !path.contains(':'))
}

/// Listing, testing, or writing to standard output; of several modes some programs take the last.
fn unpacks_nothing(parsed: &Parsed<'_>) -> bool {
    parsed.has(&["-c", "--stdout", "--to-stdout"])
        || parsed.has(&["-l", "-t", "--list", "--test"]) && !parsed.has(&["-d", "--decompress"])
}

/// `ps e` shows what other processes have in their environment.
fn ps_hides_environments(parsed: &Parsed<'_>) -> bool {
    let columns = parsed
        .values(&["-o", "-O", "--format"])
        .all(|value| value.literal().is_some_and(|text| !text.contains("env")));
    // `-aux` is read as `aux` when there is no user `x`.
    let users = parsed.values(&["-u", "-U"]).all(|value| {
        value.literal().is_some_and(|text| !text.starts_with('x') || !text.contains('e'))
    });
    let operands = (0..parsed.operands.len()).all(|index| {
        parsed.literal(index).is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
                || text.bytes().all(|byte| b"auxfwljrvshLmTHcgnX".contains(&byte))
        })
    });
    columns && users && operands
}

fn ip_shows(parsed: &Parsed<'_>) -> bool {
    let object = matches!(
        parsed.literal(0),
        Some(
            "a" | "addr" | "address" | "l" | "link" | "r" | "route" | "n" | "neigh" | "rule" | "-V"
        )
    );
    object
        && matches!(parsed.literal(1), None | Some("show" | "list" | "ls" | "sh"))
        && (parsed.operands.len() < 2 || parsed.literal(1).is_some())
}
