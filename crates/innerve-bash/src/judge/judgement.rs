//! What one command does, put together from its parts.

use crate::directory::{Directory, shown};
use crate::secrets::{is_secret_path, is_secret_variable};
use crate::variables::{Values, is_socket};
use crate::{Class, Effect, EffectSet, Redirection, RedirectionKind, Word, WordPart};

/// What one command does.
#[derive(Clone, Debug)]
pub(crate) struct Judgement {
    pub(crate) class: Class,
    pub(crate) effects: EffectSet,
    pub(crate) complete: bool,
    pub(crate) reads: Vec<Option<String>>,
    pub(crate) writes: Vec<Option<String>>,
    pub(crate) deletes: Vec<Option<String>>,
}

impl Judgement {
    pub(crate) fn new(class: Class, effects: &[Effect]) -> Self {
        Self {
            class,
            effects: EffectSet::of(effects),
            complete: true,
            reads: Vec::new(),
            writes: Vec::new(),
            deletes: Vec::new(),
        }
    }

    pub(crate) fn neutral() -> Self {
        Self::new(Class::Neutral, &[])
    }

    /// Anything may happen.
    pub(crate) fn unknown() -> Self {
        let mut judgement = Self::new(Class::Unknown, &[Effect::ExecUnknown]);
        judgement.complete = false;
        judgement
    }

    /// Adds `class` and `effect` to what is known.
    pub(crate) fn raise(&mut self, class: Class, effect: Effect) {
        self.class = self.class.max(class);
        self.effects = self.effects.with(effect);
    }

    /// Takes back that everything is known.
    pub(crate) fn doubt(&mut self) {
        self.raise(Class::Unknown, Effect::ExecUnknown);
        self.complete = false;
    }

    /// Adds a file that is read; its contents may be secret.
    pub(crate) fn read(&mut self, word: &Word, directory: &Directory) {
        if word.literal() == Some("-") {
            return;
        }
        self.effects = self.effects.with(Effect::Read);
        self.reads.push(directory.resolve(word));
        if names_secret(word, directory) {
            self.raise(Class::Unknown, Effect::Secret);
        }
    }

    /// Adds a file whose metadata is read.
    pub(crate) fn look_at(&mut self, word: &Word, directory: &Directory) {
        self.effects = self.effects.with(Effect::Read);
        self.reads.push(directory.resolve(word));
    }

    /// Adds a file that is created or changed.
    pub(crate) fn write(&mut self, word: &Word, directory: &Directory) {
        self.raise(Class::Write, Effect::Write);
        self.writes.push(directory.resolve(word));
    }

    /// Adds a file that is removed.
    pub(crate) fn delete(&mut self, word: &Word, directory: &Directory) {
        self.raise(Class::Write, Effect::Delete);
        self.deletes.push(directory.resolve(word));
    }

    /// Adds what a redirection does.
    pub(super) fn redirect(
        &mut self,
        redirection: &Redirection,
        directory: &Directory,
        values: &Values,
    ) {
        self.look_for_secrets(&redirection.target);
        let target = redirection.target.literal();
        let connects = match redirection.kind {
            RedirectionKind::Duplicate | RedirectionKind::Text => false,
            RedirectionKind::Read => values.may_be_socket(&redirection.target),
            // Where it is not known what is written, the class says so anyway.
            RedirectionKind::Write | RedirectionKind::Append => {
                is_socket(&shown(&redirection.target))
            }
        };
        if connects {
            self.raise(Class::Unknown, Effect::Network);
            self.complete = false;
            return;
        }
        if target.is_some_and(is_descriptor) {
            return;
        }
        match redirection.kind {
            RedirectionKind::Duplicate | RedirectionKind::Text => {}
            RedirectionKind::Read => {
                self.read(&redirection.target, directory);
                if self.class == Class::Neutral {
                    self.class = Class::ReadOnly;
                }
            }
            RedirectionKind::Write | RedirectionKind::Append => {
                self.write(&redirection.target, directory);
                if target.is_none_or(is_device) {
                    self.class = Class::Unknown;
                }
            }
        }
    }

    /// Raises the class when a word holds a variable that usually is a secret.
    pub(crate) fn look_for_secrets(&mut self, word: &Word) {
        let Word::Dynamic(dynamic) = word else { return };
        let secret = dynamic.parts.iter().any(|part| match part {
            WordPart::Variable(name) => is_secret_variable(name),
            WordPart::Other(raw) => raw.starts_with("${") && is_secret_variable(raw),
            WordPart::Literal(_) | WordPart::Tilde(_) | WordPart::Glob(_) => false,
        });
        if secret {
            self.raise(Class::Unknown, Effect::Secret);
        }
    }
}

/// Whether a word names a file that likely holds a secret, in any of the ways a brace expression goes.
pub(crate) fn names_secret(word: &Word, directory: &Directory) -> bool {
    if is_secret_path(&directory.show(word)) {
        return true;
    }
    match word {
        Word::Literal(_) => false,
        Word::Dynamic(dynamic) => {
            dynamic.raw.contains('{')
                && dynamic.raw.split(['{', '}', ',', '"', '\'']).any(is_secret_path)
        }
    }
}

/// `/dev/null` and the standard descriptors: nothing is written to a file.
pub(super) fn is_descriptor(path: &str) -> bool {
    matches!(path, "/dev/null" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty")
        || path
            .strip_prefix("/dev/fd/")
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Devices and kernel files: writing there is never a mere write.
pub(super) fn is_device(path: &str) -> bool {
    ["/dev/", "/proc/", "/sys/"].iter().any(|place| path.starts_with(place))
}
