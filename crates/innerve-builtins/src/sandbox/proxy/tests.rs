//! The proxy over real sockets.
