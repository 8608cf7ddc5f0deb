//! Keeps tool results from flooding a conversation: limits, previews, replacement state, store port.
