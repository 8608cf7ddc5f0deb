//! Programs that read text and print it, changed or not.

use super::{Operands, Program};
use crate::directory::shown;
use crate::judge::{Parsed, is_reading_awk, is_reading_sed};
use crate::{Effect, Word};

macro_rules! sort_options {
    () => {
        "-bcCdfghiMmnRrsuVz -kStB= --parallel= --batch-size= --key= --field-separator= --reverse --unique --numeric-sort \
         --general-numeric-sort --human-numeric-sort --version-sort --month-sort --ignore-case --ignore-leading-blanks \
         --ignore-nonprinting --dictionary-order --check? --merge --stable --zero-terminated --buffer-size= --random-sort \
         --random-source=< --sort= --debug !-T= !--temporary-directory= !--compress-program= !--files0-from="
    };
}

macro_rules! sed_options {
    () => {
        "-nErsuz -le= --expression= --quiet --silent --regexp-extended --posix --sandbox --debug --null-data --separate --unbuffered \
         --line-length= !-f= !--file= !--follow-symlinks"
    };
}

macro_rules! uniq_options {
    () => {
        "-cdDiuz -fsw= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --check-chars= --all-repeated? \
         --group? --zero-terminated"
    };
}

macro_rules! yq_options {
    () => {
        "-rPeCMNjcyn -opIt= --output-format= --input-format= --output-type= --prettyPrint --raw-output --unwrapScalar? --no-colors \
         --colors --null-input --exit-status --no-doc --indent= !-s= !-f= !--from-file="
    };
}

pub(super) const ROWS: &[Program] = &[
    Program::reads(&["seq", "sleep", "yes", "basename", "dirname"], "-azw -sf= -# --multiple --suffix= --zero --separator= --format= --equal-width")
        .gnu()
        .neutral()
        .examples(&["seq 1 10", "sleep 5", "basename src/lib.rs .rs", "dirname \"$0\""], &["seq --frob 1"]),
    Program::reads(
        &["cat"],
        "-AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting",
    )
    .gnu()
    .examples(&["cat README.md", "cat -n src/*.rs", "cat -- \"$f\"", "cat --squeeze a"], &["cat --output=a b"]),
    Program::reads(&["tac"], "-br -s= --before --regex --separator=").gnu().examples(&["tac log.txt"], &["tac -x log.txt"]),
    Program::reads(&["head"], "-qvz -cn= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated")
        .gnu()
        .examples(&["head -20 a.txt", "head -n 5 a b", "head -c100 a", "head --lines=3 a"], &["head --follow a"]),
    Program::reads(
        &["tail"],
        "-qvzfFr -cns= -# --bytes= --lines= --quiet --silent --verbose --zero-terminated --follow? --retry --pid= \
         --sleep-interval= --max-unchanged-stats=",
    )
    .gnu()
    .examples(&["tail -n +10 a.txt", "tail -f app.log", "tail -50 a.log"], &["tail --write a"]),
    Program::reads(&["wc"], "-cmlLw --bytes --chars --lines --max-line-length --words --total= !--files0-from=")
        .gnu()
        .note("`--files0-from` takes the names of files from a file")
        .examples(&["wc -l src/*.rs", "wc"], &["wc --files0-from=list"]),
    Program::reads(
        &["nl"],
        "-p -bdfhilnsvw= --body-numbering= --section-delimiter= --footer-numbering= --header-numbering= --line-increment= \
         --join-blank-lines= --no-renumber --number-format= --number-separator= --number-width= --starting-line-number=",
    )
    .gnu()
    .examples(&["nl -ba src/lib.rs"], &["nl -z a"]),
    Program::reads(&["rev", "tsort", "zcat", "xzcat", "bzcat", "zstdcat"], "").examples(&["rev names.txt", "zcat app.log.1.gz"], &["zcat -k a.gz"]),
    Program::reads(&["fold"], "-bs -w= -# --bytes --spaces --width=").gnu().examples(&["fold -sw 80 a"], &["fold -z a"]),
    Program::reads(&["fmt"], "-cstu -wpg= -# --crown-margin --tagged-paragraph --width= --split-only --uniform-spacing --goal= --prefix=")
        .gnu()
        .examples(&["fmt -w 72 a"], &["fmt -o a"]),
    Program::reads(&["expand"], "-i -t= -# --initial --tabs=").gnu().examples(&["expand -t4 a"], &["expand -o a"]),
    Program::reads(&["unexpand"], "-a -t= --all --first-only --tabs=").gnu().examples(&["unexpand -a a"], &["unexpand -o a"]),
    Program::reads(
        &["cut"],
        "-nsz -bcdf= --complement --output-delimiter= --delimiter= --fields= --bytes= --characters= --only-delimited \
         --zero-terminated",
    )
    .gnu()
    .examples(&["cut -d: -f1,7 /etc/passwd", "cut -c1-80"], &["cut --write=a -f1 b"]),
    Program::reads(&["paste"], "-sz -d= --delimiters= --serial --zero-terminated").gnu().examples(&["paste -sd, a"], &["paste -o a b"]),
    Program::reads(&["join"], "-iz -aejotv12= --header --check-order --nocheck-order --ignore-case --zero-terminated")
        .gnu()
        .examples(&["join -t, -1 2 a b"], &["join -w a b"]),
    Program::reads(&["comm"], "-123z --check-order --nocheck-order --total --output-delimiter= --zero-terminated")
        .gnu()
        .examples(&["comm -12 a b", "comm -23 <(sort a) <(sort b)"], &["comm --write=c a b"]),
    Program::reads(&["cmp"], "-bls -in= --silent --quiet --bytes= --print-bytes --verbose --ignore-initial=")
        .gnu()
        .examples(&["cmp -s a b"], &["cmp -o a b"]),
    Program::reads(
        &["diff"],
        "-abBcdeEiNnpqrstTuwyZ -CUIWxFLSD= -X=< -# --brief --recursive --unified? --context? --side-by-side --color? --ignore-case \
         --ignore-all-space --ignore-space-change --ignore-blank-lines --ignore-trailing-space --ignore-tab-expansion \
         --ignore-matching-lines= --exclude= --exclude-from=< --new-file --unidirectional-new-file --text --report-identical-files \
         --suppress-common-lines --suppress-blank-empty --width= --minimal --label= --strip-trailing-cr --no-dereference --left-column \
         --ed --normal --rcs --show-function-line= --show-c-function --initial-tab --tabsize= --expand-tabs --ifdef= \
         --line-format= --palette= --horizon-lines= --speed-large-files --starting-file= --ignore-file-name-case \
         --no-ignore-file-name-case --from-file=< --to-file=< !-l !--paginate",
    )
    .gnu()
    .note("`-l` runs `pr`")
    .examples(&["diff -u a b", "diff -rq old new", "diff <(ls a) <(ls b)"], &["diff -l a b", "diff --pag a b"]),
    Program::reads(&["diff3"], "-AeE3xXimaT -L= --text --merge --strip-trailing-cr --label= --show-overlap --easy-only --overlap-only --initial-tab !--diff-program=")
        .gnu()
        .note("`--diff-program` runs a program")
        .examples(&["diff3 -m mine base yours"], &["diff3 --diff-program=x a b c"]),
    Program::reads(
        &["sdiff"],
        "-iEZbWBalstdH -Iw= --ignore-case --ignore-all-space --suppress-common-lines --left-column --width= --text --expand-tabs \
         --minimal !-o= !--output= !--diff-program=",
    )
    .gnu()
    .note("`-o` writes and opens an editor; `--diff-program` runs a program")
    .examples(&["sdiff -s a b"], &["sdiff -o c a b", "sdiff --outp=c a b"]),
    Program::reads(
        &["od"],
        "-abcdfilosxv -AjNSt= -w? --address-radix= --endian= --skip-bytes= --read-bytes= --format= --output-duplicates --width? --traditional",
    )
    .gnu()
    .examples(&["od -c a", "od -An -tx1 -N16 a.bin"], &["od --write a"]),
    Program::reads(&["hexdump", "hd"], "-bcCdovx -ens= -f=< --one-byte-octal --one-byte-char --canonical --format= --length= --skip= --no-squeezing")
        .examples(&["hexdump -C a.bin", "hexdump -n 64 -C a"], &["hexdump -W a"]),
    Program::reads(
        &["xxd"],
        "~-a ~-autoskip ~-b ~-bits ~-C ~-e ~-E ~-i ~-include ~-p ~-ps ~-plain ~-u -lscgon= !-r",
    )
    .note("a second operand is written; `-r` writes")
    .check(at_most_one)
    .examples(&["xxd a.bin", "xxd -l 64 -p a"], &["xxd a b", "xxd -r a", "xxd $a"]),
    Program::reads(&["strings"], "-adfow -nteT= -# --all --data --print-file-name --bytes= --radix= --encoding=")
        .note("`@file` holds more options")
        .check(no_option_files)
        .examples(&["strings -n 8 a.out"], &["strings @more a.out"]),
    Program::reads(
        &["md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "shasum", "sum", "md5"],
        "-bctwzqrs -al= --binary --check --tag --untagged --text --zero --ignore-missing --quiet --status --strict --warn --algorithm= --length=",
    )
    .gnu()
    .examples(&["sha256sum a.tgz", "sha256sum -c SUMS", "shasum -a 256 a"], &["md5sum -o x a"]),
    Program::reads(&["base64", "base32", "basenc"], "-di -w= --decode --ignore-garbage --wrap= --base64 --base64url --base32 --base16 --z85")
        .gnu()
        .note("`-o` of other implementations writes")
        .examples(&["base64 -d a.b64", "base64 -w0 a"], &["base64 -i a -o b"]),
    Program::reads(
        &["column"],
        "-txeJLd -nsocNRHTOEWlrip= --table --separator= --output-separator= --output-width= --json --table-columns= --table-name= \
         --table-order= --table-right= --table-hide= --table-noheadings --fillrows --keep-empty-lines",
    )
    .examples(&["column -t -s, a.csv"], &["column --write a"]),
    Program::reads(&["pr"], "-acdfFmrtTv -# -Dhlow= -eins? --columns= --header= --length= --merge --omit-header --omit-pagination --width=")
        .gnu()
        .examples(&["pr -2 -t a"], &["pr --output=a b"]),
    Program::reads(&["iconv"], "-cls -ft= --from-code= --to-code= --list --silent --verbose !-o= !--output=")
        .gnu()
        .note("`-o` writes")
        .examples(&["iconv -f latin1 -t utf8 a.txt"], &["iconv -f latin1 -o b a", "iconv --out=b a"]),
    Program::reads(&["tr"], "-cCdst --complement --delete --squeeze-repeats --truncate-set1")
        .gnu()
        .with(Operands::Text)
        .examples(&["tr a-z A-Z", "tr -d '\\r'", "tr '\\0' '\\n'"], &["tr -o a b"]),
    Program::reads(&["uniq"], uniq_options!())
        .gnu()
        .note("a second operand is written")
        .check(at_most_one)
        .examples(&["uniq -c", "uniq -d names.txt", "uniq \"$f\""], &["uniq a b", "uniq $f", "uniq -- a b", "uniq src/*"]),
    Program::writes(&["uniq"], uniq_options!(), Operands::Copy)
        .gnu()
        .check(|parsed| parsed.operands.len() == 2)
        .examples(&["uniq a b"], &["uniq a", "uniq a b c"]),
    Program::reads(&["shuf"], "-ezr -in= --echo --input-range= --head-count= --repeat --zero-terminated --random-source=< !-o= !--output=")
        .gnu()
        .careful()
        .note("`-o` writes")
        .examples(&["shuf -n 3 names.txt"], &["shuf -o b a", "shuf --outp=b a", "shuf \"$x\""]),
    Program::reads(&["sort"], concat!(sort_options!(), " !-o= !--output="))
        .gnu()
        .careful()
        .note("`-o` writes; `-T` writes temporary files there; `--compress-program` runs a program")
        .examples(
            &["sort -rn a", "sort -t, -k2,2n a.csv", "sort -u --rev a", "sort \"./$x\"", "sort src/*.txt"],
            &["sort -o b a", "sort -ob a", "sort -no b a", "sort --outp=b a", "sort --comp=x a", "sort -T d a", "sort \"$x\"", "sort *.txt", "sort src/$x*", "sort a --o b"],
        ),
    Program::writes(&["sort"], concat!(sort_options!(), " -o=> --output=>"), Operands::Read)
        .gnu()
        .careful()
        .check(|parsed| parsed.has(&["-o", "--output"]))
        .examples(&["sort -o b a", "sort -uob a", "sort a --outp=b"], &["sort a", "sort -o b --compress-program=x a"]),
    Program::reads(&["sed", "gsed"], sed_options!())
        .gnu()
        .with(Operands::PatternThenRead)
        .careful()
        .note("`-i` writes; the commands `e`, `w`, `W`, `r` and `R` of a script and the flags `e` and `w` of `s` run, write or read; so may a script in a file")
        .check(sed_reads)
        .examples(
            &[
                "sed -n '10,40p' a", "sed 's/a/b/g; /^$/d' a", "sed -n '/start/,/end/{/x/!p}' a", "sed -E 's|(a+)/b|\\1|I' a", "sed '$d' a",
                "sed ':a;N;$!ba;s/\\n/ /g' a", "sed --quiet --expr=1p a", "sed '/x/a more text' a", "sed '1!G;h;$!d' a", "sed 's/[^/]*$//' a", "sed 's/[[:space:]/]*$/[/' a",
            ],
            &[
                "sed -i s/a/b/ a", "sed --in-pl s/a/b/ a", "sed -ni p a", "sed -Ei.bak s/a/b/ a", "sed 's/a/b/e' a", "sed '1e date' a", "sed 'w b' a",
                "sed -n '/x/w b' a", "sed s/a/b/w\\ b a", "sed -f a.sed b", "sed 's/a/[/w b]/' a", "sed 's/[\\]/w b/;s/x]/y/' a", "sed \"$x\" a", "sed -n 1p \"$x\"", "sed '{e date\n}' a", "sed 'r b' a",
            ],
        ),
    Program::writes(&["sed", "gsed"], concat!(sed_options!(), " -i? --in-place?"), Operands::ScriptThenWrite)
        .gnu()
        .careful()
        .check(|parsed| parsed.has(&["-i", "--in-place"]) && sed_reads(parsed))
        .examples(&["sed -i s/a/b/ a", "sed -i.bak -e s/a/b/ a b", "sed --in-pl=.x s/a/b/ a"], &["sed s/a/b/ a", "sed -i 's/a/b/e' a"]),
    Program::reads(&["awk", "gawk", "mawk", "nawk"], "-Fv= --field-separator= --assign= --posix --re-interval")
        .with(Operands::ScriptThenRead)
        .careful()
        .note("programs with `system`, `getline`, pipes, output files, includes or environment variables, and programs in files")
        .check(|parsed| parsed.literal(0).is_some_and(is_reading_awk))
        .examples(
            &[
                "awk '{print $1}' a", "awk -F: '$3 > 100 {print $1}' /etc/passwd", "awk 'NR>=10 && NR<=20' a", "awk '{s+=$1} END {print s/NR}' a",
                "awk -v n=3 'NR==n' a", "awk '!seen[$0]++' a", "awk '{printf \"%s\\n\", substr($0, 1, 80)}' a", "awk '{print ($1 > 0 ? \"a\" : \"b\")}' a",
                "awk '/x/ {print > \"/dev/stderr\"}' a", "awk 'BEGIN {print 2^10; print sin(0.5)}'",
            ],
            &[
                "awk '{print > \"b\"}' a", "awk '{print | \"sort\"}' a", "awk '{system($1)}' a", "awk 'BEGIN {getline x < \"b\"}'",
                "awk 'BEGIN {\"date\" | getline}'", "awk -f a.awk b", "awk \"$x\" a", "awk '{print ENVIRON[\"X\"]}' a", "awk -i inplace 1 a",
                "awk '{print > $1}' a", "awk '@include \"b\"' a", "awk '{print $1}' \"$x\"",
            ],
        ),
    Program::reads(
        &["jq", "gojq", "jaq"],
        "-cnrjaSCMseR0 --compact-output --null-input --raw-output --raw-output0 --join-output --ascii-output --sort-keys --color-output \
         --monochrome-output --slurp --exit-status --raw-input --tab --indent= --stream --stream-errors --seq --arg== --argjson== \
         --slurpfile==< --rawfile==< --args --jsonargs --unbuffered --ascii !-f= !--from-file= !-L=",
    )
    .with(Operands::ScriptThenRead)
    .note("programs that show the environment or load modules, and programs in files")
    .check(|parsed| {
        parsed.operands.first().is_none_or(|program| {
            program.literal().is_some_and(|program| !names_word(program, &["env", "ENV", "import", "include"]))
        })
    })
    .examples(
        &["jq -r '.scripts.test' package.json", "jq . a.json", "jq --arg n x '.[$n]' a", "jq '.environment, .env' a", "jq -n '1+1'"],
        &["jq -n env", "jq -n '$ENV.HOME'", "jq 'import \"a\" as a; .' b", "jq -f a.jq b", "jq -L lib . a", "jq \"$x\" a"],
    ),
    Program::reads(&["yq"], yq_options!())
        .with(Operands::VerbAndScriptThenRead)
        .careful()
        .check(|parsed| is_yq_verb(parsed) && yq_reads(parsed, 1))
        .examples(&["yq eval '.a' a.yml", "yq ea '.a' a.yml b.yml"], &["yq eval 'env(X)' a.yml", "yq .a a.yml"]),
    Program::reads(&["yq"], yq_options!())
        .with(Operands::ScriptThenRead)
        .careful()
        .note("`-i` writes; programs that show the environment or load files")
        .check(|parsed| !is_yq_verb(parsed) && yq_reads(parsed, 0))
        .examples(
            &["yq '.services.web.image' docker-compose.yml", "yq -r .a a.yml", "yq -o=json . a.yml", "yq .environment a.yml"],
            &["yq -i '.a = 1' a.yml", "yq 'load(\"b\")' a", "yq 'strenv(X)' a", "yq \"$x\" a"],
        ),
    Program::writes(&["yq"], concat!(yq_options!(), " -i --inplace --in-place"), Operands::ScriptThenWrite)
        .careful()
        .check(|parsed| parsed.has(&["-i", "--inplace", "--in-place"]) && !is_yq_verb(parsed) && yq_reads(parsed, 0))
        .examples(&["yq -i '.a = 1' a.yml"], &["yq .a a.yml", "yq -i '.a = load(\"b\")' a.yml"]),
    Program::reads(&["bc"], "-lqsw --mathlib --quiet --standard").examples(&["bc -l"], &["bc --frob"]),
    Program::reads(&["expr", "factor", "numfmt"], "-z -d= --delimiter= --to= --from= --to-unit= --from-unit= --suffix= --padding= --grouping --field= --format= --round= --invalid= --header? --debug")
        .gnu()
        .with(Operands::Text)
        .examples(&["expr 1 + 2", "numfmt --to=iec 123456"], &["numfmt --frob 1"]),
    Program::reads(&["bat", "batcat"], "-pAnSf -lrHm= --plain --show-all --number --language= --line-range= --highlight-line= --style= --color= --theme= --wrap= --paging= --decorations= --no-config !--pager= !-P")
        .careful()
        .note("`--pager` runs a program")
        .check(|parsed| parsed.values(&["--paging"]).all(|value| value.literal() == Some("never")))
        .examples(&["bat -p src/lib.rs", "bat --paging=never -r 1:20 a"], &["bat --pager x a", "bat --paging=always a"]),
    Program::unknown(&["envsubst"], &[Effect::Read, Effect::Secret])
        .note("prints what the environment holds")
        .examples(&["envsubst"], &[]),
];

/// Whether a word is certain to be one.
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
pub(super) fn no_option_files(parsed: &Parsed<'_>) -> bool {
    !parsed.operands.iter().any(|word| shown(word).starts_with('@'))
}

fn sed_reads(parsed: &Parsed<'_>) -> bool {
    let mut scripts = parsed.values(&["-e", "--expression"]).peekable();
    if scripts.peek().is_none() {
        return parsed.literal(0).is_some_and(is_reading_sed);
    }
    scripts.all(|script| script.literal().is_some_and(is_reading_sed))
}

/// Whether the first operand of `yq` says what to do rather than how.
fn is_yq_verb(parsed: &Parsed<'_>) -> bool {
    matches!(parsed.literal(0), Some("eval" | "e" | "eval-all" | "ea"))
}

fn yq_reads(parsed: &Parsed<'_>, script: usize) -> bool {
    parsed.literal(script).is_some_and(|script| {
        !names_word(script, &["env", "strenv", "envsubst", "ENV", "eval", "system", "split_doc"])
            && !script.contains("load")
    })
}

/// Whether a program holds one of `words` where it is no key (`.env`, `"env"`).
pub(super) fn names_word(program: &str, words: &[&str]) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut before = None;
    let mut rest = program;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        let length = end.max(if is_part(first) { 1 } else { first.len_utf8() });
        let Some((piece, tail)) = rest.split_at_checked(length) else { return true };
        if words.contains(&piece) && !matches!(before, Some('.' | '"')) {
            return true;
        }
        before = piece.chars().next_back();
        rest = tail;
    }
    false
}
