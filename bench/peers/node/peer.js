// peer.js - callbacks, promises and async functions of Node: peer.js BENCH WORKERS RUNS N.
"use strict";
const { performance } = require("node:perf_hooks");
const { readFileSync } = require("node:fs");

const betweenYields = 256;
const members = 503;

// Calls `once` to warm up and then for each run; without runs, a single time. It returns a figure for each label [variant, n, unit].
async function measure(r, labels, once) {
  if (r.runs > 0) await once();
  const figures = [];
  for (let i = 0; i < Math.max(r.runs, 1); i++) figures.push(await once());
  labels.forEach((label, i) => console.log([...label, ...figures.map((f) => f[i])].join(" ")));
}

async function nanoseconds(work) {
  const begin = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - begin);
}

const turnOfTheLoop = () => new Promise(setImmediate);
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

async function empty() {}

// An await of what is there gives way to the other function; a turn of the loop to timers and I/O as well.
async function switches(r) {
  const half = Math.max(Math.floor(r.n / 2), 1);
  const awaits = async () => {
    for (let i = 0; i < half; i++) await null;
  };
  const turns = async () => {
    for (let i = 0; i < half; i++) await turnOfTheLoop();
  };
  function* calls() {
    for (let i = 0; i < r.n; i++) yield;
  }
  await measure(r, [["await", r.n, "ns"]], async () => [(await nanoseconds(() => Promise.all([awaits(), awaits()]))) / r.n]);
  await measure(r, [["yield", r.n, "ns"]], async () => [(await nanoseconds(() => Promise.all([turns(), turns()]))) / r.n]);
  await measure(r, [["call-and-yield", r.n, "ns"]], async () => [
    (await nanoseconds(() => {
      for (const _ of calls());
    })) / r.n,
  ]);
}

// All functions are asked for before the first of them runs.
async function batch(n) {
  const begin = process.hrtime.bigint();
  const all = new Array(n);
  for (let i = 0; i < n; i++) all[i] = Promise.resolve().then(empty);
  const spawned = process.hrtime.bigint();
  await Promise.all(all);
  return [Number(spawned - begin), Number(process.hrtime.bigint() - begin)];
}

// A call of an async function runs it to its first await at once.
async function asSpawned(n) {
  let started = [];
  for (let i = 0; i < n; i++) {
    started.push(empty());
    if (i % betweenYields === betweenYields - 1) {
      await Promise.all(started);
      started = [];
    }
  }
  await Promise.all(started);
}

async function spawn(r) {
  await measure(r, [["run-as-spawned", r.n, "ns"]], async () => [(await nanoseconds(() => asSpawned(r.n))) / r.n]);
  await measure(r, [["batch", r.n, "ns"], ["batch/spawn-share", r.n, "%"]], async () => {
    const [spawned, all] = await batch(r.n);
    return [all / r.n, (100 * spawned) / all];
  });
}

const peakMemory = (part, work) => async (r) => {
  await work(r.n);
  console.log(part + "/peak-memory", r.n, "KiB", /^VmHWM:\s*(\d+)/m.exec(readFileSync("/proc/self/status", "ascii"))[1]);
};

// One number, and the callback that waits for it. Whoever is called is called later, as Node's conventions ask for.
class Seat {
  receive(callback) {
    if (this.number === undefined) {
      this.callback = callback;
    } else {
      const number = this.number;
      this.number = undefined;
      process.nextTick(callback, number);
    }
  }
  send(number) {
    if (this.callback === undefined) {
      this.number = number;
    } else {
      const callback = this.callback;
      this.callback = undefined;
      process.nextTick(callback, number);
    }
  }
  get() {
    return new Promise((resolve) => this.receive(resolve));
  }
}

// Whoever receives 0 sends the end, -1, around; `last` has nobody left to pass it to.
function passOn(number, next, last) {
  if (number > 0) next.send(number - 1);
  else if (number === 0 || !last) next.send(-1);
  return number > 0;
}

const ways = {
  callbacks: (mine, next, last, done) => {
    const take = (number) => (passOn(number, next, last) ? mine.receive(take) : done());
    mine.receive(take);
  },
  promises: (mine, next, last, done) => {
    const take = (number) => (passOn(number, next, last) ? void mine.get().then(take) : done());
    mine.get().then(take);
  },
  async: async (mine, next, last, done) => {
    while (passOn(await mine.get(), next, last));
    done();
  },
};

function around(hops, takePart) {
  const seats = Array.from({ length: members }, () => new Seat());
  const ender = hops % members;
  const all = seats.map((mine, i) => new Promise((done) => takePart(mine, seats[(i + 1) % members], (i + 1) % members === ender, done)));
  seats[0].send(hops);
  return Promise.all(all);
}

async function ring(r) {
  for (const [name, takePart] of Object.entries(ways))
    await measure(r, [[name, r.n, "ns"]], async () => [(await nanoseconds(() => around(r.n, takePart))) / r.n]);
}

async function eat(nutrients) {
  const eaten = { fiber: 0, calcium: 0, iron: 0 };
  while (eaten.fiber !== nutrients || eaten.calcium !== nutrients || eaten.iron !== nutrients) {
    eaten.fiber++;
    eaten.calcium++;
    eaten.iron++;
    await null;
  }
}

async function feed(r) {
  for (const nutrients of [10, 100, 1000, 10000])
    await measure(r, [["await/nutrients-" + nutrients, r.n, "us"], ["await/round-trip/nutrients-" + nutrients, r.n, "ns"]], async () => {
      const spent = await nanoseconds(() => Promise.all(Array.from({ length: r.n }, () => eat(nutrients))));
      return [spent / 1e3, spent / r.n / nutrients];
    });
}

const far = () => 3600e3 * (1 + Math.random());

// The percentage of one CPU that is used while n timers fire, 100,000 in a second. Node's are of whole milliseconds.
async function firing(n) {
  const length = n / 100;
  const begin = performance.now() + 50 + n * 0.02;
  const asleep = Array.from({ length: n }, (_, i) => sleep(begin + (length * i) / n - performance.now()));
  await sleep(begin - performance.now());
  const used = process.cpuUsage();
  const since = performance.now();
  await sleep(begin + length - performance.now());
  const { user, system } = process.cpuUsage(used);
  const spent = performance.now() - since;
  await Promise.all(asleep);
  return (0.1 * (user + system)) / spent;
}

async function timers(r) {
  await measure(r, [["insert-and-cancel", r.n, "ns"]], async () => {
    const pending = Array.from({ length: r.n }, () => setTimeout(empty, far()));
    const spent = await nanoseconds(() => {
      for (let i = 0; i < r.n; i++) clearTimeout(setTimeout(empty, far()));
    });
    pending.forEach(clearTimeout);
    return [spent / r.n];
  });
  const fired = Math.max(Math.floor(r.n / 10), 1);
  await measure(r, [["fire", fired, "%"]], async () => [await firing(fired)]);
}

function fib(n) {
  return n < 2 ? 1 : fib(n - 1) + fib(n - 2);
}

const hogs = {
  recursion: () => fib(20),
  loop: () => {
    let x = 1;
    for (let i = 0; i < 100000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
    return x;
  },
};

// Does the work beside k functions that compute, which stop when it ends or after their time.
async function beside(k, round, milliseconds, work) {
  let over = false;
  const computing = Array.from({ length: k }, async () => {
    await turnOfTheLoop();
    for (const end = performance.now() + milliseconds; !over && performance.now() < end; ) round();
  });
  const result = await work();
  over = true;
  await Promise.all(computing);
  return result;
}

async function lateness(n) {
  const late = [];
  let due = performance.now();
  for (let i = 0; i < n; i++) {
    due += 1;
    if (due > performance.now()) await sleep(due - performance.now());
    else await turnOfTheLoop();
    late.push((performance.now() - due) * 1e3);
  }
  late.sort((a, b) => a - b);
  return [late[n >> 1], late[Math.floor(n * 0.9)], late[Math.floor(n * 0.99)], late[n - 1]];
}

async function preempt(r) {
  await measure(r, [["sleepers-beside-fib", r.n, "ms"]], async () => [
    await beside(1, hogs.recursion, 3 * r.n, async () => (await nanoseconds(() => Promise.all([sleep(r.n), sleep(r.n)]))) / 1e6),
  ]);
  for (const [name, round] of Object.entries(hogs))
    for (const k of [1, 4, 16]) {
      const labels = ["p50", "p90", "p99", "max"].map((figure) => [`${name}-${k}/${figure}`, r.n, "us"]);
      await measure(r, labels, () => beside(k, round, r.n, () => lateness(r.n)));
    }
}

const benchmarks = {
  switch: switches, spawn, ring, feed, timers, preempt,
  "peak-memory/run-as-spawned": peakMemory("run-as-spawned", asSpawned),
  "peak-memory/batch": peakMemory("batch", batch),
};

const [bench, workers, runs, n] = process.argv.slice(2);
if (!(bench in benchmarks) || n === undefined) {
  console.error("node peer: usage: peer.js BENCH WORKERS RUNS N");
  process.exit(1);
}
benchmarks[bench]({ workers: +workers, runs: +runs, n: +n });
