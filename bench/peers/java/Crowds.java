// Crowds.java - very many virtual threads: empty ones, and ones that all wait for the same event.
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;

final class Crowds {
    static final int BETWEEN_YIELDS = 256;

    interface Crowd { void run(int n) throws Exception; }

    static void asSpawned(int n) throws Exception {
        var ended = new CountDownLatch(n);
        Runnable empty = ended::countDown;
        for (int i = 0; i < n; i++) {
            Thread.startVirtualThread(empty);
            if (i % BETWEEN_YIELDS == BETWEEN_YIELDS - 1) Thread.yield();
        }
        ended.await();
    }

    static void batch(int n) throws Exception {
        var ended = new CountDownLatch(n);
        Runnable empty = ended::countDown;
        for (int i = 0; i < n; i++) Thread.startVirtualThread(empty);
        ended.await();
    }

    static void spawn(Main.Request r) throws Exception {
        r.measure("run-as-spawned", r.n(), "ns", () -> Main.nanoseconds(() -> asSpawned(r.n())) / r.n());
        r.measure("batch", r.n(), "ns", () -> Main.nanoseconds(() -> batch(r.n())) / r.n());
    }

    /** A line of /proc/self/status, in bytes. */
    static double memory(String name) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status")))
            if (line.startsWith(name + ':')) return 1024.0 * Long.parseLong(line.replaceAll("\\D", ""));
        throw new IllegalStateException("no " + name);
    }

    static void peakMemory(Main.Request r, String part, Crowd crowd) throws Exception {
        r.measure(part + "/peak-memory", r.n(), "KiB", () -> {
            crowd.run(r.n());
            return memory("VmHWM") / 1024;
        });
    }

    static void parked(Main.Request r) throws Exception {
        int n = r.n();
        var labels = List.of(new Main.Label("memory", n, "B"), new Main.Label("memory-and-page-tables", n, "B"),
                             new Main.Label("park", n, "ns"), new Main.Label("wake", n, "ns"), new Main.Label("park-and-wake", n, "ns"));
        r.measure(labels, () -> {
            double resident = memory("VmRSS"), tables = memory("VmPTE");
            CountDownLatch arrived = new CountDownLatch(n), event = new CountDownLatch(1), ended = new CountDownLatch(n);
            double park = Main.nanoseconds(() -> {
                for (int i = 0; i < n; i++)
                    Main.start(() -> {
                        arrived.countDown();
                        event.await();
                        ended.countDown();
                    });
                arrived.await();
            });
            double held = memory("VmRSS") - resident, mapped = memory("VmPTE") - tables;
            double wake = Main.nanoseconds(() -> {
                event.countDown();
                ended.await();
            });
            return new double[] {held / n, (held + mapped) / n, park / n, wake / n, (park + wake) / n};
        });
    }
}
