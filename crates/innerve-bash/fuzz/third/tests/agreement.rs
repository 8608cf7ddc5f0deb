//! What brush-parser finds in texts that the analyzer claims to understand must be among what the analyzer finds.

#[path = "../../../tests/oracle/cases.rs"]
mod cases;
#[path = "../../../tests/oracle/generate.rs"]
mod generate;
#[path = "../../../tests/oracle/harmless.rs"]
mod harmless;

use innerve_bash::{Analysis, Command, Word, analyze};
use innerve_bash_third_judge::{Text, commands};

/// Commands of one seed.
const DRAWN: u64 = 20_000;

/// The commands of the third judge that are not among `ours`.
fn missed(ours: &[Command], theirs: &[Vec<Text>]) -> Vec<Vec<Text>> {
    let alike = |word: &Word, text: &Text| match (word, text) {
        (Word::Literal(word), Some(text)) => word == text,
        // Each may know less than the other.
        (Word::Dynamic(_), _) | (Word::Literal(_), None) => true,
    };
    let covers = |command: &Command, words: &Vec<Text>| {
        command.argv.len() == words.len()
            && command.argv.iter().zip(words).all(|(word, text)| alike(word, text))
    };
    theirs
        .iter()
        .filter(|words| !ours.iter().any(|command| covers(command, words)))
        .cloned()
        .collect()
}

#[test]
fn what_an_analysis_lacks_is_noticed() {
    let text = "c1 a 'b c' && c2 \"$(c3)\" > o";
    let analysis = analyze(text);
    let theirs = commands(text).unwrap();
    assert_eq!(theirs.len(), 3);
    assert_eq!(missed(analysis.commands(), &theirs), Vec::<Vec<Text>>::new());
    for index in 0..3 {
        let mut fewer = analysis.commands().to_vec();
        fewer.remove(index);
        assert_eq!(missed(&fewer, &theirs).len(), 1);
    }
}

#[test]
fn commands_by_hand_are_read_alike() {
    let nasty = cases::NASTY.iter().map(|(text, _)| *text);
    check(cases::EVERYDAY.iter().copied().chain(nasty).map(str::to_owned));
}

#[test]
fn drawn_commands_are_read_alike() {
    // Another seed than that of the oracle, so that more is seen.
    check((0..DRAWN).map(|number| generate::command(3, number)));
}

/// What the third judge is known to read otherwise than bash: behind `>&-` a word of its own begins.
const ITS_FAULTS: &[&str] = &[">&-", ">& -", "<&-", "<& -"];

fn check(texts: impl Iterator<Item = String>) {
    let (mut accepted, mut missing, mut not_read) = (0, Vec::new(), Vec::new());
    for text in texts.filter(|text| !ITS_FAULTS.iter().any(|fault| text.contains(fault))) {
        let analysis = analyze(&text);
        let Analysis::Commands(ours) = &analysis else { continue };
        accepted += 1;
        match commands(&text) {
            Ok(theirs) => {
                let missed = missed(ours.as_slice(), &theirs);
                if !missed.is_empty() {
                    missing.push(format!("{text:?}: {missed:?}"));
                }
            }
            Err(reason) => not_read.push(format!("{text:?}: {reason}")),
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    // It does not know all of bash, but a judge that is silent is none.
    assert!(not_read.len() * 50 < accepted, "{} of {accepted}: {not_read:#?}", not_read.len());
    println!("{accepted} commands, {} of them not read by the third judge", not_read.len());
}
