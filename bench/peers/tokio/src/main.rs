// main.rs - arguments, repetitions, and the lines that `run` reads: peer BENCH WORKERS RUNS N.
mod crowds;
mod preempt;
mod sharing;
mod timers;
mod trees;
mod turns;

use std::future::Future;
use std::time::Instant;

#[derive(Clone, Copy)]
pub struct Request {
    pub workers: usize,
    pub runs: usize,
    pub n: usize,
}

pub type Label = (String, usize, &'static str);

impl Request {
    /// Calls `once` to warm up and then for each run; without runs, a single time. It returns a figure for each label.
    pub async fn measure_all<F: Future<Output = Vec<f64>>>(self, labels: Vec<Label>, mut once: impl FnMut() -> F) {
        if self.runs > 0 {
            once().await;
        }
        let mut lines = vec![String::new(); labels.len()];
        for _ in 0..self.runs.max(1) {
            for (line, figure) in lines.iter_mut().zip(once().await) {
                line.push_str(&format!(" {figure}"));
            }
        }
        for ((variant, n, unit), line) in labels.iter().zip(lines) {
            println!("{variant} {n} {unit}{line}");
        }
    }

    pub async fn measure<F: Future<Output = f64>>(self, variant: &str, n: usize, unit: &'static str, mut once: impl FnMut() -> F) {
        self.measure_all(vec![(variant.to_string(), n, unit)], || {
            let figure = once();
            async move { vec![figure.await] }
        })
        .await
    }
}

/// How long it takes, as nanoseconds.
pub async fn nanoseconds(work: impl Future<Output = ()>) -> f64 {
    let begin = Instant::now();
    work.await;
    begin.elapsed().as_nanos() as f64
}

async fn run(bench: String, r: Request) {
    match bench.as_str() {
        "switch" => turns::switches(r).await,
        "spawn" => crowds::spawn(r).await,
        "peak-memory/run-as-spawned" => crowds::peak_as_spawned(r).await,
        "peak-memory/batch" => crowds::peak_of_batch(r).await,
        "parked" => crowds::parked(r).await,
        "ring" => turns::ring(r).await,
        "feed" => turns::feed(r).await,
        "skynet" => trees::skynet(r).await,
        "forkjoin" => trees::forkjoin(r).await,
        "fibonacci" => sharing::fibonacci(r).await,
        "mutex" => sharing::mutexes(r).await,
        "channel" => sharing::channels(r).await,
        "timers" => timers::timers(r).await,
        "preempt" => preempt::preempt(r).await,
        _ => panic!("no benchmark {bench}"),
    }
}

/// One worker is the scheduler that needs no atomics between workers, the faster of tokio's two there.
fn runtime(workers: usize) -> tokio::runtime::Runtime {
    use tokio::runtime::Builder;
    let mut builder = if workers == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    if workers > 1 {
        builder.worker_threads(workers);
    }
    builder.enable_time().build().expect("a runtime")
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, bench, workers, runs, n] = &arguments[..] else { panic!("usage: peer BENCH WORKERS RUNS N") };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let request = Request { workers: number(workers), runs: number(runs), n: number(n) };
    let runtime = runtime(number(workers));
    // A task of the workers, because block_on() runs its future on a thread that is none of them.
    runtime.block_on(async { tokio::spawn(run(bench.clone(), request)).await.expect("no panic") });
    runtime.shutdown_background();
}
