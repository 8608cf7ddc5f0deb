//! Tests of headers, addresses and causes.

use super::*;

#[test]
fn a_refused_certificate_is_seen_through_its_wrappings() {
    let refused = rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
    assert!(is_certificate(&io::Error::new(io::ErrorKind::InvalidData, refused.clone())));
    assert!(is_certificate(&io::Error::other(io::Error::other(refused))));
    let other = rustls::Error::General("handshake".to_owned());
    assert!(!is_certificate(&io::Error::other(other)));
    assert!(!is_certificate(&io::Error::from(io::ErrorKind::ConnectionReset)));
}

#[track_caller]
fn check_wait(name: &str, value: &str, expected: Option<f64>) {
    let headers = headers(&[(name.to_owned(), value.to_owned())]).unwrap();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    assert_eq!(retry_after(&headers, now).map(|wait| wait.as_secs_f64()), expected, "{value}");
}

#[test]
fn waits_are_seconds_milliseconds_or_dates() {
    check_wait("retry-after", "7", Some(7.0));
    check_wait("retry-after", " 0.5 ", Some(0.5));
    check_wait("retry-after-ms", "1500", Some(1.5));
    check_wait("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT", Some(60.0));
    check_wait("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0));
    for odd in ["", "soon", "-1", "NaN", "inf", "1e999"] {
        check_wait("retry-after", odd, None);
    }
}

#[test]
fn only_this_machine_goes_past_the_proxy() {
    for (url, expected) in [
        ("http://127.0.0.1:1", true),
        ("http://[::1]:1/v1", true),
        ("https://localhost", true),
        ("https://localhost.example.com", false),
        ("https://api.anthropic.com", false),
    ] {
        assert_eq!(is_loopback(&reqwest::Url::parse(url).unwrap()), expected, "{url}");
    }
}
