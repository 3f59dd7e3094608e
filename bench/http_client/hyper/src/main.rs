// hyper with the pool of hyper-util as a client: client PORT REQUESTS TASKS prints what client.cpp prints.
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::{connect::HttpConnector, Client};
use hyper_util::rt::TokioExecutor;

const ANSWER: &[u8] = b"hello, world";

fn cpu_now() -> (f64, f64) {
    let in_us = |t: libc::timeval| t.tv_sec as f64 * 1e6 + t.tv_usec as f64;
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut used) };
    (in_us(used.ru_utime), in_us(used.ru_stime))
}

async fn each_asks(client: &Client<HttpConnector, Empty<Bytes>>, url: &hyper::Uri, tasks: usize, times: usize) {
    let all: Vec<_> = (0..tasks)
        .map(|_| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move {
                for _ in 0..times {
                    let answer = client.get(url.clone()).await.unwrap();
                    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), ANSWER);
                }
            })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (requests, tasks): (usize, usize) = (words[2].parse().unwrap(), words[3].parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(tasks).build(connector);
        let url: hyper::Uri = format!("http://127.0.0.1:{}/", words[1]).parse().unwrap();
        each_asks(&client, &url, tasks, 100).await;
        let (p, s) = cpu_now();
        each_asks(&client, &url, tasks, requests / tasks).await;
        let (p2, s2) = cpu_now();
        let n = (requests / tasks * tasks) as f64;
        println!("{:.3} {:.3} {:.3}", (p2 - p + s2 - s) / n, (p2 - p) / n, (s2 - s) / n);
    });
}
