// Trees.java - virtual threads that start others: skynet, and the Fibonacci function with a fork at every other call.
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;

final class Trees {
    static final int CHILDREN = 10;

    /** The leaves [first, first + count). */
    record Share(long first, long count) {
        Share part(int i) {
            long from = count * i / CHILDREN, to = count * (i + 1) / CHILDREN;
            return new Share(first + from, to - from);
        }
    }

    static void byQueues(Share mine, BlockingQueue<Long> up) throws Exception {
        if (mine.count() == 1) {
            up.put(mine.first());
            return;
        }
        var sums = new ArrayBlockingQueue<Long>(CHILDREN);
        int started = 0;
        for (int i = 0; i < CHILDREN; i++) {
            var part = mine.part(i);
            if (part.count() == 0) continue;
            Main.start(() -> byQueues(part, sums));
            started++;
        }
        long sum = 0;
        while (started-- > 0) sum += sums.take();
        up.put(sum);
    }

    static final class Node implements Main.Work {
        final Share mine;
        long sum;
        Node(Share mine) { this.mine = mine; }
        public void run() throws Exception {
            if (mine.count() == 1) {
                sum = mine.first();
                return;
            }
            var nodes = new Node[CHILDREN];
            var threads = new Thread[CHILDREN];
            for (int i = 0; i < CHILDREN; i++)
                if (mine.part(i).count() > 0) threads[i] = Main.start(nodes[i] = new Node(mine.part(i)));
            for (int i = 0; i < CHILDREN; i++) {
                if (threads[i] == null) continue;
                threads[i].join();
                sum += nodes[i].sum;
            }
        }
    }

    interface Sum { long get() throws Exception; }

    static double checked(int n, Sum tree) throws Exception {
        long begin = System.nanoTime();
        long sum = tree.get();
        double time = System.nanoTime() - begin;
        Main.require(sum == (long) n * (n - 1) / 2, "skynet added up wrongly");
        return time / 1e6;
    }

    static void skynet(Main.Request r) throws Exception {
        var whole = new Share(0, r.n());
        r.measure("channels", r.n(), "ms", () -> checked(r.n(), () -> {
            var top = new ArrayBlockingQueue<Long>(1);
            Main.start(() -> byQueues(whole, top));
            return top.take();
        }));
        r.measure("joins", r.n(), "ms", () -> checked(r.n(), () -> {
            var root = new Node(whole);
            Main.start(root).join();
            return root.sum;
        }));
    }

    static final class Fib implements Main.Work {
        final int n;
        long value;
        Fib(int n) { this.n = n; }
        public void run() throws Exception { value = of(n); }
        static long of(int n) throws Exception {
            if (n < 2) return n;
            var left = new Fib(n - 1);
            var thread = Main.start(left);
            long right = of(n - 2);
            thread.join();
            return left.value + right;
        }
    }

    static final class FibTask extends RecursiveTask<Long> {
        private static final long serialVersionUID = 1;
        final int n;
        FibTask(int n) { this.n = n; }
        protected Long compute() {
            if (n < 2) return (long) n;
            var left = new FibTask(n - 1);
            left.fork();
            long right = new FibTask(n - 2).compute();
            return left.join() + right;
        }
    }

    static long byCalls(int n) { return n < 2 ? n : byCalls(n - 1) + byCalls(n - 2); }

    static double timePerFork(int n, Sum fib) throws Exception {
        long begin = System.nanoTime();
        long value = fib.get();
        double time = System.nanoTime() - begin;
        Main.require(value == byCalls(n), "fib is wrong");
        return time / Math.max(byCalls(n + 1) - 1, 1);
    }

    static void forkjoin(Main.Request r) throws Exception {
        r.measure("spawn-and-join", r.n(), "ns", () -> timePerFork(r.n(), () -> Fib.of(r.n())));
        try (var pool = new ForkJoinPool(r.workers())) {
            r.measure("fork-join-pool", r.n(), "ns", () -> timePerFork(r.n(), () -> pool.invoke(new FibTask(r.n()))));
        }
    }
}
