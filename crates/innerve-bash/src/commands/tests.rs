//! Every row keeps its word: its examples are judged by it, and the others are not.

use super::builtins::{self, Judged};
use super::wrappers;
use super::{GROUPS, Program, SECTIONS};
use crate::judge::decide;
use crate::read::Argument;
use crate::variables::Values;
use crate::{Class, Command, analyze};

/// The row that judges the first command of `text`, if one does.
fn row_of(text: &str) -> Option<&'static Program> {
    let analysis = analyze(text);
    let command = analysis.commands().first().expect("an example is a command");
    let words: Vec<Argument<'_>> = command
        .argv
        .iter()
        .map(|word| Argument { word: word.clone(), raw: "", span: command.span })
        .collect();
    let name = command.name().expect("an example starts with a program");
    let decision = decide(name, words.get(1..).unwrap_or_default(), &Values::default())?;
    decision.fits.then_some(decision.row)
}

/// What is wrong with the examples of a row.
fn complaints(row: &'static Program) -> Vec<String> {
    let mut complaints = Vec::new();
    let by_operands = row.operands == super::Operands::Write;
    let reads = row.class <= Class::ReadOnly;
    for text in row.examples.matching {
        let analysis = analyze(text);
        let found = row_of(text);
        if !found.is_some_and(|found| std::ptr::eq(found, row)) {
            let found = found.map(|found| (found.names, found.class));
            complaints.push(format!("{text:?} is judged by {found:?}: {:?}", analysis.opaque()));
        } else if analysis.opaque().is_some()
            || !by_operands && (analysis.class() <= Class::ReadOnly) != reads
        {
            complaints.push(format!("{text:?}: {:?} {:?}", analysis.class(), analysis.opaque()));
        }
    }
    for text in row.examples.others {
        let found = row_of(text);
        let free = found.is_some_and(|found| found.class <= Class::ReadOnly);
        if found.is_some_and(|found| std::ptr::eq(found, row)) {
            complaints.push(format!("{text:?} fits"));
        } else if reads && !free && analyze(text).class() <= Class::ReadOnly {
            complaints.push(format!("{text:?} is free"));
        }
    }
    complaints
}

#[test]
fn the_examples_of_a_program_are_judged_by_its_row_and_the_others_are_not() {
    let wrong: Vec<String> = SECTIONS
        .iter()
        .flat_map(|(_, rows)| rows.iter())
        .flat_map(|row| {
            complaints(row).into_iter().map(move |text| format!("{:?} {text}", row.names.first()))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_has_examples() {
    for (section, rows) in SECTIONS {
        for row in *rows {
            assert!(!row.examples.matching.is_empty(), "{section}: {:?}", row.names);
            if row.options != "*" {
                assert!(!row.examples.others.is_empty(), "{section}: {:?}", row.names);
            }
            assert!(row.examples.others.len() + row.examples.matching.len() > 0);
        }
    }
}

#[test]
fn the_examples_of_a_wrapper_are_seen_through_and_the_others_are_not() {
    let mut wrong = Vec::new();
    for row in wrappers::ROWS {
        for text in row.examples.matching {
            let analysis = analyze(text);
            let name = analysis.commands().first().and_then(Command::name).unwrap_or_default();
            if analysis.opaque().is_some() || !row.names.contains(&name) {
                wrong.push(format!("{text:?} is not seen through: {:?}", analysis.opaque()));
            }
        }
        for text in row.examples.others {
            if analyze(text).class() != Class::Unknown {
                wrong.push(format!("{text:?} is seen through"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_examples_of_a_builtin_are_harmless_and_the_others_are_not() {
    let mut wrong = Vec::new();
    for row in builtins::ROWS {
        for text in row.examples.matching {
            let analysis = analyze(text);
            let harmless = analysis.class() <= Class::ReadOnly;
            if analysis.opaque().is_some() || harmless != (row.judged != Judged::State) {
                wrong.push(format!("{text:?}: {:?} {:?}", analysis.class(), analysis.opaque()));
            }
        }
        for text in row.examples.others {
            let analysis = analyze(text);
            let seen = row.judged == Judged::Refused && analysis.opaque().is_none();
            if seen || analysis.class() <= Class::ReadOnly {
                wrong.push(format!("{text:?} is let through"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The builtins of bash 5.2 (GNU Bash reference manual, "Bourne Shell Builtins" and "Bash Builtins").
const BUILTINS: &str = ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown \
    echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf \
    pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask \
    unalias unset wait";

#[test]
fn every_builtin_of_bash_is_known() {
    for name in BUILTINS.split_whitespace() {
        let known = builtins::builtin(name).is_some() || wrappers::wrapper(name).is_some();
        assert!(known, "{name}");
    }
}

#[test]
fn option_lists_are_well_formed() {
    let lists = SECTIONS
        .iter()
        .flat_map(|(_, rows)| rows.iter().map(|row| row.options))
        .chain(wrappers::ROWS.iter().map(|row| row.options))
        .chain(GROUPS.iter().flat_map(|groups| groups.iter().map(|group| group.options)));
    for list in lists {
        for token in list.split_whitespace() {
            let bare = token.trim_start_matches(['!', '~']);
            let (name, mark) = bare.split_at(bare.find(['=', '?']).unwrap_or(bare.len()));
            assert!(name.starts_with('-') || list == "*", "{token:?} in {list:?}");
            assert!(matches!(mark, "" | "?" | "=" | "=<" | "=>" | "==" | "==<"), "{token:?}");
        }
    }
}

#[test]
fn a_name_stands_once_in_a_row_and_once_among_programs_with_subcommands() {
    for (_, rows) in SECTIONS {
        for row in *rows {
            let mut names = row.names.to_vec();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), row.names.len(), "{:?}", row.names);
            for name in row.names {
                let program = name.split(' ').next().unwrap_or_default();
                assert_eq!(name.contains(' '), super::group(program).is_some(), "{name:?}");
            }
        }
    }
}
