//! Programs that look for text, files and programs. `find` is judged by its own module.

use super::{Operands, Program};

pub(super) const ROWS: &[Program] = &[
    Program::reads(
        &["grep", "egrep", "fgrep", "zgrep", "ggrep"],
        "-EFGPicvwxyLlqsnbHhoTZzUaIrR -emABCDd= -f=< -# --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp= \
         --file=< --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? \
         --files-without-match --files-with-matches --max-count= --only-matching --quiet --silent --no-messages --byte-offset \
         --with-filename --no-filename --label= --line-number --initial-tab --null --null-data --after-context= \
         --before-context= --context= --text --binary-files= --devices= --directories= --exclude= --exclude-from=< \
         --exclude-dir= --include= --recursive --dereference-recursive --line-buffered --binary --group-separator= --no-group-separator",
    )
    .gnu()
    .with(Operands::PatternThenRead)
    .examples(
        &[
            "grep -rn TODO src", "grep -E 'a|b' \"$f\"", "grep -c x a b", "grep -v '^#' a", "grep --include='*.rs' -rl foo .", "grep -A3 -B 2 x a",
            "grep -P '\\d+' a", "grep -- -x a", "grep --ignore-c x a",
        ],
        &["grep --frob x a", "grep --output=a x b"],
    ),
    Program::reads(
        &["rg"],
        "-abcFHhiIlLnNoPpqsSuUvwxV0. -egtTmABCjMdrE= -f=< --regexp= --file=< --glob= --iglob= --type= --type-not= --type-list --type-add= \
         --max-count= --after-context= --before-context= --context= --threads= --max-columns= --max-columns-preview \
         --max-depth= --replace= --encoding= --count --count-matches --fixed-strings --with-filename --no-filename \
         --ignore-case --no-ignore --no-ignore-vcs --no-ignore-parent --no-ignore-dot --no-ignore-global --ignore-file=< \
         --no-ignore-exclude --no-ignore-files --files-with-matches --files-without-match --follow --line-number \
         --no-line-number --only-matching --pcre2 --pretty --quiet --case-sensitive --smart-case --unrestricted --multiline \
         --multiline-dotall --invert-match --word-regexp --line-regexp --null --null-data --hidden --no-hidden --files --json \
         --heading --no-heading --color= --colors= --column --no-column --no-config --no-messages --sort= --sortr= --stats --trim \
         --vimgrep --text --binary --passthru --max-filesize= --one-file-system --context-separator= --crlf --debug \
         --byte-offset --engine= --include-zero --no-unicode --path-separator= --no-require-git --glob-case-insensitive --auto-hybrid-regex \
         --field-match-separator= --field-context-separator= --line-buffered --block-buffered --no-ignore-messages --no-follow --ignore \
         !-z !--search-zip !--pre= !--pre-glob= !--hostname-bin= !--generate=",
    )
    .with(Operands::PatternThenRead)
    .careful()
    .note("`--pre` and `--hostname-bin` run a program, `-z` runs unpackers")
    .examples(
        &["rg -n foo src", "rg --files -g '*.rs'", "rg -tpy 'def \\w+' -A 3", "rg -l foo | xargs wc -l", "rg -uu --hidden x", "rg -e foo -e bar ."],
        &["rg --pre ./x foo", "rg --pre=./x foo", "rg -z foo", "rg --hostname-bin x foo", "rg \"$x\"", "rg -T --pre x y"],
    ),
    Program::reads(
        &["ag"],
        "-ilLcnwvSsQaUuFfHrRz0 -ABCmgG= --hidden --ignore= --ignore-dir= --ignore-case --smart-case --case-sensitive --literal --fixed-strings \
         --files-with-matches --files-without-matches --count --column --nogroup --group --nocolor --color --noheading --heading --numbers \
         --nonumbers --after= --before= --context= --max-count= --depth= --word-regexp --invert-match --silent --stats --vimgrep --follow \
         --unrestricted --skip-vcs-ignores --file-search-regex= !--pager= !--path-to-ignore=",
    )
    .with(Operands::PatternThenRead)
    .careful()
    .note("`--pager` runs a program")
    .examples(&["ag -l pattern src", "ag --hidden -A 2 x"], &["ag --pager x y", "ag \"$x\""]),
    Program::reads(
        &["fd", "fdfind"],
        "-HIuagsiFpL01qV -etdESocCcj= --hidden --no-ignore --no-ignore-vcs --unrestricted --absolute-path --glob --case-sensitive \
         --ignore-case --fixed-strings --full-path --follow --print0 --extension= --type= --max-depth= --min-depth= \
         --exact-depth= --exclude= --size= --owner= --base-directory= --color= --threads= --max-results= --changed-within= \
         --changed-before= --newer= --older= --regex --prune --quiet --strip-cwd-prefix? --one-file-system --relative-path --search-path= --format= \
         !-l !--list-details !-x !-X !--exec !--exec-batch",
    )
    .with(Operands::Text)
    .careful()
    .note("`-l` runs `ls`; the command behind `-x` and `-X` is judged like one behind `find -exec`")
    .examples(&["fd -e rs", "fd -HI -t f '^lib' src"], &["fd -l x", "fd --list x", "fd \"$x\""]),
    Program::reads(&["locate", "plocate", "mlocate"], "-AbceiLpPqrsw0 -ln= --all --basename --count --existing --ignore-case --limit= --regex --regexp= --wholename --statistics")
        .with(Operands::Text)
        .examples(&["locate -i readme"], &["locate --database x y"]),
    Program::reads(&["which"], "-as --all").with(Operands::Text).examples(&["which -a python3 node"], &["which --frob x"]),
    Program::reads(&["whereis"], "-bmsul").with(Operands::Text).examples(&["whereis gcc"], &["whereis -x gcc"]),
];
