//! The design's invariants, by name.

use innerve_bash::{Class, analyze};

use super::argvs;

#[test]
fn i2_what_is_not_understood_is_never_called_safe() {
    for text in
        ["eval ls", "ls \\ #", "$x", "ls; . f", "[[ a -eq b ]]", "ls\u{a0}", "zzz-no-such-program"]
    {
        assert_eq!(analyze(text).class(), Class::Unknown, "{text}");
        assert!(!analyze(text).is_complete(), "{text}");
    }
}

/// Commands hidden in every place that runs them: all are found, or the text is opaque.
#[test]
fn i5_no_hidden_command_is_missed() {
    let places = [
        "ls; @",
        "ls && @",
        "ls || @",
        "ls | @",
        "ls & @",
        "ls\n@",
        "(@)",
        "{ @; }",
        "! @",
        "echo $(@)",
        "echo `@`",
        "echo \"$(@)\"",
        "x=$(@)",
        "export x=$(@)",
        "echo ${x:-$(@)}",
        "echo ${x:=`@`}",
        "echo ${x[$(@)]}",
        "echo $((x[$(@)]))",
        "(( x = $(@) ))",
        "[[ -n $(@) ]]",
        "[ -n \"$(@)\" ]",
        "let 'x=a[$(@)]'",
        "case $(@) in *) ;; esac",
        "case a in $(@)) ;; esac",
        "for x in $(@); do :; done",
        "for ((i=$(@);;)); do break; done",
        "until @; do break; done",
        "while @; do break; done",
        "if @; then :; fi",
        "if :; then @; fi",
        "cat <<X\n$(@)\nX",
        "cat <<-X\n\t`@`\n\tX",
        "f() { @; }; f",
        "f() (@)",
        "trap '@' EXIT",
        "bash <<< '@'",
        "bash <<'X'\n@\nX",
        "eval '@'",
        "sh -c '@'",
        "env @",
        "env -i @",
        "timeout -k 1 5 @",
        "nice @",
        "nohup @",
        "command @",
        "builtin command @",
        "exec @",
        "sudo @",
        "xargs @",
        "xargs -I% @ %",
        "find . -exec @ \\;",
        "find . -execdir @ {} +",
        "echo x > $(@)",
        "ls > >(@)",
        "diff <(@) x",
        "echo a{b,$(@)}",
        "coproc @",
        "time @",
        "ls \\\n; @",
        "\t@",
        "ls;#c\n@",
        "cat <<X | @\nx\nX",
        "cat <<'X' && @\nx\nX",
        "{ ls; @; } | cat",
        "a=1 @",
        "> f @",
        "ls 2>&1 | @",
        "echo \"${x:-`@`}\"",
        "ls $(echo $(echo `@`))",
        "stdbuf -oL @",
        "printf '%s' \"$(@)\"",
    ];
    for place in places {
        let text = place.replace('@', "beta hit");
        let analysis = analyze(&text);
        let found = argvs(&analysis).iter().any(|argv| argv.starts_with("beta|hit"));
        assert!(found || analysis.opaque().is_some(), "{text:?} gives {:?}", argvs(&analysis));
        assert_eq!(analysis.class(), Class::Unknown, "{text:?}");
    }
}
