//! The way to an OpenTelemetry collector (OTLP over HTTP), set up by the usual variables.
//!
//! Everything is sent from a thread of its own out of bounded buffers: a collector that is slow or gone costs telemetry and
//! nothing else. At the end it gets a moment to take what is left.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{MetricExporter, SpanExporter};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Subscriber;
use tracing_opentelemetry::MetricsLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

use super::{METRICS, is_safe};
use crate::output::warn;

/// How long the program waits at its end for the collector.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What sends spans and metrics.
#[derive(Debug)]
pub(super) struct Collector {
    spans: Option<SdkTracerProvider>,
    metrics: Option<SdkMeterProvider>,
}

impl Collector {
    /// What the variables ask for (OpenTelemetry, "SDK environment variables"); `None` if they ask for nothing.
    pub(super) fn from_env() -> Option<Self> {
        let wants = |signal| wants(signal, |name| std::env::var(name).ok());
        let (wants_spans, wants_metrics) = (wants("TRACES"), wants("METRICS"));
        if !wants_spans && !wants_metrics {
            return None;
        }
        // An error means that a provider is there already.
        drop(rustls::crypto::ring::default_provider().install_default());
        let spans = wants_spans.then(spans).flatten();
        let metrics = wants_metrics.then(metrics).flatten();
        (spans.is_some() || metrics.is_some()).then_some(Self { spans, metrics })
    }

    /// The layers that listen for it, to nothing but what this program itself says.
    pub(super) fn layers<S>(&self) -> Vec<Box<dyn Layer<S> + Send + Sync>>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        let mut layers = Vec::new();
        if let Some(spans) = &self.spans {
            let layer = tracing_opentelemetry::layer()
                .with_tracer(spans.tracer("innerve"))
                .with_location(false)
                .with_threads(false)
                .with_tracked_inactivity(false)
                .with_filter(filter_fn(|metadata| {
                    *metadata.level() <= tracing::Level::DEBUG && is_safe(metadata.target())
                }));
            layers.push(layer.boxed());
        }
        if let Some(metrics) = &self.metrics {
            let layer = MetricsLayer::new(metrics.clone())
                .with_filter(filter_fn(|metadata| metadata.target() == METRICS));
            layers.push(layer.boxed());
        }
        layers
    }

    /// Sends what is left, and does not wait long for it.
    pub(super) fn close(self) {
        let (done, waits) = mpsc::channel::<()>();
        let Self { spans, metrics } = self;
        let sends = thread::Builder::new().name("last telemetry".to_owned()).spawn(move || {
            // Nobody can be helped by an error here: the program is done.
            thread::scope(|scope| {
                scope.spawn(|| drop(spans.map(|spans| spans.shutdown_with_timeout(LAST_WORDS))));
                scope.spawn(|| drop(metrics.map(|all| all.shutdown_with_timeout(LAST_WORDS))));
            });
            drop(done);
        });
        if sends.is_ok() {
            // It is done, or it has had its time.
            let _done = waits.recv_timeout(LAST_WORDS);
        }
    }
}

/// Whether variables ask for a signal: they name an address, or the exporter by name.
fn wants(signal: &str, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
    if set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return false;
    }
    let exporters = set(&format!("OTEL_{signal}_EXPORTER"));
    if let Some(exporters) = exporters {
        return exporters.split(',').any(|exporter| exporter.trim() == "otlp");
    }
    let own = format!("OTEL_EXPORTER_OTLP_{signal}_ENDPOINT");
    set("OTEL_EXPORTER_OTLP_ENDPOINT").or_else(|| set(&own)).is_some()
}

fn resource() -> Resource {
    let mut builder = Resource::builder();
    let named = std::env::var_os("OTEL_SERVICE_NAME").is_some_and(|name| !name.is_empty());
    let has_name = std::env::var("OTEL_RESOURCE_ATTRIBUTES")
        .is_ok_and(|attributes| attributes.contains("service.name="));
    if !named && !has_name {
        builder = builder.with_service_name("innerve");
    }
    builder.with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION"))).build()
}

fn spans() -> Option<SdkTracerProvider> {
    let exporter = told("spans", SpanExporter::builder().with_http().build())?;
    Some(
        SdkTracerProvider::builder()
            .with_resource(resource())
            .with_batch_exporter(exporter)
            .build(),
    )
}

fn metrics() -> Option<SdkMeterProvider> {
    let exporter = told("metrics", MetricExporter::builder().with_http().build())?;
    let provider = SdkMeterProvider::builder().with_resource(resource());
    Some(provider.with_periodic_exporter(exporter).build())
}

fn told<T>(what: &str, built: Result<T, impl std::fmt::Display>) -> Option<T> {
    built.map_err(|error| warn(&format!("no {what} are sent to a collector: {error}"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], spans: bool, metrics: bool) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!((wants("TRACES", variable), wants("METRICS", variable)), (spans, metrics));
    }

    #[test]
    fn nothing_is_sent_unless_a_variable_asks_for_it() {
        check(&[], false, false);
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        check(&[endpoint], true, true);
        check(&[endpoint, ("OTEL_SDK_DISABLED", "true")], false, false);
        check(&[endpoint, ("OTEL_METRICS_EXPORTER", "none")], true, false);
        check(&[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://x/v1/traces")], true, false);
        check(&[("OTEL_TRACES_EXPORTER", "otlp")], true, false);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], false, false);
    }
}
