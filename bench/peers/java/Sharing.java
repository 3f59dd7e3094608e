// Sharing.java - virtual threads that share something: a queue, a lock, the processors.
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

final class Sharing {
    static final int MANY = 8;

    record Shape(String name, int senders, int receivers) {}

    static void channels(Main.Request r) throws Exception {
        for (var shape : List.of(new Shape("one-to-one", 1, 1), new Shape("many-to-one", MANY, 1), new Shape("one-to-many", 1, MANY),
                                 new Shape("many-to-many", MANY, MANY))) {
            r.measure(shape.name + "/rendezvous", r.n(), "ns", () -> pass(r.n(), shape, new SynchronousQueue<>()));
            r.measure(shape.name + "/buffered-64", r.n(), "ns", () -> pass(r.n(), shape, new ArrayBlockingQueue<>(64)));
        }
    }

    /** Queues cannot be closed: a -1 for each receiver ends it. */
    static double pass(int n, Shape shape, BlockingQueue<Integer> values) throws Exception {
        int each = n / shape.senders + 1;
        var received = new AtomicLong();
        double time = Main.nanoseconds(() -> {
            var senders = new ArrayList<Thread>();
            var receivers = new ArrayList<Thread>();
            for (int i = 0; i < shape.receivers; i++)
                receivers.add(Main.start(() -> {
                    long count = 0;
                    while (values.take() >= 0) count++;
                    received.addAndGet(count);
                }));
            for (int i = 0; i < shape.senders; i++)
                senders.add(Main.start(() -> {
                    for (int k = 0; k < each; k++) values.put(k);
                }));
            for (var s : senders) s.join();
            for (int i = 0; i < shape.receivers; i++) values.put(-1);
            for (var t : receivers) t.join();
        });
        Main.require(received.get() == (long) each * shape.senders, "a value was lost, or came twice");
        return time / received.get();
    }

    enum Owner { STAYS, GIVES_WAY }

    static final class Counter {
        final ReentrantLock lock = new ReentrantLock();
        long value;
        void count(int times, Owner owner) {
            for (int i = 0; i < times; i++) {
                lock.lock();
                value++;
                if (owner == Owner.GIVES_WAY) Thread.yield();
                lock.unlock();
            }
        }
    }

    static double count(int n, int threads, Owner owner) throws Exception {
        var counter = new Counter();
        int share = n / threads + 1;
        double time = Main.nanoseconds(() -> {
            var all = new ArrayList<Thread>();
            for (int i = 0; i < threads; i++) all.add(Main.start(() -> counter.count(share, owner)));
            for (var t : all) t.join();
        });
        Main.require(counter.value == (long) share * threads, "the lock let two in");
        return time / counter.value;
    }

    static void mutexes(Main.Request r) throws Exception {
        int few = Math.min(r.n(), 200_000);
        r.measure("alone", r.n(), "ns", () -> count(r.n(), 1, Owner.STAYS));
        for (int threads : new int[] {2, 8}) {
            r.measure("among-" + threads, r.n(), "ns", () -> count(r.n(), threads, Owner.STAYS));
            r.measure("among-" + threads + "/owner-yields", few, "ns", () -> count(few, threads, Owner.GIVES_WAY));
        }
    }

    static final int PIECES = 64;
    static volatile int bits;   // keeps the numbers from being optimized away

    static void fibonacci(Main.Request r) throws Exception {
        r.measure("total/biginteger", r.n(), "ms", () -> Main.nanoseconds(() -> {
            var all = new ArrayList<Thread>();
            for (int i = 0; i < PIECES; i++)
                all.add(Main.start(() -> {
                    BigInteger a = BigInteger.ZERO, b = BigInteger.ONE;
                    for (int k = 0; k < r.n(); k++) {
                        var sum = a.add(b);
                        a = b;
                        b = sum;
                    }
                    bits = a.bitLength();
                }));
            for (var t : all) t.join();
        }) / 1e6);
    }
}
