// sharing.rs - tasks that share something: a channel, a mutex, the processors. Tokio's mpsc channel has one receiver and a buffer.
use crate::{nanoseconds, Request};
use num_bigint::BigUint;
use std::sync::Arc;
use tokio::sync::{mpsc, Mutex};
use tokio::task::yield_now;

const MANY: usize = 8;

async fn pass(n: usize, senders: usize) -> f64 {
    let each = n / senders + 1;
    let mut received = 0;
    let time = nanoseconds(async {
        let (to, mut values) = mpsc::channel(64);
        for _ in 0..senders {
            let to = to.clone();
            tokio::spawn(async move {
                for k in 0..each {
                    to.send(k).await.expect("a receiver");
                }
            });
        }
        drop(to);
        received = tokio::spawn(async move {
            let mut count = 0;
            while values.recv().await.is_some() {
                count += 1;
            }
            count
        })
        .await
        .expect("no panic");
    })
    .await;
    assert_eq!(received, each * senders);
    time / received as f64
}

pub async fn channels(r: Request) {
    r.measure("one-to-one/buffered-64", r.n, "ns", || pass(r.n, 1)).await;
    r.measure("many-to-one/buffered-64", r.n, "ns", || pass(r.n, MANY)).await;
}

#[derive(Clone, Copy, PartialEq)]
enum Owner {
    Stays,
    GivesWay,
}

async fn count(n: usize, tasks: usize, owner: Owner) -> f64 {
    let share = n / tasks + 1;
    let value = Arc::new(Mutex::new(0));
    let time = nanoseconds(async {
        let counting = |value: Arc<Mutex<usize>>| async move {
            for _ in 0..share {
                let mut held = value.lock().await;
                *held += 1;
                if owner == Owner::GivesWay {
                    yield_now().await;
                }
            }
        };
        let all: Vec<_> = (0..tasks).map(|_| tokio::spawn(counting(value.clone()))).collect();
        for one in all {
            one.await.expect("no panic");
        }
    })
    .await;
    assert_eq!(*value.lock().await, share * tasks);
    time / (share * tasks) as f64
}

pub async fn mutexes(r: Request) {
    let few = r.n.min(200_000);
    r.measure("alone", r.n, "ns", || count(r.n, 1, Owner::Stays)).await;
    for tasks in [2, 8] {
        r.measure(&format!("among-{tasks}"), r.n, "ns", || count(r.n, tasks, Owner::Stays)).await;
        r.measure(&format!("among-{tasks}/owner-yields"), few, "ns", || count(few, tasks, Owner::GivesWay)).await;
    }
}

const PIECES: usize = 64;

fn nth_fibonacci(n: usize) -> BigUint {
    let (mut a, mut b) = (BigUint::from(0u32), BigUint::from(1u32));
    for _ in 0..n {
        a += &b;
        std::mem::swap(&mut a, &mut b);
    }
    a
}

pub async fn fibonacci(r: Request) {
    r.measure("total/num-bigint", r.n, "ms", || async move {
        let time = nanoseconds(async {
            let all: Vec<_> = (0..PIECES).map(|_| tokio::spawn(async move { std::hint::black_box(nth_fibonacci(r.n)) })).collect();
            for one in all {
                one.await.expect("no panic");
            }
        });
        time.await / 1e6
    })
    .await;
}
