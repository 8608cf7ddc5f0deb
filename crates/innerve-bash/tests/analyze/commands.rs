//! Every command, every word, every place.

use innerve_bash::{RedirectionKind, Word, WordPart, analyze};

use super::argvs;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let analysis = analyze(text);
    assert_eq!(analysis.opaque(), None, "{text}");
    assert_eq!(argvs(&analysis), expected, "{text}");
}

#[test]
fn quotes_are_removed_as_bash_removes_them() {
    check("echo plain", &["echo|plain"]);
    check(r"echo a\ b \$x \*", &["echo|a b|$x|*"]);
    check("echo 'a  b' '$x' '\\'", &["echo|a  b|$x|\\"]);
    check(r#"echo "a  b" "\$x \" \\ \n""#, &["echo|a  b|$x \" \\ \\n"]);
    check("echo \"one\\\ntwo\"", &["echo|onetwo"]);
    check("echo a'b'\"c\"d", &["echo|abcd"]);
    check("echo '' \"\"", &["echo||"]);
    check(r"echo $'tab\there' $'\x72m' $'\''", &["echo|tab\there|rm|'"]);
    check("r''m x", &["rm|x"]);
    check("echo a#b #c", &["echo|a#b"]);
    check("echo stash@{0} {} x{y}", &["echo|stash@{0}|{}|x{y}"]);
    check("ls \\\n  -l", &["ls|-l"]);
}

#[test]
fn what_is_not_static_is_dynamic() {
    check(
        "ls $a ${b} ${c:-d} \"$e\" *.rs a? [ab] ~ ~/x {a,b} {1..3} $((1+2))",
        &["ls|*|*|*|*|*|*|*|*|*|*|*|*"],
    );
    check("echo $(date) `date`", &["echo|*|*", "date", "date"]);
    check("dd if=~/a", &["dd|*"]);
    check("diff <(ls a) <(ls b)", &["diff|*|*", "ls|a", "ls|b"]);
}

#[test]
fn a_dynamic_word_keeps_its_parts() {
    let analysis = analyze(r#"cat "$HOME/a b" ~user/x*.rs $@"#);
    let words = &analysis.commands()[0].argv;
    let Word::Dynamic(first) = &words[1] else { panic!("dynamic") };
    assert_eq!(
        first.parts,
        [WordPart::Variable("HOME".to_owned()), WordPart::Literal("/a b".to_owned())]
    );
    assert!(first.one_word);
    assert_eq!(first.raw, "\"$HOME/a b\"");
    let Word::Dynamic(second) = &words[2] else { panic!("dynamic") };
    assert_eq!(
        second.parts,
        [
            WordPart::Tilde("user".to_owned()),
            WordPart::Literal("/x".to_owned()),
            WordPart::Glob("*".to_owned()),
            WordPart::Literal(".rs".to_owned())
        ]
    );
    assert!(!second.one_word);
    let Word::Dynamic(third) = &words[3] else { panic!("dynamic") };
    assert!(!third.one_word);
}

#[test]
fn lists_and_pipelines_are_taken_apart() {
    check(
        "a1; b1 && c1 || d1 | e1 |& f1 & g1\nh1",
        &["a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1"],
    );
    check("a1 && b1 > f | c1 || d1", &["a1", "b1", "c1", "d1"]);
    check("! a1 | b1", &["a1", "b1"]);
    check("a1 &&\n# why\n b1 # then\nc1", &["a1", "b1", "c1"]);
    check("a1 > f b1 2>&1 c1", &["a1|b1|c1"]);
    check("> f a1 b1", &["a1|b1"]);
}

#[test]
fn compounds_are_entered() {
    check("(a1; b1) && { c1; d1; }", &["a1", "b1", "c1", "d1"]);
    check("if a1; then b1; elif c1; then d1; else e1; fi", &["a1", "b1", "c1", "d1", "e1"]);
    check("while a1; do b1; done", &["a1", "b1"]);
    check("until a1\ndo b1\ndone", &["a1", "b1"]);
    check("for f in x $(a1); do b1 \"$f\"; done", &["a1", "b1|*"]);
    check("case $x in a|b*) a1;; 'c d') b1; c1;; *) d1; esac", &["a1", "b1", "c1", "d1"]);
    check("steps() { a1; }\nsteps", &["a1", "steps"]);
    check(
        "[ -f a ] && [[ -n $x && a == b* ]] && test a = b",
        &["[|-f|a|]", "[[|-n|*|&&|a|==|*|]]", "test|a|=|b"],
    );
    check(r"[[ $x =~ ^(a|b)\.c{1,3}$ ]]", &["[[|*|=~|*|]]"]);
    check("echo \"${x[@]}\" ${#x[*]} ${x[0]}", &["echo|*|*|*"]);
    check("x=1 y=$(a1)", &["", "a1"]);
    check("export A=1 B", &["export|A=1|B"]);
}

#[test]
fn substitutions_are_entered_wherever_they_stand() {
    check(r#"echo "x $(a1 "$(b1)") y""#, &["echo|*", "a1|*", "b1"]);
    check("x=$(a1) b1 > \"$(c1)\"", &["b1", "a1", "c1"]);
    check("[ -n \"$(a1)\" ]", &["[|-n|*|]", "a1"]);
    check("case $(a1) in $(b1)) c1;; esac", &["a1", "b1", "c1"]);
    check("a1 <<< \"$(b1)\"", &["a1", "b1"]);
    check("x=$(< f)", &["", ""]);
}

#[test]
fn here_documents_are_text() {
    check("cat <<'X'\nrm -rf /\n$(c1)\nY\nX\nls", &["cat", "ls"]);
    check("cat <<X\n$HOME and 5$ .\nX\nls", &["cat", "ls"]);
    check("cat <<X > f\nnow $(a1 \"$(b1)\") and ${x:-y} \\$z\nX\nls", &["cat", "a1|*", "b1", "ls"]);
    check("cat <<-'X' > f && b1\n\tx\n\tX\nls", &["cat", "b1", "ls"]);
    check("cat <<'X' | a1 | b1 > f\nx\nX\nls", &["cat", "a1", "b1", "ls"]);
    check("python3 - <<'X'\nprint(1)\nX", &["python3|-"]);
    check("git commit -m \"$(cat <<'X'\nit's (done\nX\n)\"", &["git|commit|-m|*", "cat"]);
    let analysis = analyze("cat <<'X'\none\ntwo\nX");
    assert_eq!(analysis.commands()[0].redirections[0].kind, RedirectionKind::Text);
    assert_eq!(
        analysis.commands()[0].redirections[0].target,
        Word::Literal("one\ntwo\n".to_owned())
    );
}

#[test]
fn wrappers_and_what_they_wrap_are_both_reported() {
    check("timeout -k 1 -s KILL 5 a1 x", &["timeout|-k|1|-s|KILL|5|a1|x", "a1|x"]);
    check("time -p a1 x", &["time|-p|a1|x", "a1|x"]);
    check(
        "nice -n 5 nohup stdbuf -oL a1",
        &["nice|-n|5|nohup|stdbuf|-oL|a1", "nohup|stdbuf|-oL|a1", "stdbuf|-oL|a1", "a1"],
    );
    check("env -i A=1 b=\"$c\" a1 x", &["env|-i|A=1|*|a1|x", "a1|x"]);
    check("command -p a1", &["command|-p|a1", "a1"]);
    check("sudo -u me -n a1 -x", &["sudo|-u|me|-n|a1|-x", "a1|-x"]);
    check("xargs -0 -n1 a1 x", &["xargs|-0|-n1|a1|x", "a1|x|*"]);
    check("xargs -I{} a1 x-{} y", &["xargs|-I{}|a1|x-{}|y", "a1|*|y"]);
    check(
        "find . -exec a1 {} \\; -exec b1 x {} +",
        &["find|.|-exec|a1|{}|;|-exec|b1|x|{}|+", "a1|*", "b1|x|*"],
    );
    check("sh -c 'a1 \"$1\"; b1' x y", &["sh|-c|a1 \"$1\"; b1|x|y", "a1|*", "b1"]);
    check("bash -c \"bash -c 'a1'\"", &["bash|-c|bash -c 'a1'", "bash|-c|a1", "a1"]);
}

#[test]
fn wrappers_are_named_outermost_first() {
    let analysis = analyze("timeout 5 sh -c 'nice a1'");
    let wrapped: Vec<_> =
        analysis.commands().iter().map(|command| command.unwrapped_from.join(",")).collect();
    assert_eq!(wrapped, ["", "timeout", "timeout,sh", "timeout,sh,nice"]);
}

#[test]
fn every_command_knows_its_place() {
    let text =
        "a1 & (b1); { c1; }; if d1; then e1; fi; while f1; do g1; done; h1 $(i1); j() { k1; }";
    let places: Vec<_> = analyze(text)
        .commands()
        .iter()
        .map(|command| (command.argv[0].literal().unwrap().to_owned(), command.context.name()))
        .collect();
    let expected = [
        ("a1", Some("background")),
        ("b1", Some("subshell")),
        ("c1", None),
        ("d1", Some("condition")),
        ("e1", Some("condition")),
        ("f1", Some("loop")),
        ("g1", Some("loop")),
        ("h1", None),
        ("i1", Some("substitution")),
        ("k1", Some("function")),
    ];
    assert_eq!(places, expected.map(|(name, place)| (name.to_owned(), place)));
}

#[track_caller]
fn check_last(text: &str, expected: Option<&str>) {
    let analysis = analyze(text);
    let last: Vec<_> = analysis
        .commands()
        .iter()
        .filter(|command| command.last)
        .filter_map(|command| command.name())
        .collect();
    assert_eq!(last, expected.into_iter().collect::<Vec<_>>(), "{text}");
}

#[test]
fn the_command_that_gives_the_exit_code_is_marked_when_it_is_known() {
    check_last("a1; b1", Some("b1"));
    check_last("a1 | b1", Some("b1"));
    check_last("set -o pipefail; a1 | b1", None);
    check_last("cd x && b1", Some("b1"));
    check_last("a1 && b1", None);
    check_last("a1 &", None);
    check_last("! a1", None);
    check_last("(a1; b1)", Some("b1"));
    check_last("timeout 5 b1", Some("b1"));
    check_last("xargs b1", Some("xargs"));
    check_last("if a1; then b1; fi", None);
    check_last("a1 $(b1)", Some("a1"));
}

/// The text that each command's span covers.
#[track_caller]
fn check_spans(text: &str, expected: &[&str]) {
    let analysis = analyze(text);
    let spans = analysis.commands().iter().map(|command| command.span.start..command.span.end);
    let found: Vec<&str> = spans.filter_map(|span| text.get(span)).collect();
    assert_eq!(found, expected);
}

#[test]
fn continued_lines_glue_as_in_bash() {
    check("gr\\\nep pattern\\\nfile", &["grep|patternfile"]);
    check("v=\\\n beta", &["beta"]);
    check("alpha &\\\n& beta; i\\\nf x1; then y1; fi", &["alpha", "beta", "x1", "y1"]);
    check("alpha 2\\\n>f x", &["alpha|x"]);
    check_spans("ls a\\\nb; al\\\npha &&\\\nbeta", &["ls a\\\nb", "al\\\npha", "beta"]);
}

#[test]
fn spans_point_at_the_text() {
    check_spans(
        "git status && FOO=1 timeout 5 rm -rf \"$d\" > out.txt",
        &["git status", "FOO=1 timeout 5 rm -rf \"$d\" > out.txt", "rm -rf \"$d\""],
    );
}
