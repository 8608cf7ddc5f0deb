//! Decides whether a tool use may run: a pure function from policy and facts to a decision that says why.
//!
//! [`resolve`] takes a [`Policy`] (rules, mode, directories) and [`CallFacts`] (what one tool use would do) and gives a
//! [`Resolution`]. [`judge`] does the same and binds the answer to the judged input: only it can make a [`Permit`].
//! This crate does no I/O: what it must know of the disk comes through [`PathFacts`].

mod decision;
pub mod facts;
mod layers;
mod lint;
mod mode;
mod network;
mod paths;
mod permit;
mod policy;
mod resolve;
mod rule;

pub use decision::{
    ClassifierWord, Decision, Link, LinkOutcome, PartResolution, Reason, ReasonKind, Resolution,
    Suggestion, Verdict,
};
pub use facts::{
    CallFacts, Descent, Effect, EffectSet, MayChange, Need, Part, PathTarget, Place, Target,
};
pub use layers::{Layer, PermissionSettings, SettingsWarning, merge};
pub use lint::{Finding, LintCode, Severity, lint, lint_layers};
pub use mode::{PermissionMode, UnknownMode};
pub use network::{AllowedHost, Host, HostPattern, HostRefusal, NetworkPolicy, Specificity};
pub use paths::{Entry, NoDisk, PathFacts, PathStyle, ResolvedPath};
pub use permit::{Approval, ApprovedBy, Judgement, Permit, Preview, Refused, judge};
pub use policy::{HookVoice, Objection, Policy, ReadScope, Sandbox, Voices};
pub use resolve::{PathPatterns, PathScopes, resolve};
pub use rule::{Behavior, Origin, Rule, RuleError, RuleSource, RuleWarning, Ruleset};

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
