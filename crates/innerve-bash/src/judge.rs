//! What a simple command does: wrappers, builtins, the command table, redirections and assignments.

mod builtins;
mod fd;
mod find;
mod judgement;
mod options;
mod programs;
mod scripts;
mod shells;
mod wrappers;

use crate::directory::Directory;
use crate::opaque::Refusal;
use crate::read::{Argument, Reader, Scope, Simple, Step};
use crate::variables::{self, VariableKind};
use crate::{
    Class, Command, Context, Effect, EffectSet, OpaqueCode, Redirection, Span, Word, commands,
};

#[cfg(test)]
pub(crate) use find::{PLAIN as FIND_PLAIN, VALUED as FIND_VALUED};
pub(crate) use judgement::{Judgement, names_secret};
use judgement::{is_descriptor, is_device};
pub(crate) use options::{Dynamic, Options, Parsed, Value};
#[cfg(test)]
pub(crate) use programs::decide;
pub(crate) use scripts::{is_reading_awk, is_reading_sed};

/// Words that start or end compound commands.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "case", "esac", "for", "select", "while", "until", "do",
    "done", "in", "function", "time", "coproc", "{", "}", "!", "[[", "]]",
];

/// Most wrappers around one command.
const MAX_WRAPPERS: usize = 8;

/// Whether `name` is a reserved word.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// A command with what the whole text decides about it later.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) command: Command,
    /// Whether it only assigns a variable that a later program may read.
    pub(crate) assigns_plain: bool,
    /// Whether the shell runs it without a program.
    pub(crate) builtin: bool,
}

/// A command about to be judged.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) words: Vec<Argument<'a>>,
    pub(crate) assignments: Vec<crate::Assignment>,
    pub(crate) redirections: Vec<Redirection>,
    pub(crate) span: Span,
    pub(crate) wrappers: Vec<String>,
    /// Whether an assignment is in effect that some program may read.
    pub(crate) plain_environment: bool,
    /// Whether a program starts it, so that builtins are not meant.
    pub(crate) executed: bool,
}

impl<'a> Reader<'a> {
    /// Judges a simple command and everything it wraps.
    pub(crate) fn run(&mut self, simple: Simple<'a>, scope: Scope) -> Step {
        let Some(first) = simple.words.first() else {
            return self.bare(simple, scope);
        };
        let checked = check_name(first, &simple).and_then(|()| Self::environment(&simple));
        let plain = checked.inspect_err(|_| self.found_only(&simple, scope))?;
        let call = self.call_of(simple, plain);
        self.call(&call, scope)?;
        Ok(())
    }

    /// The call that a simple command is, behind the wrappers that were read.
    fn call_of(&self, simple: Simple<'a>, plain_environment: bool) -> Call<'a> {
        let Simple { words, assignments, redirections, span } = simple;
        Call {
            words,
            assignments,
            redirections,
            span,
            wrappers: self.wrappers.clone(),
            plain_environment,
            executed: false,
        }
    }

    /// Lists a command that is refused.
    pub(crate) fn found_only(&mut self, simple: &Simple<'a>, scope: Scope) {
        let call = self.call_of(simple.clone(), false);
        self.push(&call, Judgement::unknown(), scope);
    }

    /// Whether the assignments before a command set something that programs may read; refuses dangerous ones.
    fn environment(simple: &Simple<'a>) -> Step<bool> {
        let name = simple.words.first().and_then(|word| word.word.literal()).unwrap_or_default();
        let mut plain = false;
        for assignment in &simple.assignments {
            let kind = variables::kind(&assignment.name);
            match kind {
                VariableKind::Inert => plain |= !assignment.is_inert(),
                VariableKind::Plain => plain = true,
                VariableKind::Meaning if assignment.name == "IFS" && name == "read" => {}
                VariableKind::Meaning => {
                    let message = format!(
                        "assigning `{}` changes what later text or programs mean",
                        assignment.name
                    );
                    return Err(Refusal::new(OpaqueCode::ChangesState, message, simple.span));
                }
                VariableKind::Evaluated => {
                    let message =
                        format!("bash evaluates what is assigned to `{}`", assignment.name);
                    return Err(Refusal::new(OpaqueCode::EvaluatesData, message, simple.span));
                }
            }
        }
        Ok(plain)
    }

    /// Judges a command without words.
    fn bare(&mut self, simple: Simple<'a>, scope: Scope) -> Step {
        let plain = Self::environment(&simple).inspect_err(|_| self.found_only(&simple, scope))?;
        let judgement = Judgement::new(Class::ReadOnly, &[]);
        let call = self.call_of(simple, plain);
        let index = self.push(&call, judgement, scope);
        if let Some(found) = self.findings.found.get_mut(index) {
            found.builtin = true;
            found.assigns_plain = plain;
        }
        Ok(())
    }

    /// Judges a command whose name is static; gives its place in the findings.
    pub(crate) fn call(&mut self, call: &Call<'a>, scope: Scope) -> Step<usize> {
        let index = self.push(call, Judgement::unknown(), scope);
        // `cd x > y` opens `y` before it moves.
        let before = self.directory.clone();
        if call.wrappers.len() > MAX_WRAPPERS {
            return Err(Refusal::new(
                OpaqueCode::TooLarge,
                "too many wrappers around a command",
                call.span,
            ));
        }
        let Some(name) =
            call.words.first().and_then(|first| first.word.literal()).map(str::to_owned)
        else {
            return Err(Refusal::new(
                OpaqueCode::DynamicCommand,
                "the name of the program is not known",
                call.span,
            ));
        };
        let mut builtin = false;
        let mut judgement = if let Some(judgement) = self.wrapper(&name, call, scope)? {
            judgement
        } else if let Some(judgement) = self.builtin(&name, call)? {
            builtin = true;
            judgement
        } else if call.wrappers.is_empty() && self.findings.functions.contains(&name) {
            self.function_call(call)
        } else {
            let bare = bare_name(&name);
            let mut judgement = programs::judge(bare, &call.words, self.site());
            if call.plain_environment && !commands::ignores_environment(bare) {
                if judgement.class <= Class::ReadOnly {
                    judgement.doubt();
                }
                judgement.complete = false;
            }
            judgement
        };
        if judgement.class == Class::Unknown && judgement.effects.is_empty() {
            judgement.doubt();
        }
        self.finish(index, judgement, call, &before);
        let wraps_last = self.findings.found.iter().skip(index + 1).any(|found| found.command.last);
        if let Some(found) = self.findings.found.get_mut(index) {
            found.command.last &= !wraps_last;
            found.builtin = builtin;
            found.assigns_plain =
                builtin && name == "export" && builtins::exports_plain(&call.words);
        }
        Ok(index)
    }

    fn site(&self) -> programs::Site<'_> {
        programs::Site { directory: &self.directory, cwd: self.cwd, values: &self.findings.values }
    }

    /// Judges the call of a function that is defined before: its body is reported there, so that only what is handed to
    /// it counts here.
    fn function_call(&self, call: &Call<'a>) -> Judgement {
        let mut judgement = Judgement::neutral();
        if call.plain_environment {
            // The programs of its body see the variable too.
            judgement.doubt();
        }
        for argument in call.words.iter().skip(1) {
            judgement.look_for_secrets(&argument.word);
            if names_secret(&argument.word, &self.directory) {
                judgement.raise(Class::Unknown, Effect::Secret);
            }
        }
        judgement
    }

    /// Remembers what a variable may hold.
    pub(crate) fn remember(&mut self, name: &str, value: &Word) {
        self.findings.values.assign(name, value, &self.directory);
    }

    /// Whether a word holds a variable that was given the path of a secret.
    fn uses_secret_path(&self, call: &Call<'a>) -> bool {
        let words = call.words.iter().map(|argument| &argument.word);
        let targets = call.redirections.iter().map(|redirection| &redirection.target);
        words.chain(targets).any(|word| self.findings.values.leads_to_secret(word))
    }

    /// Appends a command to the findings.
    fn push(&mut self, call: &Call<'a>, judgement: Judgement, scope: Scope) -> usize {
        let index = self.findings.found.len();
        let mut redirections = call.redirections.clone();
        redirections.extend(self.around.iter().map(|around| around.redirection.clone()));
        let command = Command {
            span: call.span,
            argv: call.words.iter().map(|argument| argument.word.clone()).collect(),
            assignments: call.assignments.clone(),
            redirections,
            context: scope.context,
            unwrapped_from: call.wrappers.clone(),
            last: scope.last,
            class: Class::Unknown,
            effects: EffectSet::NONE,
            complete: false,
            reads: Vec::new(),
            writes: Vec::new(),
            deletes: Vec::new(),
        };
        self.findings.found.push(Found { command, assigns_plain: false, builtin: false });
        self.finish(index, judgement, call, &self.directory.clone());
        index
    }

    /// Enters what a command does, with its assignments and its redirections, which are opened in `directory`.
    fn finish(
        &mut self,
        index: usize,
        mut judgement: Judgement,
        call: &Call<'a>,
        directory: &Directory,
    ) {
        for redirection in &call.redirections {
            judgement.redirect(redirection, directory, &self.findings.values);
        }
        for around in &self.around {
            judgement.redirect(&around.redirection, &around.directory, &self.findings.values);
        }
        if call.words.iter().any(|argument| argument.word.literal().is_none())
            || !call.redirections.is_empty()
            || !self.around.is_empty()
        {
            self.findings.values.note_question();
        }
        for assignment in &call.assignments {
            judgement.look_for_secrets(&assignment.value);
            self.remember(&assignment.name, &assignment.value);
        }
        if judgement.class != Class::Neutral && self.uses_secret_path(call) {
            judgement.raise(Class::Unknown, Effect::Secret);
        }
        if let Some(found) = self.findings.found.get_mut(index) {
            let command = &mut found.command;
            command.class = judgement.class;
            command.effects = judgement.effects;
            command.complete = judgement.complete;
            command.reads = judgement.reads;
            command.writes = judgement.writes;
            command.deletes = judgement.deletes;
        }
    }
}

/// The name of a program, without a system directory before it.
pub(crate) fn bare_name(name: &str) -> &str {
    ["/bin/", "/usr/bin/", "/usr/local/bin/"]
        .iter()
        .find_map(|directory| name.strip_prefix(directory))
        .filter(|rest| !rest.contains('/') && !rest.is_empty())
        .unwrap_or(name)
}

/// Refuses first words that bash may take for something else than the name of a program.
fn check_name(first: &Argument<'_>, simple: &Simple<'_>) -> Step {
    let refuse = |code, message: String| Err(Refusal::new(code, message, simple.span));
    if first.word.literal().is_none() {
        return refuse(
            OpaqueCode::DynamicCommand,
            format!("the name of the program, `{}`, is not known", first.raw),
        );
    }
    let name_length =
        first.raw.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let behind = first.raw.get(name_length..).unwrap_or_default();
    if name_length > 0
        && (behind.starts_with('=') || behind.starts_with('[') || behind.starts_with("+="))
    {
        return refuse(OpaqueCode::Construct, format!("`{}` may be an assignment", first.raw));
    }
    if is_reserved(first.raw) && !matches!(first.raw, "time" | "[[") || first.raw.starts_with('-') {
        return refuse(
            OpaqueCode::Construct,
            format!("`{}` stands where a command is expected", first.raw),
        );
    }
    Ok(())
}

/// The commands of the findings, with what depends on the commands after them.
pub(crate) fn settle(found: Vec<Found>) -> Vec<Command> {
    let builtins: Vec<bool> =
        found.iter().map(|found| found.builtin && !found.assigns_plain).collect();
    let mut commands: Vec<Command> = Vec::with_capacity(found.len());
    for (index, mut found) in found.into_iter().enumerate() {
        if found.assigns_plain {
            // What stands in a loop or a function also runs before what stands before it.
            let again = matches!(found.command.context, Context::Loop | Context::Function);
            let first = if again { 0 } else { index + 1 };
            let mut later = builtins
                .iter()
                .enumerate()
                .skip(first)
                .filter(|(other, _)| *other != index)
                .map(|(_, builtin)| builtin);
            let inert =
                later.next().is_some_and(|builtin| *builtin) && later.all(|builtin| *builtin);
            if !inert {
                found.command.class = Class::Unknown;
                found.command.effects = found.command.effects.with(Effect::ExecUnknown);
                found.command.complete = false;
            }
        }
        commands.push(found.command);
    }
    commands.sort_by_key(|command| command.span.start);
    commands
}
