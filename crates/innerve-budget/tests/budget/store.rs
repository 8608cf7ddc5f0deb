//! The store in memory keeps the promises of the port.

use innerve_budget::{MemoryStore, ResultStore as _, StoreError, StoredContent};
use innerve_protocol::ToolUseId;

#[test]
fn the_same_content_has_the_same_path_and_other_content_another() {
    let store = MemoryStore::new(100);
    let id = ToolUseId::from("toolu_1");
    let first = store.save(&id, StoredContent::Text("one")).unwrap();
    let second = store.save(&id, StoredContent::Text("two")).unwrap();
    assert_ne!(first, second);
    assert_eq!(store.save(&id, StoredContent::Text("one")).unwrap(), first);
    assert_eq!(store.get(&first).unwrap(), "one");
    assert_eq!(store.get(&second).unwrap(), "two");
    assert_eq!(store.len(), 2);
}

#[test]
fn an_id_does_not_lead_out_of_the_store() {
    let store = MemoryStore::new(100);
    for id in ["../../etc/passwd", "", "a/b"] {
        let path = store.save(&id.into(), StoredContent::of(id)).unwrap();
        assert_eq!(path.parent().unwrap().to_str(), Some("/results"));
    }
}

#[test]
fn every_error_has_a_code_and_says_what_to_know() {
    let store = MemoryStore::new(3);
    let error = store.save(&"a".into(), StoredContent::Text("four")).unwrap_err();
    assert_eq!(error.code(), "result_store_full");
    assert_eq!(error.to_string(), "the result has 4 bytes, and there is room for 3");
    let source = std::io::Error::other("no");
    let error = StoreError::Write { path: "/x".into(), source };
    assert_eq!(error.code(), "result_store_write");
    assert_eq!(error.to_string(), "cannot write `/x`: no");
}
