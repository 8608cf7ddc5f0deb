//! What is wrong with a rule about shell commands.

use super::paths::any_file;
use super::sample::{Bench, Sample};
use super::shell::{Open, PROJECT, RUNNERS, TRANSPARENT, UNSAFE, WRAPPERS};
use super::{Fault, LintCode, is_rule};
use crate::rule::spec::spanning_word;
use crate::rule::{CommandSpec, escape};
use crate::{Behavior, PermissionMode, ReasonKind, Rule};

/// Words of the shell's grammar that begin no simple command (POSIX Shell Command Language, "Reserved Words").
const KEYWORDS: &[&str] = &[
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while",
];

/// Those that a simple command follows.
const LEADING: &[&str] = &["!", "{", "do", "elif", "else", "if", "then", "until", "while"];

/// What is wrong with a rule for every call of its tool.
pub(super) fn of_blanket(bench: &Bench<'_>, rule: &Rule) -> Option<Fault> {
    if rule.behavior() != Behavior::Allow {
        return None;
    }
    match rule.tool() {
        tool @ ("Bash" | "Monitor" | "PowerShell") => Some(
            Fault::new(LintCode::ArbitraryExecution, "runs any command without a question")
                .instead([format!("{tool}(PROGRAM SUBCOMMAND *)")]),
        ),
        "Edit" | "Write" | "MultiEdit" | "NotebookEdit" => any_file(bench, rule),
        _ => None,
    }
}

/// What is wrong with a rule about commands.
pub(super) fn faults(bench: &Bench<'_>, rule: &Rule, spec: &CommandSpec) -> Vec<Fault> {
    let command = Command { bench, rule, spec, samples: bench.samples(rule) };
    let mut faults = Vec::new();
    faults.extend(command.keyword().or_else(|| command.literal_colon()));
    faults.extend(command.script_colon());
    if !faults.is_empty() || command.samples.is_empty() {
        return faults;
    }
    if rule.behavior() != Behavior::Allow {
        faults.extend(command.spanning().or_else(|| command.unmatched()));
        faults.extend(command.option_order());
        return faults;
    }
    let fault = command
        .spanning()
        .or_else(|| command.assignment())
        .or_else(|| command.any_code())
        .or_else(|| command.wrapper())
        .or_else(|| command.unmatched())
        .or_else(|| command.unsafe_program());
    faults.extend(fault);
    faults.extend(command.open_word());
    faults.extend(command.spanning_word());
    faults
}

struct Command<'a> {
    bench: &'a Bench<'a>,
    rule: &'a Rule,
    spec: &'a CommandSpec,
    samples: Vec<Sample>,
}

impl Command<'_> {
    /// A rule of the same tool with this text.
    fn with(&self, text: &str) -> String {
        format!("{}({})", self.rule.tool(), escape(text))
    }

    /// The rules among these texts.
    fn rules<const N: usize>(&self, texts: [String; N]) -> impl Iterator<Item = String> {
        texts.into_iter().filter(|text| is_rule(text, self.rule.behavior()))
    }

    /// The words before the first star.
    fn fixed(&self) -> Vec<&str> {
        self.spec.pattern.prefix().split(' ').filter(|word| !word.is_empty()).collect()
    }

    /// Whether the rule begins with these words; `Directly` also wants nothing but a star after them.
    fn begins(&self, words: &str, open: Open) -> bool {
        let fixed = self.fixed().join(" ");
        match open {
            Open::Directly => fixed == words && !self.spec.is_exact(),
            Open::Anywhere => {
                !self.spec.is_exact()
                    && fixed
                        .strip_prefix(words)
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
        }
    }

    /// Whether the rule, when it is the only one, decides on any command it seems to speak of.
    fn is_honoured(&self) -> bool {
        self.samples
            .iter()
            .any(|sample| self.bench.decides(self.rule, PermissionMode::Default, sample))
    }

    /// A piece of a loop or condition, cut out where a line was taken apart without being read.
    fn keyword(&self) -> Option<Fault> {
        let words: Vec<&str> = self.spec.text.split(' ').collect();
        let word = words.first().filter(|word| KEYWORDS.contains(word))?;
        let why = format!(
            "begins with the shell's own word `{word}`, which is no command, so it never matches"
        );
        let rest: Vec<&str> =
            words.iter().copied().skip_while(|word| LEADING.contains(word)).collect();
        let instead = self.rules([self.with(&rest.join(" "))]);
        let instead = instead.filter(|_| rest.len() < words.len());
        Some(Fault::new(LintCode::NeverMatches, why).instead(instead))
    }

    fn literal_colon(&self) -> Option<Fault> {
        let inner = self.spec.text.strip_suffix(":*").unwrap_or(&self.spec.text);
        inner.contains(":*").then(|| {
            let why = "has `:*` before its end, which is literal text there";
            let text = self.with(&self.spec.text.replace(":*", " *"));
            Fault::new(LintCode::LiteralColon, why).instead([text])
        })
    }

    /// `npm run test:*` looks as if it spoke of `test:unit`.
    fn script_colon(&self) -> Option<Fault> {
        let script = self.spec.text.strip_suffix(":*")?;
        let words: Vec<&str> = script.split(' ').collect();
        let runs_script = matches!(
            words.as_slice(),
            ["npm" | "pnpm" | "yarn" | "bun", "run", _] | ["pnpm" | "yarn" | "just" | "task", _]
        );
        let names_script =
            words.last().is_some_and(|word| !matches!(*word, "run" | "exec" | "dlx"));
        (runs_script && names_script).then(|| {
            let why = format!(
                "speaks of `{script}` with any arguments, not of scripts such as `{}:other`",
                words.last().unwrap_or(&"script")
            );
            let instead = if self.rule.behavior() == Behavior::Allow {
                vec![self.with(&format!("{script} *")), self.with(&format!("{script}:NAME *"))]
            } else {
                vec![self.with(&format!("{script}*"))]
            };
            Fault::new(LintCode::ScriptColon, why).instead(instead)
        })
    }

    /// An operator, which separates commands where a rule speaks of one.
    fn spanning(&self) -> Option<Fault> {
        if !self.spec.spans {
            return None;
        }
        let allows = self.rule.behavior() == Behavior::Allow;
        // An exact text may be a whole command line.
        if allows && (self.spec.is_exact() || self.is_honoured()) {
            return None;
        }
        let why = if allows {
            "holds a shell operator, and an allow rule speaks of one simple command: it never matches"
        } else {
            "holds a shell operator: it speaks of lines of just this shape, and a line with one command more escapes it"
        };
        let mut instead = Vec::new();
        for piece in split(&self.spec.text) {
            let text = match piece {
                Piece::Command(text) => self.with(&text),
                Piece::Output(path) if !path.starts_with('&') => {
                    let path =
                        path.strip_prefix('/').map_or(path.clone(), |rest| format!("//{rest}"));
                    format!("Edit({})", escape(&path))
                }
                Piece::Output(_) => continue,
            };
            if is_rule(&text, self.rule.behavior()) && !instead.contains(&text) {
                instead.push(text);
            }
        }
        if !allows {
            // Which of the commands is the bad one, its author knows.
            instead.retain(|text| !text.ends_with("(*)"));
        }
        Some(Fault::new(LintCode::SpansOperators, why).instead(instead))
    }

    /// A variable set in front, which is no word of the command.
    fn assignment(&self) -> Option<Fault> {
        if self.spec.is_exact() || self.is_honoured() {
            return None;
        }
        let is_assignment = |word: &&str| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        };
        let words: Vec<&str> = self.spec.text.split(' ').collect();
        let rest: Vec<&str> = words.iter().copied().skip_while(is_assignment).collect();
        if rest.len() == words.len() {
            return None;
        }
        let why = "sets a variable before the command; a rule with a star speaks of the command's own words, so it never matches";
        let instead = self.rules([self.with(&rest.join(" "))]);
        Some(Fault::new(LintCode::NeverMatches, why).instead(instead))
    }

    /// A rule that lets any code run, by the engine's own list of what mode `auto` suspends.
    fn any_code(&self) -> Option<Fault> {
        if self.spec.is_exact() {
            return None;
        }
        let fixed = self.fixed();
        let honoured = self.is_honoured();
        let suspended = !self
            .samples
            .iter()
            .any(|sample| self.bench.decides(self.rule, PermissionMode::Auto, sample));
        let wraps = fixed.first().is_some_and(|word| WRAPPERS.contains(word));
        let shows_what = fixed.iter().skip(1).any(|word| !word.starts_with('-'));
        if !suspended || (wraps && shows_what) {
            return None;
        }
        if fixed.first().is_some_and(|word| TRANSPARENT.contains(word)) {
            return None;
        }
        // Not honoured for another reason than that its program runs anything, such as a path that is asked about.
        if !honoured && !fixed.first().is_some_and(|program| self.runs_anything(program)) {
            return None;
        }
        let beginning = |words: &str| self.begins(words, Open::Anywhere);
        if honoured && self.names_directory() {
            let why = "runs whatever lies in that directory at the time, or in any other by `..`";
            let file = self.with(&self.spec.text.replace('*', "FILE"));
            return Some(Fault::new(LintCode::ProjectExecution, why).instead([file]));
        }
        if honoured && let Some((_, instead)) = PROJECT.iter().find(|(words, _)| beginning(words)) {
            if !self.leaves_target_open() {
                return None;
            }
            let why = "runs whatever the project holds at the time, which an edit can change";
            let fault = Fault::new(LintCode::ProjectExecution, why);
            return Some(fault.instead([(*instead).to_owned()]));
        }
        if honoured && !self.leaves_target_open() {
            return None;
        }
        let instead = RUNNERS.iter().find(|(words, _)| beginning(words));
        let instead = instead.map_or("Bash(PROGRAM SUBCOMMAND *)", |(_, instead)| instead);
        let why = if honoured {
            "runs any code without a question"
        } else {
            "would run anything; it is not honoured here, but other programs that read the file may honour it"
        };
        Some(Fault::new(LintCode::ArbitraryExecution, why).instead([instead.to_owned()]))
    }

    /// Whether a rule for all uses of the program is suspended where rules that allow anything are.
    fn runs_anything(&self, program: &str) -> bool {
        let text = self.with(&format!("{program} *"));
        Rule::parse(&text, Behavior::Allow, self.rule.origin().clone()).is_ok_and(|rule| {
            let samples = self.bench.samples(&rule);
            !samples.iter().any(|sample| self.bench.decides(&rule, PermissionMode::Auto, sample))
        })
    }

    /// Whether the rule leaves open what is run: `npx *` does, `npx prettier *` does not.
    fn leaves_target_open(&self) -> bool {
        let fixed = self.fixed();
        let last_is_open = !self.spec.pattern.prefix().ends_with(' ');
        let known = PROJECT
            .iter()
            .chain(RUNNERS)
            .any(|(words, _)| words.split(' ').eq(fixed.iter().copied()));
        let verbs = ["run", "exec", "dlx", "x", "--"];
        let ends_in_verb =
            fixed.last().is_some_and(|word| verbs.contains(word) || word.starts_with('-'));
        known || ends_in_verb || fixed.len() < 2 || (last_is_open && fixed.len() < 3)
    }

    /// Whether the star stands for a file in a directory: `node scripts/*`.
    fn names_directory(&self) -> bool {
        let fixed = self.fixed();
        fixed.len() > 1
            && fixed.last().is_some_and(|word| word.ends_with('/'))
            && self.spec.pattern.prefix().ends_with('/')
    }

    /// Whether nothing but the lack of a rule speaks against the commands.
    fn is_unapproved(&self) -> bool {
        self.samples.iter().any(|sample| {
            let reason =
                self.bench.resolve_alone(self.rule, PermissionMode::Default, sample).reason;
            matches!(reason.kind, ReasonKind::Default | ReasonKind::Analysis)
        })
    }

    /// A program that only runs another: rules are about the one inside.
    fn wrapper(&self) -> Option<Fault> {
        let fixed = self.fixed();
        let wrapper = fixed.first().filter(|word| WRAPPERS.contains(word))?;
        if self.spec.is_exact() {
            return None;
        }
        let all: Vec<&str> = self.spec.text.split(' ').collect();
        let inside: Vec<&str> = all
            .iter()
            .skip(1)
            .copied()
            .skip_while(|word| {
                word.starts_with(['-', '*'])
                    || word.contains('=')
                    || word.starts_with(|c: char| c.is_ascii_digit())
            })
            .collect();
        let see_through = TRANSPARENT.contains(wrapper) || *wrapper == "xargs";
        let why = if see_through {
            format!(
                "is about `{wrapper}`, which adds nothing: what is inside needs a rule of its own, and that is enough"
            )
        } else {
            format!(
                "is never honoured: `{wrapper}` runs whatever follows, so only its exact text may be allowed"
            )
        };
        let inner = inside.join(" ");
        let instead = match (see_through, inner.is_empty()) {
            (true, true) => self.with("PROGRAM SUBCOMMAND *"),
            (true, false) => self.with(&inner),
            (false, true) => self.with(&format!("{wrapper} COMMAND")),
            (false, false) => self.with(&self.spec.text.replace('*', "ARGUMENTS")),
        };
        Some(Fault::new(LintCode::PrefixNotHonoured, why).instead(self.rules([instead])))
    }

    /// A rule that decides nothing, as the engine says of every command that it seems to speak of.
    fn unmatched(&self) -> Option<Fault> {
        if self.is_honoured() || !self.is_unapproved() && self.rule.behavior() == Behavior::Allow {
            return None;
        }
        let fixed = self.fixed();
        if fixed.first() == Some(&"find") && self.rule.behavior() == Behavior::Allow {
            let why = "is never honoured: `find` runs, removes or writes with these options, so only its exact text may be allowed";
            let exact = self.with(&self.spec.text.replace('*', "ARGUMENTS"));
            return Some(Fault::new(LintCode::PrefixNotHonoured, why).instead(self.rules([exact])));
        }
        let reason = self.samples.first().map(|sample| {
            self.bench.resolve_alone(self.rule, PermissionMode::Default, sample).reason
        });
        let why = match reason {
            Some(reason) if self.rule.behavior() == Behavior::Allow => {
                format!("never matches: {}", reason.message)
            }
            Some(_) | None => "never matches a command".to_owned(),
        };
        Some(Fault::new(LintCode::NeverMatches, why))
    }

    /// A program that can do more than the rule shows.
    fn unsafe_program(&self) -> Option<Fault> {
        let row = UNSAFE.iter().find(|row| self.begins(row.words, row.open))?;
        let instead = row.instead.iter().map(|text| (*text).to_owned());
        Some(Fault::new(LintCode::UnsafePrefix, row.why).instead(instead))
    }

    /// `ls*` also speaks of `lsof`.
    fn open_word(&self) -> Option<Fault> {
        let prefix = self.spec.pattern.prefix();
        let text = self.spec.text.strip_suffix('*')?;
        let is_only_star = prefix == text;
        let ends_in_word = text.ends_with(|c: char| c.is_ascii_alphanumeric());
        let names_option = text.rsplit(' ').next().is_some_and(|word| word.starts_with('-'));
        (is_only_star && ends_in_word && !names_option).then(|| {
            let word = text.rsplit(' ').next().unwrap_or(text);
            let why = format!("also speaks of words that only begin with `{word}`");
            Fault::new(LintCode::NoWordBoundary, why).instead([self.with(&format!("{text} *"))])
        })
    }

    /// `bun */tools/*.ts` also speaks of `bun evil.ts x/tools/y.ts`.
    fn spanning_word(&self) -> Option<Fault> {
        let word = spanning_word(&self.spec.text)?;
        let filled = word.replacen('*', "OTHER WORDS", 1);
        let why = format!(
            "also speaks of commands with other words there, such as `{filled}`: a star stands for blanks too"
        );
        let plain = word.replace('*', "NAME");
        let instead = self.rules([self.with(&self.spec.text.replacen(word, &plain, 1))]);
        Some(Fault::new(LintCode::StarSpansWords, why).instead(instead))
    }

    /// `rm -rf *` does not speak of `rm -fr`, nor `git push --force *` of `git push origin --force`.
    fn option_order(&self) -> Option<Fault> {
        let words: Vec<&str> = self.spec.text.split(' ').collect();
        let first = words.iter().position(|word| word.starts_with('-'))?;
        let before = words.get(..first)?;
        if before.is_empty()
            || self.spec.is_exact() && words.len() < 3
            || before.concat().contains('*')
        {
            return None;
        }
        let option = words.get(first).copied().unwrap_or_default().trim_end_matches(['*', ':']);
        let start = before.join(" ");
        let why = format!(
            "speaks of `{option}` in this place only; the same options in another order escape it"
        );
        let instead = if option.starts_with("--") {
            vec![self.with(&format!("{start} *{option}*"))]
        } else {
            vec![self.with(&format!("{start} *"))]
        };
        Some(Fault::new(LintCode::OptionOrder, why).instead(instead))
    }
}

/// A piece of a command line, as its operators separate it.
enum Piece {
    Command(String),
    Output(String),
}

/// Separates a line at operators outside of quotes.
fn split(line: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut quote = None;
    let mut is_output = false;
    let mut characters = line.chars().peekable();
    let mut finish = |text: &mut String, is_output: bool| {
        let piece = std::mem::take(text);
        let piece = piece.trim();
        if piece.is_empty() {
            return;
        }
        if !is_output {
            pieces.push(Piece::Command(piece.to_owned()));
            return;
        }
        let (path, rest) = piece.split_once(' ').unwrap_or((piece, ""));
        pieces.push(Piece::Output(path.to_owned()));
        if !rest.trim().is_empty() {
            pieces.push(Piece::Command(rest.trim().to_owned()));
        }
    };
    while let Some(character) = characters.next() {
        match (character, quote) {
            ('\'' | '"', None) => quote = Some(character),
            (same, Some(opening)) if same == opening => quote = None,
            ('|' | '&' | ';' | '\n' | '<' | '>', None) => {
                // A descriptor before a redirection is no word.
                if character == '>' && text.ends_with([' ', '1', '2']) {
                    let bare = text.trim_end_matches(['1', '2']).len();
                    if text.get(..bare).is_some_and(|bare| bare.ends_with(' ')) {
                        text.truncate(bare);
                    }
                }
                finish(&mut text, is_output);
                is_output = character == '>';
                while characters.next_if(|next| matches!(next, '|' | '&' | '>')).is_some() {}
                continue;
            }
            _ => {}
        }
        text.push(character);
    }
    finish(&mut text, is_output);
    pieces
}
