//! The search for deny and ask rules in text that nobody could analyze: a hit is a doubt, never a proof.

use std::collections::BTreeSet;
use std::path::Path;

use super::call::{Call, base_name};
use super::rules::{Found, of_part};
use crate::rule::{Family, Roots, Rule};
use crate::{Behavior, Part};

/// So many words of a command are looked at.
const MAX_WORDS: usize = 256;

/// Searches the command's text for words that rules speak of.
pub(super) fn in_text(call: Call<'_>, behavior: Behavior) -> Found<'_> {
    let Some(command) = &call.facts.command else { return Found::default() };
    for part in plain_beginning(command) {
        let found = of_part(call, behavior, &part);
        if found.certain.is_some() {
            return found;
        }
    }
    let plain = plain(command);
    let mut words: BTreeSet<&str> =
        plain.split_whitespace().flat_map(|word| [word, base_name(word)]).collect();
    let based: Vec<&str> = plain.split_whitespace().map(base_name).collect();
    // What is assigned, or the value of an option, may be a command too: `alias x='rm y'`.
    let values = plain.replace('=', " ");
    words.extend(values.split_whitespace());
    let texts = [
        format!(" {} ", plain.split_whitespace().collect::<Vec<_>>().join(" ")),
        format!(" {} ", based.join(" ")),
        format!(" {} ", values.split_whitespace().collect::<Vec<_>>().join(" ")),
    ];
    let commands =
        call.rule_tools().flat_map(|tool| call.policy.rules.all_commands(behavior, tool));
    for rule in commands {
        let Some(spec) = rule.command() else { continue };
        for pattern in spec.patterns() {
            let present = pattern.first_word().is_none_or(|word| words.contains(word));
            if present && texts.iter().any(|text| pattern.is_in(text)) {
                return Found::maybe(Some(rule));
            }
        }
    }
    let mut paths = words.iter().flat_map(|word| path_like(word));
    Found::maybe(paths.find_map(|word| {
        let path = call.lexical_path(word, &call.policy.cwd)?;
        path_rule(call, behavior, &path)
    }))
}

/// The commands before the first character that could change what the text means: these are certain.
fn plain_beginning(command: &str) -> Vec<Part> {
    let hard = |c: char| "'\"\\$`#<({*?[~!".contains(c) || c.is_control() && c != '\n' && c != '\t';
    let (plain, cut) = match command.find(hard) {
        Some(at) => (command.get(..at).unwrap_or_default(), true),
        None => (command, false),
    };
    let mut segments: Vec<&str> = plain.split([';', '|', '&', '\n']).collect();
    if cut {
        segments.pop();
    }
    let parts = segments.iter().map(|segment| {
        let words: Vec<&str> =
            segment.split([' ', '\t']).filter(|word| !word.is_empty()).take(MAX_WORDS).collect();
        Part {
            text: words.join(" "),
            argv: words.iter().map(|word| Some((*word).to_owned())).collect(),
            ..Part::default()
        }
    });
    parts.filter(|part| !part.argv.is_empty()).collect()
}

/// The text without quotes and backslashes, with blanks in place of operators: as a shell would see the words, roughly.
pub(super) fn plain(command: &str) -> String {
    let joined = command.replace("\\\n", "");
    let mut plain = String::with_capacity(joined.len());
    for character in joined.chars() {
        match character {
            '\'' | '"' | '\\' => {}
            ';' | '|' | '&' | '(' | ')' | '{' | '}' | '<' | '>' | '`' | ',' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

/// The pieces of a word that may name a file: itself, and what follows `=`, `:`, `@` or a comma.
pub(super) fn path_like(word: &str) -> impl Iterator<Item = &str> {
    let after =
        word.match_indices(['=', ':', '@', ',']).filter_map(move |(at, _)| word.get(at + 1..));
    std::iter::once(word).chain(after).filter(|piece| {
        piece.contains(['/', '.'])
            && !piece.starts_with('-')
            && !piece.contains(char::is_whitespace)
    })
}

/// The pieces of a word that holds code, such as a script of `sed` or a line of Python.
pub(super) fn pieces_of_code(word: &str) -> impl Iterator<Item = &str> {
    let between = |c: char| c.is_whitespace() || "'\"`()[]{}<>,;|&=".contains(c);
    word.split(between).filter(move |piece| piece.len() < word.len())
}

/// A rule about reading or changing `path`.
pub(super) fn path_rule<'a>(call: Call<'a>, behavior: Behavior, path: &Path) -> Option<&'a Rule> {
    rule_of(call, behavior, Family::Read, path)
        .or_else(|| rule_of(call, behavior, Family::Edit, path))
}

/// A rule of one family about `path`.
pub(super) fn rule_of<'a>(
    call: Call<'a>,
    behavior: Behavior,
    family: Family,
    path: &Path,
) -> Option<&'a Rule> {
    let rules = &call.policy.rules;
    let anchors = |anchor: &_| call.anchor(anchor);
    rules.paths(behavior, family, path, Roots::Included, &anchors).first().copied()
}
