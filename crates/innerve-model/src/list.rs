//! The models that a provider offers, read from its list.

use serde::Deserialize;

use crate::{ErrorClass, ModelError};

/// Both wire formats use the same shape (Anthropic, "List Models"; OpenAI, "List models").
#[derive(Deserialize)]
struct List {
    data: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
}

/// The ids in a list, in its order.
pub(crate) fn read(document: &[u8]) -> Result<Vec<String>, ModelError> {
    let list: List = serde_json::from_slice(document).map_err(|error| {
        ModelError::new(
            ErrorClass::Malformed,
            format!("the list of models is not in the expected form ({error})"),
        )
    })?;
    Ok(list.data.into_iter().map(|entry| entry.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_and_other_documents_refused() {
        let document = br#"{"object":"list","data":[{"id":"b","owned_by":"x"},{"id":"a"}]}"#;
        assert_eq!(read(document).unwrap(), ["b", "a"]);
        for other in [&b"<html>"[..], b"{}", b"{\"data\":[{}]}", b""] {
            assert_eq!(read(other).unwrap_err().class(), ErrorClass::Malformed);
        }
    }
}
