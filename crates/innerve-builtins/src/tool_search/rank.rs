//! Ranking: how well a tool fits a query, by whole words and the same answer every time.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use innerve_tool::port::CatalogEntry;
use serde_json::Value;

/// What a term is worth where it is found; a term counts once in each of these places.
mod worth {
    /// It is a word of the name.
    pub(super) const NAME: f64 = 12.0;
    /// It is a part of a word of the name.
    pub(super) const IN_NAME: f64 = 6.0;
    /// A word of the same meaning is a word of the name.
    pub(super) const ALIKE_IN_NAME: f64 = 8.0;
    /// It is a word of the search hint.
    pub(super) const HINT: f64 = 5.0;
    /// It is a word of the description.
    pub(super) const DESCRIPTION: f64 = 3.0;
    /// A word of the same meaning is a word of the description.
    pub(super) const ALIKE_IN_DESCRIPTION: f64 = 2.0;
    /// It is a word of a parameter's name.
    pub(super) const PARAMETER: f64 = 2.0;
    /// It is a word of a parameter's description.
    pub(super) const PARAMETER_DESCRIPTION: f64 = 1.0;
}

/// Parts of names shorter than this are not looked for inside of words.
const MIN_PART: usize = 3;
/// Characters of a description that are read; more says nothing new.
const MAX_DESCRIPTION: usize = 4_000;
/// Terms of a query that are looked at.
const MAX_TERMS: usize = 40;

/// Words that say nothing about which tool is meant.
const EMPTY_WORDS: &[&str] = &[
    "a", "about", "all", "an", "and", "any", "are", "as", "at", "be", "by", "can", "do", "for",
    "from", "how", "i", "in", "into", "is", "it", "its", "mcp", "me", "my", "need", "of", "on",
    "or", "our", "please", "some", "that", "the", "their", "there", "this", "to", "tool", "tools",
    "up", "use", "using", "want", "what", "which", "with", "you",
];

/// Words of one meaning, as stems: people and servers name the same deed differently.
const ALIKE: &[&[&str]] = &[
    &["create", "add", "new", "make", "insert", "open"],
    &["delete", "remove", "drop", "destroy"],
    &["get", "read", "fetch", "retrieve", "show", "view", "open", "describe"],
    &["list", "show", "enumerate"],
    &["search", "find", "query", "lookup"],
    &["update", "edit", "modify", "change", "set", "patch"],
    &["send", "post"],
    &["run", "execute", "start", "trigger", "launch"],
    &["stop", "cancel", "terminate", "kill", "abort"],
    &["upload", "put"],
    &["email", "mail", "gmail"],
    &["picture", "image", "photo"],
    &["issue", "ticket", "bug"],
    &["repo", "repository"],
    &["pr", "pull"],
    &["db", "database"],
    &["msg", "message"],
    &["doc", "document"],
    &["dir", "directory", "folder"],
    &["calendar", "meeting", "event", "appointment"],
    &["person", "people", "user", "member", "contact"],
    &["web", "internet", "website", "page"],
    &["comment", "reply"],
    &["client", "customer"],
    &["deploy", "deployment", "release", "rollout"],
    &["error", "exception", "crash"],
    &["log", "logs"],
    &["money", "payment", "pay"],
    &["temperature", "weather", "forecast"],
    &["wiki", "confluence"],
    &["screenshot", "capture"],
];

/// A query as it is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Query {
    /// These names, exactly.
    Select(Vec<String>),
    /// Words, of which those with `+` must be there.
    Words(String),
}

impl Query {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let prefix = text.get(..7).filter(|prefix| prefix.eq_ignore_ascii_case("select:"));
        match prefix.and_then(|_| text.get(7..)) {
            Some(names) => {
                let names = names.split([',', ' ', '\n']).map(str::trim);
                Self::Select(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
            }
            None => Self::Words(text.to_owned()),
        }
    }
}

/// A name as it is compared: case folded.
pub(super) fn normal(name: &str) -> String {
    name.to_ascii_lowercase()
}

/// The tools that fit a query, best first; what fits equally is sorted by name.
///
/// The exact name of a tool gives that tool, `mcp__server` the tools of that server in order of name. Otherwise each word
/// of the query is worth what the table of this module says for the places where it is found, more if few tools have it. A word
/// with `+` must be in the name or the search hint.
pub fn rank<'a>(entries: &'a [CatalogEntry], query: &str) -> Vec<&'a CatalogEntry> {
    let bare = normal(query.trim());
    let exact: Vec<_> = entries.iter().filter(|entry| normal(&entry.name) == bare).collect();
    if !exact.is_empty() {
        return exact;
    }
    if let Some(server) = bare.strip_prefix("mcp__")
        && !server.contains(' ')
    {
        let stem = bare.trim_end_matches(['*', '_']);
        let own = format!("{stem}__");
        let mut tools: Vec<_> =
            entries.iter().filter(|entry| normal(&entry.name).starts_with(&own)).collect();
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        if !tools.is_empty() {
            return tools;
        }
    }
    let terms = terms(query);
    if terms.is_empty() {
        return Vec::new();
    }
    let texts: Vec<Texts> = entries.iter().map(Texts::of).collect();
    let weights = weights(&terms, &texts);
    let mut found: Vec<(f64, &CatalogEntry)> = Vec::new();
    for (entry, text) in entries.iter().zip(&texts) {
        let lacks = |term: &&Term| term.required && !text.is_named(&term.word);
        if terms.iter().any(|term| lacks(&term)) {
            continue;
        }
        let scores = terms.iter().zip(&weights);
        let score: f64 = scores.map(|(term, weight)| text.score(&term.word) * weight).sum();
        if score > 0.0 {
            found.push((score, entry));
        }
    }
    found.sort_by(|(a, left), (b, right)| b.total_cmp(a).then_with(|| left.name.cmp(&right.name)));
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// One word of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    word: String,
    required: bool,
}

fn terms(query: &str) -> Vec<Term> {
    static EMPTY: LazyLock<BTreeSet<String>> =
        LazyLock::new(|| EMPTY_WORDS.iter().map(|word| stem(word)).collect());
    let mut terms: Vec<Term> = Vec::new();
    for piece in query.split_whitespace() {
        let required = piece.starts_with('+');
        for word in words(piece) {
            if let Some(term) = terms.iter_mut().find(|term| term.word == word) {
                term.required |= required;
            } else {
                terms.push(Term { word, required });
            }
        }
    }
    let says_something = |term: &Term| term.required || !EMPTY.contains(&term.word);
    if terms.iter().any(says_something) {
        terms.retain(says_something);
    }
    terms.truncate(MAX_TERMS);
    terms
}

/// How much each term tells tools apart: much for one that few tools have, little for one that many have.
fn weights(terms: &[Term], texts: &[Texts]) -> Vec<f64> {
    let count = |count: usize| u32::try_from(count).map_or(f64::MAX, f64::from);
    let all = count(texts.len());
    let weight = |term: &Term| {
        let having = texts.iter().filter(|text| text.score(&term.word) > 0.0).count();
        (1.0 + all / (1.0 + count(having))).ln()
    };
    terms.iter().map(weight).collect()
}

/// The words of a tool, by the place where they stand.
struct Texts {
    name: BTreeSet<String>,
    hint: BTreeSet<String>,
    description: BTreeSet<String>,
    parameters: BTreeSet<String>,
    parameter_descriptions: BTreeSet<String>,
}

impl Texts {
    fn of(entry: &CatalogEntry) -> Self {
        let shortened: String = entry.description.chars().take(MAX_DESCRIPTION).collect();
        let mut parameters = BTreeSet::new();
        let mut parameter_descriptions = BTreeSet::new();
        let fields = entry.input_schema.get("properties").and_then(Value::as_object);
        for (name, field) in fields.into_iter().flatten() {
            parameters.extend(words(name));
            let description = field.get("description").and_then(Value::as_str);
            parameter_descriptions.extend(words(description.unwrap_or_default()));
        }
        let mut name: BTreeSet<String> = words(&entry.name).collect();
        name.extend(entry.aliases.iter().flat_map(|alias| words(alias)));
        if entry.name.starts_with("mcp__") {
            name.remove("mcp");
        }
        Self {
            name,
            hint: words(&entry.search_hint).collect(),
            description: words(&shortened).collect(),
            parameters,
            parameter_descriptions,
        }
    }

    /// Whether the name or the hint has the word, or the name has it inside of one of its own.
    fn is_named(&self, word: &str) -> bool {
        self.name.contains(word) || self.hint.contains(word) || self.is_part_of_name(word)
    }

    fn is_part_of_name(&self, word: &str) -> bool {
        word.chars().count() >= MIN_PART && self.name.iter().any(|part| part.contains(word))
    }

    fn score(&self, word: &str) -> f64 {
        let has = |words: &BTreeSet<String>| words.contains(word);
        let has_alike = |words: &BTreeSet<String>| alike(word).any(|other| words.contains(other));
        let mut score = 0.0;
        if has(&self.name) {
            score += worth::NAME;
        } else if has_alike(&self.name) {
            score += worth::ALIKE_IN_NAME;
        } else if self.is_part_of_name(word) {
            score += worth::IN_NAME;
        }
        if has(&self.hint) {
            score += worth::HINT;
        }
        if has(&self.description) {
            score += worth::DESCRIPTION;
        } else if has_alike(&self.description) {
            score += worth::ALIKE_IN_DESCRIPTION;
        }
        if has(&self.parameters) {
            score += worth::PARAMETER;
        }
        if has(&self.parameter_descriptions) {
            score += worth::PARAMETER_DESCRIPTION;
        }
        score
    }
}

/// Other words of the same meaning.
fn alike(word: &str) -> impl Iterator<Item = &'static str> {
    static STEMS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
        ALIKE.iter().map(|group| group.iter().map(|word| stem(word)).collect()).collect()
    });
    STEMS
        .iter()
        .filter(move |group| group.iter().any(|other| other == word))
        .flatten()
        .map(String::as_str)
        .filter(move |other| *other != word)
}

/// The words of a text as stems: split where no letter or digit stands and where a small letter meets a capital.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut before = None::<char>;
    for letter in text.chars() {
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| before.is_lowercase() || before.is_ascii_digit());
        if !letter.is_alphanumeric() || begins {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.extend((!word.is_empty()).then_some(word));
    words.into_iter().map(|word| stem(&word))
}

/// A word without the endings of its plural and of its tense. Not grammar: both sides lose the same endings.
fn stem(word: &str) -> String {
    const PLURAL: &[(&str, &str, usize)] = &[
        ("ies", "y", 2),
        ("sses", "ss", 1),
        ("shes", "sh", 1),
        ("ches", "ch", 1),
        ("xes", "x", 1),
        ("ss", "ss", 0),
        ("us", "us", 0),
        ("is", "is", 0),
        ("s", "", 3),
    ];
    const TENSE: &[(&str, &str, usize)] = &[("ing", "", 4), ("ied", "y", 2), ("ed", "", 4)];
    let without = |word: &str, endings: &[(&str, &str, usize)]| {
        let ending = endings.iter().find(|(ending, _, _)| word.ends_with(ending));
        match ending
            .and_then(|(ending, instead, least)| Some((word.strip_suffix(ending)?, instead, least)))
        {
            Some((rest, instead, least)) if rest.chars().count() >= *least => {
                format!("{rest}{instead}")
            }
            Some(_) | None => word.to_owned(),
        }
    };
    undouble(&without(&without(word, PLURAL), TENSE))
}

/// `create` and `creat`(ing), `merge` and `merg`(ed), `plann`(ing) and `plan` are one.
fn undouble(word: &str) -> String {
    let long = word.chars().count() > 3;
    let word = if long { word.strip_suffix('e').unwrap_or(word) } else { word };
    let mut last = word.chars().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if long && a == b && !"aeiousl".contains(a) => {
            let mut shorter = word.to_owned();
            shorter.pop();
            shorter
        }
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests;
