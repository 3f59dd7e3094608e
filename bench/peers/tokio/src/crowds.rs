// crowds.rs - very many tasks: empty ones, and ones that all wait for the same event.
use crate::{nanoseconds, Request};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::yield_now;

const BETWEEN_YIELDS: usize = 256;

/// Returns when all tasks but the caller have ended. Tokio counts them anyway.
pub async fn until_alone() {
    let metrics = tokio::runtime::Handle::current().metrics();
    while metrics.num_alive_tasks() > 1 {
        yield_now().await;
    }
}

async fn as_spawned(n: usize) {
    for i in 0..n {
        tokio::spawn(async {});
        if i % BETWEEN_YIELDS == BETWEEN_YIELDS - 1 {
            yield_now().await;
        }
    }
    until_alone().await;
}

async fn batch(n: usize) {
    for _ in 0..n {
        tokio::spawn(async {});
    }
    until_alone().await;
}

pub async fn spawn(r: Request) {
    let each = r.n as f64;
    r.measure("run-as-spawned", r.n, "ns", || async move { nanoseconds(as_spawned(r.n)).await / each }).await;
    r.measure("batch", r.n, "ns", || async move { nanoseconds(batch(r.n)).await / each }).await;
}

/// A line of /proc/self/status, in bytes.
fn memory(name: &str) -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':')).expect("the line");
    1024.0 * line.split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok()).expect("a number")
}

pub async fn peak_as_spawned(r: Request) {
    r.measure("run-as-spawned/peak-memory", r.n, "KiB", || async move {
        as_spawned(r.n).await;
        memory("VmHWM") / 1024.0
    })
    .await;
}

pub async fn peak_of_batch(r: Request) {
    r.measure("batch/peak-memory", r.n, "KiB", || async move {
        batch(r.n).await;
        memory("VmHWM") / 1024.0
    })
    .await;
}

async fn park_all(n: usize, event: &Arc<Semaphore>) {
    let arrived = Arc::new(AtomicUsize::new(0));
    for _ in 0..n {
        let (arrived, event) = (arrived.clone(), event.clone());
        tokio::spawn(async move {
            arrived.fetch_add(1, Relaxed);
            let _closed = event.acquire().await;
        });
    }
    while arrived.load(Relaxed) < n {
        yield_now().await;
    }
}

pub async fn parked(r: Request) {
    let labels = [("memory", "B"), ("memory-and-page-tables", "B"), ("park", "ns"), ("wake", "ns"), ("park-and-wake", "ns")];
    let each = r.n as f64;
    r.measure_all(labels.map(|(variant, unit)| (variant.to_string(), r.n, unit)).to_vec(), || async move {
        let (resident, tables) = (memory("VmRSS"), memory("VmPTE"));
        let event = Arc::new(Semaphore::new(0));
        let park = nanoseconds(park_all(r.n, &event)).await;
        let (held, mapped) = (memory("VmRSS") - resident, memory("VmPTE") - tables);
        let wake = nanoseconds(async {
            event.close();
            until_alone().await;
        })
        .await;
        [held, held + mapped, park, wake, park + wake].map(|figure| figure / each).to_vec()
    })
    .await;
}
