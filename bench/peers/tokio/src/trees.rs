// trees.rs - tasks that start tasks: skynet, and the Fibonacci function with a fork at every other call.
use crate::Request;
use std::future::Future;
use std::pin::Pin;
use std::time::Instant;
use tokio::sync::mpsc::{channel, Sender};

const CHILDREN: usize = 10;

/// The leaves [first, first + count).
#[derive(Clone, Copy)]
struct Share {
    first: usize,
    count: usize,
}

impl Share {
    fn parts(self) -> impl Iterator<Item = Share> {
        let bound = move |i| self.count * i / CHILDREN;
        let parts = (0..CHILDREN).map(move |i| Share { first: self.first + bound(i), count: bound(i + 1) - bound(i) });
        parts.filter(|part| part.count > 0)
    }
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

fn by_channels(mine: Share, up: Sender<usize>) -> Boxed<()> {
    Box::pin(async move {
        if mine.count == 1 {
            return up.send(mine.first).await.expect("a receiver");
        }
        let (to_me, mut sums) = channel(CHILDREN);
        mine.parts().for_each(|part| drop(tokio::spawn(by_channels(part, to_me.clone()))));
        drop(to_me);
        let mut sum = 0;
        while let Some(part) = sums.recv().await {
            sum += part;
        }
        up.send(sum).await.expect("a receiver");
    })
}

fn by_joins(mine: Share) -> Boxed<usize> {
    Box::pin(async move {
        if mine.count == 1 {
            return mine.first;
        }
        let parts: Vec<_> = mine.parts().map(|part| tokio::spawn(by_joins(part))).collect();
        let mut sum = 0;
        for part in parts {
            sum += part.await.expect("no panic");
        }
        sum
    })
}

async fn through_channel(whole: Share) -> usize {
    let (top, mut sum) = channel(1);
    tokio::spawn(by_channels(whole, top));
    sum.recv().await.expect("a sum")
}

async fn checked(n: usize, tree: impl Future<Output = usize>) -> f64 {
    let begin = Instant::now();
    assert_eq!(tree.await, n * (n - 1) / 2);
    begin.elapsed().as_secs_f64() * 1e3
}

pub async fn skynet(r: Request) {
    let whole = Share { first: 0, count: r.n };
    r.measure("channels", r.n, "ms", || checked(r.n, through_channel(whole))).await;
    r.measure("joins", r.n, "ms", || checked(r.n, by_joins(whole))).await;
}

fn fib(n: usize) -> Boxed<usize> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let left = tokio::spawn(fib(n - 1));
        let right = fib(n - 2).await;
        left.await.expect("no panic") + right
    })
}

fn by_calls(n: usize) -> usize {
    if n < 2 { n } else { by_calls(n - 1) + by_calls(n - 2) }
}

pub async fn forkjoin(r: Request) {
    let forks = (by_calls(r.n + 1) - 1).max(1) as f64;
    r.measure("spawn-and-join", r.n, "ns", || async move {
        let begin = Instant::now();
        let value = fib(r.n).await;
        let time = begin.elapsed().as_nanos() as f64;
        assert_eq!(value, by_calls(r.n));
        time / forks
    })
    .await;
}
