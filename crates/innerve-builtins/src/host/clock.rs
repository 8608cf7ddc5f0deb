//! The real clock, on tokio's timer.

use std::time::{Duration, Instant, SystemTime};

use innerve_tool::BoxFuture;
use innerve_tool::port::Clock;

/// The system's clock; its waits need a tokio runtime with the timer enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        // The timer is made when the future is polled, since making it needs the runtime.
        Box::pin(async move { tokio::time::sleep(duration).await })
    }
}
