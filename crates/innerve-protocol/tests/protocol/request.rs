//! The rules of a request.
