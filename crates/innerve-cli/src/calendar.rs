//! Dates and times as they are shown and as folders are named, all in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// The date of now.
pub(crate) fn today() -> String {
    let (year, month, day) = civil(now() / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// A point in time, for people; `seconds` since 1970.
pub(crate) fn date_and_time(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute) = (seconds / 3_600 % 24, seconds / 60 % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// Now, sortable and safe in names of files.
pub(crate) fn stamp() -> String {
    let seconds = now();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The date of a day counted from 1970-01-01, by the rules of the Gregorian calendar.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(59), (1970, 3, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(20_787), (2026, 11, 30));
        assert_eq!(civil(20_818), (2026, 12, 31));
    }
}
