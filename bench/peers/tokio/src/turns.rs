// turns.rs - control that changes hands: yields, the ring, people who are fed in turn.
use crate::{nanoseconds, Request};
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::task::yield_now;

async fn yields(times: usize) {
    for _ in 0..times {
        yield_now().await;
    }
}

pub async fn switches(r: Request) {
    let half = (r.n / 2).max(1);
    r.measure("yield", r.n, "ns", || async move {
        let both = async {
            let other = tokio::spawn(yields(half));
            yields(half).await;
            other.await.expect("no panic");
        };
        nanoseconds(both).await / r.n as f64
    })
    .await;
}

const MEMBERS: usize = 503;

async fn take_part(mut mine: Receiver<usize>, next: Sender<usize>) {
    while let Some(number) = mine.recv().await {
        if number == 0 || next.send(number - 1).await.is_err() {
            break;
        }
    }
}

/// Tokio has no rendezvous: a seat holds one number. Dropping the sender passes the end on.
pub async fn ring(r: Request) {
    r.measure("channels", r.n, "ns", || async move {
        let around = async {
            let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..MEMBERS).map(|_| channel(1)).unzip();
            let first = senders[0].clone();
            senders.rotate_left(1);
            let members: Vec<_> = receivers.into_iter().zip(senders).map(|(mine, next)| tokio::spawn(take_part(mine, next))).collect();
            first.send(r.n).await.expect("a receiver");
            drop(first);
            for member in members {
                member.await.expect("no panic");
            }
        };
        nanoseconds(around).await / r.n as f64
    })
    .await;
}

#[derive(Clone, Copy, Default, PartialEq)]
struct Nutrients {
    fiber: u32,
    calcium: u32,
    iron: u32,
}

async fn feed_one(needs: Nutrients) {
    let mut eaten = Nutrients::default();
    while std::hint::black_box(&eaten) != &needs {
        eaten.fiber += 1;
        eaten.calcium += 1;
        eaten.iron += 1;
        yield_now().await;
    }
}

pub async fn feed(r: Request) {
    for nutrients in [10, 100, 1000, 10_000] {
        let needs = Nutrients { fiber: nutrients, calcium: nutrients, iron: nutrients };
        let suffix = format!("nutrients-{nutrients}");
        let labels = vec![(format!("yield/{suffix}"), r.n, "us"), (format!("yield/round-trip/{suffix}"), r.n, "ns")];
        r.measure_all(labels, || async move {
            let time = nanoseconds(async {
                let people: Vec<_> = (0..r.n).map(|_| tokio::spawn(feed_one(needs))).collect();
                for person in people {
                    person.await.expect("no panic");
                }
            })
            .await;
            vec![time / 1e3, time / r.n as f64 / f64::from(nutrients)]
        })
        .await;
    }
}
