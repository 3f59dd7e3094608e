// preempt.rs - a task that ticks every millisecond beside others that compute, each for as long as the ticks take.
use crate::Request;
use std::future::Future;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::Arc;
use tokio::time::{sleep, sleep_until, Duration, Instant};

// A hog's round takes 10 to 100 us.
const HOGS: [(&str, fn()); 2] = [
    ("recursion", || {
        black_box(fib(black_box(20)));
    }),
    ("loop", || {
        let mut x = 1u64;
        for _ in 0..100_000 {
            x = black_box(x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        }
    }),
];

fn fib(n: u32) -> u64 {
    if n < 2 {
        1
    } else {
        fib(n - 1) + fib(n - 2)
    }
}

/// Does the work beside k hogs, which stop when it ends or after their time.
async fn beside<T>(k: usize, round: fn(), most: Duration, work: impl Future<Output = T>) -> T {
    let over = Arc::new(AtomicBool::new(false));
    let hogs: Vec<_> = (0..k)
        .map(|_| {
            let over = over.clone();
            tokio::spawn(async move {
                let end = Instant::now() + most;
                while !over.load(Relaxed) && Instant::now() < end {
                    round();
                }
            })
        })
        .collect();
    let result = work.await;
    over.store(true, Relaxed);
    for hog in hogs {
        hog.await.expect("no panic");
    }
    result
}

/// The median, the 90th and 99th percentile and the largest of n ticks, in microseconds.
async fn lateness(n: usize) -> Vec<f64> {
    let mut late = Vec::with_capacity(n);
    let mut due = Instant::now();
    for _ in 0..n {
        due += Duration::from_millis(1);
        sleep_until(due).await;
        late.push(due.elapsed().as_nanos() as f64 / 1e3);
    }
    late.sort_by(f64::total_cmp);
    vec![late[n / 2], late[n * 9 / 10], late[n * 99 / 100], late[n - 1]]
}

async fn two_sleep(span: Duration) -> f64 {
    let begin = Instant::now();
    let one = tokio::spawn(sleep(span));
    tokio::spawn(sleep(span)).await.expect("no panic");
    one.await.expect("no panic");
    begin.elapsed().as_secs_f64() * 1e3
}

pub async fn preempt(r: Request) {
    let span = Duration::from_millis(r.n as u64);
    r.measure("sleepers-beside-fib", r.n, "ms", || beside(r.workers, HOGS[0].1, 3 * span, two_sleep(span))).await;
    for (name, round) in HOGS {
        for k in [1, 4, 16] {
            let labels = ["p50", "p90", "p99", "max"].map(|figure| (format!("{name}-{k}/{figure}"), r.n, "us"));
            r.measure_all(labels.to_vec(), || beside(k, round, span, lateness(r.n))).await;
        }
    }
}
