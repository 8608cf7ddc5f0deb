//! Laws that hold for any text.

use innerve_bash::{Analysis, Class, analyze, analyze_in};
use proptest::prelude::*;

fn shell_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just(" "),
        Just(" "),
        Just("\n"),
        Just(";"),
        Just("&&"),
        Just("||"),
        Just("|"),
        Just("&"),
        Just("("),
        Just(")"),
        Just("{ "),
        Just("}"),
        Just("'"),
        Just("\""),
        Just("\\"),
        Just("\\\n"),
        Just("$"),
        Just("$("),
        Just("${"),
        Just("`"),
        Just("<"),
        Just(">"),
        Just(">>"),
        Just("2>&1"),
        Just("<<X\n"),
        Just("<<'X'\n"),
        Just("\nX\n"),
        Just("<<<"),
        Just("#"),
        Just("="),
        Just("*"),
        Just("~"),
        Just("["),
        Just("]"),
        Just("[["),
        Just("]]"),
        Just("!"),
        Just("if "),
        Just("; then "),
        Just("; fi"),
        Just("for x in a; do "),
        Just("; done"),
        Just("case x in x) "),
        Just(";; esac"),
        Just("ls"),
        Just("rm -rf x"),
        Just("cd a"),
        Just("sh -c 'ls'"),
        Just("xargs"),
        Just("find . -exec "),
        Just("{} \\;"),
        Just("timeout 5 "),
        Just("env "),
        Just("A=1 "),
        Just("x=1 "),
        Just("$x"),
        Just("é"),
        Just("$'"),
        Just("eval "),
        Just("export "),
        Just("-n"),
        Just("/dev/null"),
        Just("git log"),
        Just("sed -n 1p"),
        Just("awk '{print}'"),
        Just("f() "),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let analysis = analyze(text);
    for command in analysis.commands() {
        prop_assert!(command.span.start <= command.span.end && command.span.end <= text.len());
        prop_assert!(
            text.is_char_boundary(command.span.start) && text.is_char_boundary(command.span.end)
        );
        if command.redirections.iter().any(|redirection| redirection.kind.writes())
            && !command.writes.is_empty()
        {
            prop_assert!(command.class >= Class::Write);
        }
        prop_assert!(command.complete || command.class >= Class::Write);
    }
    match &analysis {
        Analysis::Commands(commands) => prop_assert!(!commands.as_slice().is_empty()),
        Analysis::Opaque(opaque) => {
            prop_assert!(opaque.reason.span.end <= text.len());
            prop_assert!(!opaque.reason.message.is_empty());
            prop_assert_eq!(analysis.class(), Class::Unknown);
        }
    }
    prop_assert_eq!(analyze(text), analysis);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_answered(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn any_shell_like_text_is_answered(text in shell_like()) {
        check(&text)?;
    }

    #[test]
    fn a_single_quoted_word_is_itself(word in "[ -&(-~\n\t]{0,40}") {
        let analysis = analyze(&format!("alpha '{word}'"));
        prop_assert_eq!(analysis.commands()[0].argv[1].literal(), Some(word.as_str()));
    }

    #[test]
    fn a_later_command_is_never_lost(text in shell_like()) {
        let whole = format!("{text}\nbeta");
        if let Analysis::Commands(commands) = analyze(&whole) && !text.contains(['\'', '"', '#', '\\', '$', '`', '<']) {
            prop_assert!(commands.as_slice().iter().any(|command| command.argv.iter().any(|word| word.literal() == Some("beta"))));
        }
    }

    #[test]
    fn the_start_directory_never_loosens_what_is_found(text in shell_like()) {
        let (without, with) = (analyze(&text), analyze_in(&text, Some("/repo")));
        prop_assert_eq!(without.commands().len(), with.commands().len());
    }
}
