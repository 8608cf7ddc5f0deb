//! Tests of this module.

use super::*;
use crate::read::Argument;
use crate::{Redirection, RedirectionKind, Span};

/// The commands of a text: words joined by `|`, dynamic ones as `*`, behind assignments and before redirections.
fn shown(text: &str) -> Option<Vec<String>> {
    fn value(token: &Token<'_>) -> String {
        token.value.as_deref().map_or_else(|| "*".to_owned(), str::to_owned)
    }
    let opinion = SecondOpinion::of(text);
    let shown = opinion.commands.iter().map(|command| {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(command.assignments.iter().map(|(name, to)| format!("{name}={}", value(to))));
        if !command.words.is_empty() {
            parts.push(command.words.iter().map(value).collect::<Vec<_>>().join("|"));
        }
        for redirect in &command.redirects {
            let target = match &redirect.target {
                Target::Word(token) => value(token),
                Target::Body(slot) => value(&opinion.bodies[*slot]),
            };
            parts.push(format!("{:?}:{target}", redirect.kind));
        }
        parts.join(" ")
    });
    opinion.dispute.is_none().then(|| shown.collect())
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let shown = shown(text);
    let shown = shown.as_ref().map(|shown| shown.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(shown.as_deref(), Some(expected), "{text:?}");
}

#[track_caller]
fn check_given_up(texts: &[&str]) {
    for text in texts {
        assert_eq!(shown(text), None, "{text:?}");
    }
}

#[test]
fn words_have_their_quotes_removed() {
    check(r#"a 'b  c' "d $e" \f g'h'"i" ''"#, &["a|b  c|*|f|ghi|"]);
    check(r#"a "\$ \" \\ \x" $'\t\x41\'' $"#, &["a|$ \" \\ \\x|\tA'|$"]);
    check("a $b ${c} ${#d} ${e:-f} ${g[0]} $1 $@ $((1 + 2))", &["a|*|*|*|*|*|*|*|*"]);
    check("a * b? [c] [ ] ~ x=~ {d,e} {1..2} {} {f}", &["a|*|*|*|[|]|*|*|*|*|{}|{f}"]);
    check("a b#c #d", &["a|b#c"]);
    check("a ${b/c/d} ${e%%.*} \"$f\"", &["a|*|*|*"]);
}

#[test]
fn a_line_continuation_is_nothing_at_all() {
    check("a\\\nb c \\\n #d", &["ab|c"]);
    check("a\\\n#b; c", &["a#b", "c"]);
    check("i\\\nf a; th\\\nen b; fi", &["a", "b"]);
    check("a &\\\n& b &\\\n>> c", &["a", "b Append:c"]);
    check("a \"b\\\nc$\\\n(d)\" 'e\\\nf'", &["a|*|e\\\nf", "d"]);
    check("x=1 a 2\\\n>b", &["x=1 a Write:b"]);
}

#[test]
fn a_blank_that_is_quoted_is_none() {
    check("a \\ #b; c", &["a| #b", "c"]);
    check("a \\\t; b", &["a|\t", "b"]);
}

#[test]
fn commands_stand_in_lists_and_compounds() {
    check("a; b & c && d || e | f |& g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"]);
    check("(a; b) && { c; } > d", &["a", "b", "Write:d", "c"]);
    check("if a; then b; elif c; then d; else e; fi", &["a", "b", "c", "d", "e"]);
    check("while a; do b; done 2>&1 < c", &["Duplicate:1 Read:c", "a", "b"]);
    check("for x in a $(b); do c; done", &["b", "c"]);
    check("case $x in (a|b) c;; d) ;& *) e; esac", &["c", "e"]);
    check("f() { a; }; function g { b; }; f", &["a", "b", "f"]);
    check("! a | b; time -p c d", &["a", "b", "time|-p|c|d"]);
    check("a if then { done", &["a|if|then|{|done"]);
    check("a `b c` <(d) >(e) x<(f)", &["a|*|*|*|*", "b|c", "d", "e", "f"]);
}

#[test]
fn a_condition_is_one_command() {
    check("[[ -f a && $b == c* ]]", &["[[|-f|a|&&|*|==|*|]]"]);
    check("[[ a =~ ^(b|c) ]] > d", &["[[|a|=~|*|]] Write:d"]);
    check("[ a > b ] && [ -n \"$(c)\" ]", &["[|a|] Write:b", "[|-n|*|]", "c"]);
    check("[ a || b ]", &["[|a", "b|]"]);
    check("[ a ]#;b", &["[|a|]#", "b"]);
}

#[test]
fn redirections_are_told_from_words() {
    check("a 2>b c 2 >d", &["a|c|2 Write:b Write:d"]);
    check("x=1 0<f a", &["x=1 a Read:f"]);
    check("a -r2>f", &["a|-r2 Write:f"]);
    check("a >&2 2>&1- >&b >& -c", &["a|c Duplicate:2 Duplicate:1- Write:b Duplicate:-"]);
    check("a <<< \"b\" &>> c", &["a Text:b Append:c"]);
    check("> a", &["Write:a"]);
}

#[test]
fn here_documents_begin_at_the_next_newline() {
    check("a <<X | b\n$(c) '\nX\nd", &["a Text:*", "b", "c", "d"]);
    check("a <<'X' && b\n$(c)\n X\nX\nd", &["a Text:$(c)\n X\n", "b", "d"]);
    check("a <<-X\n\tb\\$c\n\tX\nd", &["a Text:\tb$c\n", "d"]);
    check("a <<X <<Y\n1\nX\n2\nY\nb", &["a Text:1\n Text:2\n", "b"]);
    check("a <<X;b\nc\nX", &["a Text:c\n", "b"]);
    check("a \"$(b <<'X'\nit's\nX\n)\"", &["a|*", "b Text:it's\n"]);
    check_given_up(&["a <<X", "a <<X\nb", "a <<X\nb\\\nX\nX", "a <<$x\n$x", "a <<X $(b\n)\nX"]);
}

#[test]
fn what_evaluates_data_is_given_up() {
    check_given_up(&[
        "a $((b))",
        "a ${b[c]}",
        "a ${b:1}",
        "a ${b@P}",
        "a ${!b}",
        "a ${b:=c}",
        "a ${b:-$(c)}",
        "a ${b:-'c'}",
        "((a))",
        "a[0]=b",
        "a=(b)",
        "for ((;;)); do a; done",
        "a $[1]",
        "a >&'b'",
        "a >& $b",
    ]);
}

#[test]
fn what_is_not_understood_is_given_up() {
    check_given_up(&[
        "",
        "#a",
        "a;;b",
        "a &&",
        "| a",
        "'a",
        "\"a",
        "a $(b",
        "a `b",
        "a `b \\` c`",
        "a $\"b\"",
        "(a",
        "a)",
        "{ a }",
        "if a; then; fi",
        "if'a'; then b; fi",
        "case'x' in a) b;; esac",
        "select x in a; do b; done",
        "coproc a",
        "time if a; then b; fi",
        "time -p while a; do b; done",
        "time x=1 a",
        "time (a)",
        "! ! a",
        "a {b}>c",
        "a <> b",
        "f() { a; } > b",
        "f() a",
        "(a) b",
        "[[ a\nb ]]",
        "[[ a =~ $b ]]",
        "a @(b)",
    ]);
    let deep = format!("{}a{}", "( ".repeat(500), " )".repeat(500));
    check_given_up(&[&deep]);
}

#[test]
fn every_difference_is_a_dispute() {
    let literal = |text: &str| Word::Literal(text.to_owned());
    let simple = |words: &[&'static str], redirections: Vec<Redirection>| {
        let span = Span { start: 0, end: 0 };
        let words = words.iter().map(|raw| Argument { word: literal(raw), raw, span }).collect();
        Simple { words, assignments: Vec::new(), redirections, span }
    };
    let write = || vec![Redirection { kind: RedirectionKind::Write, target: literal("c") }];
    let append = || vec![Redirection { kind: RedirectionKind::Append, target: literal("c") }];
    let dispute = |start, simple: &Simple<'_>| {
        let mut opinion = SecondOpinion::of(" a b > c");
        opinion.compare(start, simple);
        opinion.dispute()
    };
    assert_eq!(dispute(1, &simple(&["a", "b"], write())), None);
    for other in [
        simple(&["a"], write()),
        simple(&["a", "b", "b"], write()),
        simple(&["a", "d"], write()),
        simple(&["a", "b"], append()),
        simple(&["a", "b"], Vec::new()),
    ] {
        assert_eq!(dispute(1, &other), Some(1), "{other:?}");
    }
    assert_eq!(dispute(0, &simple(&["a", "b"], write())), Some(0));
    assert_eq!(SecondOpinion::of("a; b").dispute(), Some(0), "nobody else saw these");
    assert_eq!(SecondOpinion::of("a `b \\` c`").dispute(), Some(2));
}
