//! Whether a path that is not known may be one of those that bash takes for a socket: `/dev/tcp/HOST/PORT`, `/dev/udp/HOST/PORT`.
//!
//! What is opened there with `<` can be written to as well (`echo "$x" < "$path" >&0`).

use super::{Values, is_directory};
use crate::{Word, WordPart};

/// What the paths of sockets begin with (Bash Reference Manual, "Redirections").
const PLACES: [&str; 2] = ["/dev/tcp/", "/dev/udp/"];

impl Values {
    /// Whether a redirection to `word` may open a connection.
    pub(crate) fn may_be_socket(&self, word: &Word) -> bool {
        match word {
            Word::Literal(path) => is_socket(path),
            Word::Dynamic(dynamic) => self.parts_may_begin(&dynamic.parts),
        }
    }

    /// Whether the text of `word` may be the beginning of the path of a socket, or such a path.
    pub(super) fn may_begin_socket(&self, word: &Word) -> bool {
        match word {
            Word::Literal(text) => !text.is_empty() && may_begin(text),
            Word::Dynamic(dynamic) => self.parts_may_begin(&dynamic.parts),
        }
    }

    /// Notes whether `name` may hold the path of a socket; once it may, it always may.
    pub(super) fn note_socket(&mut self, name: &str, may: bool) {
        if may && !self.sockets.iter().any(|known| known == name) {
            self.sockets.push(name.to_owned());
            self.taken_back |= self.asked;
        }
    }

    fn parts_may_begin(&self, parts: &[WordPart]) -> bool {
        let mut prefix = String::new();
        let mut rest = parts.iter();
        while let Some(part) = rest.next() {
            match part {
                WordPart::Literal(text) => {
                    prefix.push_str(text);
                    if !may_begin(&prefix) {
                        return false;
                    }
                }
                // A pattern becomes the name of a file in the directory, or stays as it is.
                WordPart::Tilde(_) | WordPart::Glob(_) if prefix.is_empty() => return false,
                WordPart::Variable(name) if prefix.is_empty() && is_directory(name) => {
                    // `${PWD}dev/tcp/…` in the root directory.
                    return match rest.next() {
                        None => false,
                        Some(WordPart::Literal(text)) => !text.starts_with('/'),
                        Some(_) => true,
                    };
                }
                // Either empty, or something else from its first characters on.
                WordPart::Variable(name) if prefix.is_empty() && self.is_elsewhere(name) => {}
                WordPart::Variable(_)
                | WordPart::Other(_)
                | WordPart::Tilde(_)
                | WordPart::Glob(_) => {
                    return true;
                }
            }
        }
        !prefix.is_empty()
    }

    /// Whether a variable was given nothing that may lead to a socket; neither, it is assumed, was it by the environment.
    fn is_elsewhere(&self, name: &str) -> bool {
        name.starts_with(|first: char| !first.is_ascii_digit())
            && !self.sockets.iter().any(|known| known == name)
    }
}

/// Whether bash opens a connection for `path`.
pub(crate) fn is_socket(path: &str) -> bool {
    PLACES.iter().any(|place| path.starts_with(place))
}

/// Whether `text` is the beginning of the path of a socket, or goes on from one.
fn may_begin(text: &str) -> bool {
    PLACES.iter().any(|place| place.starts_with(text) || text.starts_with(place))
}
