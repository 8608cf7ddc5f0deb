//! Reads the messages of OTLP as far as these tests look at them (OpenTelemetry, "opentelemetry-proto").

use std::collections::{BTreeMap, BTreeSet};

/// A field's value (Protocol Buffers, "Encoding").
#[derive(Clone, Debug)]
enum Value {
    Number(u64),
    Double(f64),
    Bytes(Vec<u8>),
}

/// A message: its fields by number, in order.
#[derive(Clone, Debug, Default)]
struct Message(Vec<(u64, Value)>);

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    loop {
        let (first, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        shift += 7;
        if first & 0x80 == 0 {
            return value;
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

impl Message {
    fn read(mut bytes: &[u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = number(&mut bytes);
            let value = match key & 7 {
                0 => Value::Number(number(&mut bytes)),
                1 => Value::Double(f64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let length = usize::try_from(number(&mut bytes)).unwrap();
                    Value::Bytes(take(&mut bytes, length).to_vec())
                }
                5 => {
                    take(&mut bytes, 4);
                    Value::Number(0)
                }
                kind => panic!("wire type {kind}"),
            };
            fields.push((key >> 3, value));
        }
        Self(fields)
    }

    fn all(&self, field: u64) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |(at, _)| *at == field).map(|(_, value)| value)
    }

    fn bytes(&self, field: u64) -> Vec<u8> {
        match self.all(field).next() {
            Some(Value::Bytes(bytes)) => bytes.clone(),
            _ => Vec::new(),
        }
    }

    fn text(&self, field: u64) -> String {
        String::from_utf8(self.bytes(field)).unwrap()
    }

    fn messages(&self, field: u64) -> Vec<Self> {
        let read = |value: &Value| match value {
            Value::Bytes(bytes) => Self::read(bytes),
            Value::Number(_) | Value::Double(_) => panic!("{value:?} is no message"),
        };
        self.all(field).map(read).collect()
    }

    /// The key-value pairs of a field.
    fn attributes(&self, field: u64) -> BTreeMap<String, String> {
        let read = |pair: &Self| {
            let value = pair.messages(2).into_iter().next().unwrap_or_default();
            let text = match value.0.first() {
                Some((1, Value::Bytes(text))) => String::from_utf8(text.clone()).unwrap(),
                Some((2, Value::Number(flag))) => (*flag == 1).to_string(),
                Some((3, Value::Number(number))) => number.to_string(),
                Some((4, Value::Double(number))) => number.to_string(),
                other => format!("{other:?}"),
            };
            (pair.text(1), text)
        };
        self.messages(field).iter().map(read).collect()
    }
}

/// A span, or an event in one.
#[derive(Clone, Debug, Default)]
pub(super) struct Span {
    pub(super) name: String,
    pub(super) id: Vec<u8>,
    pub(super) parent: Vec<u8>,
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) events: Vec<Self>,
}

/// What came as traces.
#[derive(Debug, Default)]
pub(super) struct Spans {
    pub(super) resource: BTreeMap<String, String>,
    spans: Vec<Span>,
}

impl Spans {
    pub(super) fn read(bodies: &[Vec<u8>]) -> Self {
        let mut read = Self::default();
        for of_resource in bodies.iter().flat_map(|body| Message::read(body).messages(1)) {
            for resource in of_resource.messages(1) {
                read.resource.extend(resource.attributes(1));
            }
            let scopes = of_resource.messages(2);
            read.spans.extend(scopes.iter().flat_map(|scope| scope.messages(2)).map(|span| {
                let events = span.messages(11);
                let event = |event: &Message| Span {
                    name: event.text(2),
                    attributes: event.attributes(3),
                    ..Span::default()
                };
                Span {
                    name: span.text(5),
                    id: span.bytes(2),
                    parent: span.bytes(4),
                    attributes: span.attributes(9),
                    events: events.iter().map(event).collect(),
                }
            }));
        }
        read
    }

    pub(super) fn named(&self, name: &str) -> Vec<&Span> {
        self.spans.iter().filter(|span| span.name == name).collect()
    }
}

/// What came as metrics: names, and the attributes of all counts.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    pub(super) names: BTreeSet<String>,
    pub(super) attributes: BTreeSet<String>,
}

impl Metrics {
    pub(super) fn read(bodies: &[Vec<u8>]) -> Self {
        let mut read = Self::default();
        let resources = bodies.iter().flat_map(|body| Message::read(body).messages(1));
        let scopes = resources.flat_map(|resource| resource.messages(2));
        for metric in scopes.flat_map(|scope| scope.messages(2)) {
            read.names.insert(metric.text(1));
            for point in metric.messages(7).iter().flat_map(|sum| sum.messages(1)) {
                let pairs = point.attributes(7);
                read.attributes.extend(pairs.iter().map(|(key, value)| format!("{key}={value}")));
            }
        }
        read
    }
}
