//! End-to-end tests: the built program against a scripted model, at a terminal and in pipes, on real files and processes.

mod analyze;
mod broken_streams;
mod call;
mod chat;
mod check;
mod conversation;
mod doctor;
mod flood;
mod headless;
mod house;
mod interrupts;
mod kills;
mod policy;
mod questions;
mod sessions;
mod settings;
mod tools;
mod tour;
mod usage;
