//! Texts that bash reads otherwise than they look, and constructs that run data: never more than `Opaque`.

use innerve_bash::{OpaqueCode, analyze};

use super::argvs;

#[track_caller]
fn check(code: OpaqueCode, texts: &[&str]) {
    for text in texts {
        let analysis = analyze(text);
        let found = analysis.opaque().map(|reason| reason.code);
        assert_eq!(
            found,
            Some(code),
            "{text:?} gives {:?} {:?}",
            analysis.opaque(),
            argvs(&analysis)
        );
    }
}

/// Whatever the code, the text must not pass for understood.
#[track_caller]
fn check_any(texts: &[&str]) {
    for text in texts {
        let analysis = analyze(text);
        assert!(analysis.opaque().is_some(), "{text:?} gives {:?}", argvs(&analysis));
    }
}

#[test]
fn odd_characters_are_refused() {
    check(
        OpaqueCode::Characters,
        &[
            "ls\rrm x",
            "ls\u{b}x",
            "ls\u{c}x",
            "ls\u{0}",
            "ls\u{a0}x",
            "ls \u{200b}x",
            "ls \u{202e}x",
            "ls\u{85}x",
            "\u{feff}ls",
            "ls \u{7f}",
            "ls\u{3000}x",
        ],
    );
}

#[test]
fn size_is_bounded() {
    check(OpaqueCode::TooLarge, &[&format!("echo {}", "x".repeat(9_996)), &"ls;".repeat(200)]);
    check_any(&[
        &"(".repeat(4000),
        &format!("{}ls{}", "(".repeat(200), ")".repeat(200)),
        &"$(".repeat(3000),
        &"sh -c ".repeat(1500),
    ]);
    assert!(analyze(&format!("echo {}", "x".repeat(9_995))).opaque().is_none());
    check_any(&[r#"sh -c 'sh -c "sh -c \"sh -c \\\"sh -c ls\\\"\""'"#]);
}

#[test]
fn a_blank_that_is_no_separator_is_refused() {
    check_any(&["alpha \\ #; beta", "alpha \\\t#; beta", "\\ alpha"]);
}

#[test]
fn a_continuation_that_glues_is_refused() {
    check_any(&[
        "alpha x\\\n#y; beta",
        "al\\\npha 'x'; beta",
        "v=\\\n beta $x",
        "alpha &\\\n& beta \\x",
        "alpha <<X\\\nx\nX",
        "alpha 'x'\\\n'y'",
        "echo \"$\\\n(beta)\"",
        "echo \"$a\\\nb\"",
    ]);
}

#[test]
fn a_quote_that_ends_elsewhere_is_refused() {
    check_any(&[
        "alpha $'x\\\\'; beta ' #'",
        "v=$'\\\\' beta ' #'",
        "alpha $\"x\"",
        "alpha `beta \\`gamma\\``",
        "alpha `beta \"x\"`",
    ]);
}

#[test]
fn a_here_document_that_ends_elsewhere_is_refused() {
    check_any(&[
        "cat <<X;beta\nx\nX;beta\nX",
        "cat <<X\n\\\nX\nbeta\nX",
        "cat <<X\n\t$(beta)\nX",
        "cat <<X\n'${v:-`beta`}'\nX",
        "cat <<X\n${v:-$(beta)}\nX",
        "cat <<X\n$\n$(beta)\nX",
        "cat <<$v\nx\n$v",
        "cat <<X <<Y\n1\nX\n2\nY",
        "cat <<\"X\"Y\nx\nXY",
        "cat <<X\nx",
    ]);
}

#[test]
fn expansions_that_hide_commands_are_refused() {
    check_any(&[
        "echo ${v:-`beta`}",
        "echo ${v#$(beta)}",
        "echo \"${v:-'$(beta)'}\"",
        "echo ${v/x/<(beta)}",
        "echo x`beta`y z<(beta)",
        "[[ x =~ y`beta` ]]",
        "[[ x == [`beta`] ]]",
        "case x in [`beta`]) ;; esac",
        "alpha >&'$(beta)'",
        "alpha >& \"$v\"",
        "alpha >&-x",
    ]);
}

#[test]
fn conditions_that_are_none_are_refused() {
    check_any(&[
        "[ x || beta ]",
        "[ x > f ]",
        "[ x & beta ]",
        "[ x ]#; beta",
        "[ x | beta ]",
        "[[ x ]]y",
    ]);
}

#[test]
fn keywords_that_the_grammar_takes_for_commands_are_refused() {
    check_any(&[
        "time for v in x; do beta; done",
        "! while beta; do :; done",
        "coproc beta",
        "! ! beta",
        "time { beta; }",
        "time ! beta",
        "select v in x; do beta; done",
    ]);
}

#[test]
fn descriptors_that_touch_words_are_refused() {
    check_any(&["alpha -rf2>f", "v=1 0<f beta", "alpha {fd}>f", "alpha 0>f"]);
    check_any(&["- v=1", "alpha } }", "alpha a\"b\"\\*"]);
}

#[test]
fn data_that_bash_evaluates_is_refused() {
    check(
        OpaqueCode::EvaluatesData,
        &[
            "echo $((v))",
            "echo ${v@P}",
            "echo ${!v}",
            "echo ${v[w]}",
            "echo ${v:w}",
            "[[ v -eq 1 ]]",
            "[[ -v v ]]",
            "test -v v",
            "[ -v v ]",
            "[ $v ]",
            "test \"$a\" \"$b\"",
            "printf -v v x",
            "printf \"$v\" x",
            "read 'v[$(beta)]'",
            "read \"$v\"",
            "let v=1",
            "RANDOM=x",
            "wait -p v",
            "v[w]=1",
        ],
    );
}

#[test]
fn builtins_that_change_the_meaning_of_text_are_refused() {
    check(
        OpaqueCode::ChangesState,
        &[
            "eval 'beta'",
            "eval \"$v\"",
            "\\eval beta",
            "builtin eval beta",
            ". f",
            "source f",
            "trap beta EXIT",
            "alias ls=beta",
            "exec beta",
            "shopt -s extglob",
            "set -k",
            "hash -p /x ls",
            "declare -i v=w",
            "local v",
            "enable -n echo",
            "PATH=/x ls",
            "LD_PRELOAD=x ls",
            "export PATH=/x",
            "command export GIT_DIR=/x",
            "env BASH_ENV=f bash -c :",
            "IFS=x",
            "GIT_DIR=x git status",
            "ls() { beta; }",
            "cd() { beta; }",
            "for PATH in x; do ls; done",
        ],
    );
    check_any(&[
        "unset v",
        "mapfile -C beta",
        "command_not_found_handle() { beta; }",
        "f() { beta; } > g",
    ]);
}

#[test]
fn a_name_that_is_not_static_is_refused() {
    check(
        OpaqueCode::DynamicCommand,
        &[
            "$v x",
            "\"$v\"",
            "$(beta) x",
            "a*b",
            "timeout 5 $v",
            "xargs -I% %",
            "find . -exec {} \\;",
        ],
    );
}

#[test]
fn wrappers_with_unknown_options_are_refused() {
    check(
        OpaqueCode::Wrapper,
        &[
            "timeout --zz 5 ls",
            "timeout $v ls",
            "nice -z ls",
            "env -S 'ls -l'",
            "env --zz ls",
            "xargs --zz ls",
            "sudo -e f",
            "sudo A=1 ls",
            "bash f",
            "bash",
            "bash -s",
            "bash -ic ls",
            "bash -c",
            "sh -c \"$v\"",
            "zsh -c ls",
            "alpha | sh",
            "bash <<< beta",
            "find $v -exec ls \\;",
            "find . -exec ls",
            "flock f ls",
            "sh -c 'ls &>f'",
        ],
    );
}

#[test]
fn what_was_found_is_told_all_the_same() {
    assert_eq!(
        argvs(&analyze("rm -rf x; eval 'alpha y'; beta")),
        ["rm|-rf|x", "eval|alpha y", "alpha|y", "beta"]
    );
    assert_eq!(argvs(&analyze("bash -ic 'rm x'")), ["bash|-ic|rm x", "rm|x"]);
    assert_eq!(argvs(&analyze("bash <<'X'\nrm x\nX")), ["bash", "rm|x"]);
    assert_eq!(argvs(&analyze("sh -s <<< 'rm x'")), ["sh|-s", "rm|x"]);
    assert_eq!(
        argvs(&analyze("trap 'rm x' EXIT; exec ls -l")),
        ["trap|rm x|EXIT", "rm|x", "exec|ls|-l", "ls|-l"]
    );
    assert_eq!(argvs(&analyze("rm -rf /\u{a0} x; ls")), ["rm|-rf|/\u{a0}|x", "ls"]);
    assert_eq!(
        argvs(&analyze(&format!("rm x; echo {}", "y".repeat(10_000)))).first().map(String::as_str),
        Some("rm|x")
    );
    assert_eq!(argvs(&analyze("sudo --zz rm x")), ["sudo|--zz|rm|x"]);
}

#[test]
fn a_text_without_a_command_is_refused() {
    check_any(&[
        "",
        "   ",
        "# ls",
        "\n\n",
        "ls |",
        "ls &&",
        "&& ls",
        "ls ;;",
        "'",
        "\"",
        "$(",
        "if ls; then",
        "ls )",
    ]);
}

#[test]
fn the_deepest_text_fits_a_small_stack() {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let shapes = [
        ("( ", " )"),
        ("{ ", "; }"),
        ("echo \"$(", ")\""),
        ("if ls; then ", "; fi"),
        ("! ( ", " )"),
        ("ls | { ls && ", "; }"),
    ];
    for (open, close) in shapes {
        for count in [5, 12, 30, 70] {
            let shape = |text: &str| format!("{}{text}{}", open.repeat(count), close.repeat(count));
            let mut text = shape("beta hit");
            for _ in 0..4 {
                text = shape(&format!("sh -c {}", quoted(&text)));
            }
            let thread = std::thread::Builder::new().stack_size(1 << 20);
            let found = thread.spawn(move || argvs(&analyze(&text))).unwrap().join().unwrap();
            assert!(count > 12 || !found.is_empty(), "{open}");
        }
    }
}

/// The grammar's scanner reads out of bounds for characters far out when they follow `{`.
#[test]
fn characters_far_out_do_not_crash_the_parser() {
    for text in [
        "k{\u{deaa4}",
        "echo {\u{10ffff}",
        "{\u{b5303}..2}",
        "echo x{1..\u{f0000}}",
        "\u{b15f3}#\u{b7f83}K\u{b5303}kc{\u{deaa4}",
    ] {
        check_any(&[text]);
    }
    assert_eq!(
        argvs(&analyze("echo {\u{1f600}} '\u{e9}' \u{4e2d}\u{6587}; ls")),
        ["echo|{\u{1f600}}|\u{e9}|\u{4e2d}\u{6587}", "ls"]
    );
    check_any(&[
        "\u{e9}=1 ls",
        "echo $\u{e9}",
        "cat <<\u{e9}\nx\n\u{e9}",
        "\u{e9}() { ls; }",
        "for \u{e9} in x; do ls; done",
    ]);
}

#[test]
fn every_code_is_explained_in_the_readme() {
    let readme = include_str!("../../README.md");
    let mut next = Some(OpaqueCode::TooLarge);
    while let Some(code) = next {
        assert!(readme.contains(&format!("| `{}` |", code.name())), "{}", code.name());
        // A new code is added here, or this does not compile.
        next = match code {
            OpaqueCode::TooLarge => Some(OpaqueCode::Characters),
            OpaqueCode::Characters => Some(OpaqueCode::Syntax),
            OpaqueCode::Syntax => Some(OpaqueCode::Construct),
            OpaqueCode::Construct => Some(OpaqueCode::DynamicCommand),
            OpaqueCode::DynamicCommand => Some(OpaqueCode::EvaluatesData),
            OpaqueCode::EvaluatesData => Some(OpaqueCode::ChangesState),
            OpaqueCode::ChangesState => Some(OpaqueCode::Wrapper),
            OpaqueCode::Wrapper => Some(OpaqueCode::Disagreement),
            OpaqueCode::Disagreement => None,
        };
    }
}
