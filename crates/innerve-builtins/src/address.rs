//! Which addresses are public, those that the registries of special-purpose addresses leave to everybody, and what the
//! others are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet (IANA IPv4 and IPv6 Special-Purpose Address Registries).
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether an address belongs to a network that is not public and still one of many machines: private use, unique local,
/// carriers' networks, and what is reserved for other uses and found inside of networks all the same. Not the machine
/// itself, nor what is on its own link alone.
#[cfg(feature = "sandbox")]
pub(crate) fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let is_near = address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
                || matches!(address.octets(), [0, ..]);
            !is_near && !is_public_v4(address)
        }
        IpAddr::V6(address) => {
            // What carries an IPv4 address is none of these: nobody knows where that leads.
            address.is_unique_local()
                || matches!(address.segments(), [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..])
        }
    }
}

#[expect(clippy::unnested_or_patterns, reason = "a row for each kind of address")]
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        // This network, private use, loopback.
        (0 | 10 | 127, _, _)
            // Shared by carriers (RFC 6598), link-local, and with it the metadata services of clouds.
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            // Protocol assignments, documentation, the former 6to4 relay, benchmarks.
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            // Multicast, reserved, broadcast.
            | (224..=255, _, _)
    )
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    match address.segments() {
        // Translated to IPv4 (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
            is_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Protocol assignments with Teredo, documentation, 6to4 (which carries an IPv4 address), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast is all that is given out.
        [first, ..] => (0x2000..=0x3fff).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: bool, addresses: &[&str]) {
        for text in addresses {
            let address: IpAddr = text.parse().unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            assert_eq!(address.to_string(), *text, "written as it is printed");
            assert_eq!(is_public(address), expected, "{text}");
        }
    }

    #[test]
    fn private_loopback_and_link_local_addresses_are_not_public() {
        check(
            false,
            &[
                "0.0.0.0",
                "0.1.2.3",
                "10.0.0.1",
                "100.64.0.1",
                "127.0.0.1",
                "127.255.1.1",
                "169.254.169.254",
                "172.16.0.1",
                "172.31.255.255",
                "192.0.0.1",
                "192.0.2.1",
                "192.88.99.1",
                "192.168.1.1",
                "198.18.0.1",
                "198.51.100.1",
                "203.0.113.9",
                "224.0.0.1",
                "255.255.255.255",
                "::",
                "::1",
                "::ffff:127.0.0.1",
                "::ffff:10.1.1.1",
                "64:ff9b::a00:1",
                "64:ff9b:1::1",
                "100::1",
                "2001::1",
                "2001:db8::1",
                "2002:7f00:1::",
                "3fff::1",
                "fc00::1",
                "fd00:ec2::254",
                "fe80::1",
                "fec0::1",
                "ff02::1",
            ],
        );
    }

    #[cfg(feature = "sandbox")]
    #[test]
    fn private_networks_are_those_of_many_machines() {
        let is = |text: &str| is_private(text.parse().unwrap());
        for text in [
            "10.0.0.1",
            "172.31.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "198.18.0.1",
            "203.0.113.9",
            "240.0.0.1",
            "::ffff:10.0.0.1",
            "fd00::1",
            "2001:db8::1",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "127.0.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "8.8.8.8",
            "::",
            "::1",
            "::ffff:169.254.0.1",
            "fe80::1",
            "ff02::1",
            "64:ff9b::a00:1",
            "2002:a00:1::",
            "2001::1",
        ] {
            assert!(!is(text), "{text}");
        }
    }

    #[test]
    fn other_addresses_are_public() {
        check(
            true,
            &[
                "1.1.1.1",
                "8.8.8.8",
                "100.63.0.1",
                "100.128.0.1",
                "172.15.0.1",
                "172.32.0.1",
                "192.0.1.1",
                "198.17.0.1",
                "223.255.255.255",
                "::ffff:8.8.8.8",
                "64:ff9b::808:808",
                "2001:4860:4860::8888",
                "2606:4700::1111",
            ],
        );
    }
}
