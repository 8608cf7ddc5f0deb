//! Pages that were fetched a short while ago.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

/// How long a page is taken for current.
const AGE: Duration = Duration::from_mins(15);
/// How many pages are kept; each is as long as a result may be.
const PAGES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);

/// A page as text.
#[derive(Debug)]
pub(super) struct PageText {
    pub(super) title: Option<String>,
    pub(super) text: String,
    pub(super) content_type: String,
    pub(super) bytes: u64,
    pub(super) is_cut: bool,
}

/// The pages, by URL.
pub(super) struct Cache(Mutex<LruCache<String, (Instant, Arc<PageText>)>>);

impl Cache {
    pub(super) fn new() -> Self {
        Self(Mutex::new(LruCache::new(PAGES)))
    }

    pub(super) fn get(&self, url: &str, now: Instant) -> Option<Arc<PageText>> {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (fetched, text) = pages.get(url)?;
        if now.saturating_duration_since(*fetched) < AGE {
            return Some(Arc::clone(text));
        }
        pages.pop(url);
        None
    }

    pub(super) fn put(&self, url: String, now: Instant, text: Arc<PageText>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).put(url, (now, text));
    }
}
