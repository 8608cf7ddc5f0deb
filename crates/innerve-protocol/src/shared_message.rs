//! Messages that a conversation and its requests share.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::value::{RawValue, to_raw_value};

use crate::Message;

/// A message that a conversation and its requests share: a clone costs nothing, and its JSON is written once.
///
/// A conversation is sent again with every request; what was sent before must not be worked on again each time.
/// [`Self::make_mut`] changes this clone only.
#[derive(Clone)]
pub struct SharedMessage(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    message: Message,
    json: OnceLock<Box<RawValue>>,
}

impl SharedMessage {
    /// The message, to be changed; other clones keep what they have.
    pub fn make_mut(&mut self) -> &mut Message {
        let inner = Arc::make_mut(&mut self.0);
        inner.json = OnceLock::new();
        &mut inner.message
    }

    /// Whether both are clones of one message that nobody has changed since.
    pub fn is_clone_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The message itself; a copy if others share it.
    pub fn into_message(self) -> Message {
        Arc::try_unwrap(self.0).map_or_else(|shared| shared.message.clone(), |inner| inner.message)
    }

    /// The message as JSON, written when it is first asked for.
    fn json(&self) -> Result<&RawValue, serde_json::Error> {
        if let Some(json) = self.0.json.get() {
            return Ok(json);
        }
        let json = to_raw_value(&self.0.message)?;
        Ok(self.0.json.get_or_init(|| json))
    }
}

impl From<Message> for SharedMessage {
    fn from(mut message: Message) -> Self {
        // It is kept as long as the conversation, and hardly ever grows.
        message.content.shrink_to_fit();
        Self(Arc::new(Inner { message, json: OnceLock::new() }))
    }
}

impl Deref for SharedMessage {
    type Target = Message;

    fn deref(&self) -> &Message {
        &self.0.message
    }
}

impl Borrow<Message> for SharedMessage {
    fn borrow(&self) -> &Message {
        self
    }
}

impl PartialEq for SharedMessage {
    fn eq(&self, other: &Self) -> bool {
        self.is_clone_of(other) || **self == **other
    }
}

impl fmt::Debug for SharedMessage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl Serialize for SharedMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedMessage {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Message::deserialize(deserializer).map(Self::from)
    }
}
