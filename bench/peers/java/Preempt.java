// Preempt.java - a virtual thread that ticks every millisecond beside others that compute, each for as long as the ticks take.
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

final class Preempt {
    /** A hog's round takes 10 to 100 us. */
    static final Map<String, Runnable> HOGS = Map.of("recursion", () -> fib(20), "loop", () -> {
        long x = 1;
        for (int i = 0; i < 100_000; i++) x = x * 6364136223846793005L + 1442695040888963407L;
        computed = x;
    });

    static volatile long computed;   // so that the loop has a purpose
    static volatile boolean over;

    static long fib(int n) { return n < 2 ? 1 : fib(n - 1) + fib(n - 2); }

    /** Runs `work` beside k hogs, which stop when it ends or after their time. */
    static void beside(int k, Runnable round, long most, Main.Work work) throws Exception {
        over = false;
        var hogs = new ArrayList<Thread>();
        for (int i = 0; i < k; i++)
            hogs.add(Main.start(() -> {
                for (long end = System.nanoTime() + most; !over && System.nanoTime() < end;) round.run();
            }));
        work.run();
        over = true;
        for (var h : hogs) h.join();
    }

    /** The median, the 90th and 99th percentile and the largest of n ticks, in microseconds. */
    static double[] lateness(int n) throws Exception {
        var late = new double[n];
        long due = System.nanoTime();
        for (int i = 0; i < n; i++) {
            due += 1_000_000;
            Timers.sleepUntil(due);
            late[i] = (System.nanoTime() - due) / 1e3;
        }
        Arrays.sort(late);
        return new double[] {late[n / 2], late[(int) (n * 0.9)], late[(int) (n * 0.99)], late[n - 1]};
    }

    static void preempt(Main.Request r) throws Exception {
        long span = 1_000_000L * r.n();
        r.measure("sleepers-beside-fib", r.n(), "ms", () -> {
            var took = new double[1];
            beside(r.workers(), HOGS.get("recursion"), 3 * span, () -> took[0] = Main.nanoseconds(() -> {
                long until = System.nanoTime() + span;
                var one = Main.start(() -> Timers.sleepUntil(until));
                Main.start(() -> Timers.sleepUntil(until)).join();
                one.join();
            }));
            return took[0] / 1e6;
        });
        for (var name : List.of("recursion", "loop"))
            for (int k : new int[] {1, 4, 16}) {
                var labels = Stream.of("p50", "p90", "p99", "max").map(f -> new Main.Label(name + '-' + k + '/' + f, r.n(), "us")).toList();
                r.measure(labels, () -> {
                    var late = new double[1][];
                    beside(k, HOGS.get(name), span, () -> late[0] = lateness(r.n()));
                    return late[0];
                });
            }
    }
}
