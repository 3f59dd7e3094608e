// timers.rs - a million timers pending while others come and go, and sleeps that end at the rate of 100,000 in a second.
use crate::{crowds::until_alone, nanoseconds, Request};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};
use tokio::time::{sleep, sleep_until, Duration, Instant, Sleep};

/// An hour or two: they never pass meanwhile, and fall anywhere among those that are pending.
struct FarLimits(u64);

impl FarLimits {
    fn next(&mut self) -> Duration {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        Duration::from_secs(3600) + Duration::from_nanos((self.0 >> 22) % 3_600_000_000_000)
    }
}

/// A sleep has its timer from its first poll until it is dropped.
fn insert(mut timer: Pin<&mut Sleep>) {
    assert!(timer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

pub async fn timers(r: Request) {
    let mut limits = FarLimits(1);
    let mut pending: Vec<_> = (0..r.n).map(|_| Box::pin(sleep(limits.next()))).collect();
    pending.iter_mut().for_each(|timer| insert(timer.as_mut()));
    r.measure("insert-and-cancel", r.n, "ns", || async move {
        let come_and_go = async {
            let mut limits = FarLimits(2);
            for _ in 0..r.n {
                insert(std::pin::pin!(sleep(limits.next())));
            }
        };
        nanoseconds(come_and_go).await / r.n as f64
    })
    .await;
    drop(pending);
    let fired = (r.n / 10).max(1);
    r.measure("fire", fired, "%", || firing(fired)).await;
}

fn cpu_time() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `now` and nowhere else.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

/// Percent of one CPU while n sleeps of as many tasks end.
async fn firing(n: usize) -> f64 {
    let length = Duration::from_micros(10) * n as u32;
    let begin = Instant::now() + Duration::from_millis(20) + Duration::from_micros(3) * n as u32; // all are asleep by then
    for i in 0..n {
        tokio::spawn(sleep_until(begin + length.mul_f64(i as f64 / n as f64)));
    }
    sleep_until(begin).await;
    let (used, since) = (cpu_time(), Instant::now());
    sleep_until(begin + length).await;
    let percent = 100.0 * (cpu_time() - used) / since.elapsed().as_secs_f64();
    until_alone().await;
    percent
}
