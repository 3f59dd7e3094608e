// Timers.java - a million timers pending while others come and go, and sleeps that end at the rate of 100,000 in a second.
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Random;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

final class Timers {
    static final long HOUR = TimeUnit.HOURS.toNanos(1);

    /** An hour or two: it never passes meanwhile, and falls anywhere among those that are pending. */
    static long far(Random random) { return HOUR + random.nextLong(HOUR); }

    static void timers(Main.Request r) throws Exception {
        var random = new Random(1);
        Runnable nothing = () -> {};
        try (var pending = new ScheduledThreadPoolExecutor(1)) {
            pending.setRemoveOnCancelPolicy(true);
            for (int i = 0; i < r.n(); i++) pending.schedule(nothing, far(random), TimeUnit.NANOSECONDS);
            r.measure("insert-and-cancel", r.n(), "ns", () -> Main.nanoseconds(() -> {
                for (int i = 0; i < r.n(); i++) pending.schedule(nothing, far(random), TimeUnit.NANOSECONDS).cancel(false);
            }) / r.n());
            pending.shutdownNow();
        }
        int fired = Math.max(r.n() / 10, 1);
        r.measure("fire", fired, "%", () -> firing(fired));
    }

    static void sleepUntil(long when) throws Exception { Thread.sleep(java.time.Duration.ofNanos(Math.max(when - System.nanoTime(), 0))); }

    /** Percent of one CPU while n sleeps of as many virtual threads end. */
    static double firing(int n) throws Exception {
        var process = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long length = 10_000L * n, begin = System.nanoTime() + 20_000_000 + 3_000L * n;   // all are asleep by then
        var all = new ArrayList<Thread>();
        for (int i = 0; i < n; i++) {
            long at = begin + length * i / n;
            all.add(Main.start(() -> sleepUntil(at)));
        }
        sleepUntil(begin);
        long used = process.getProcessCpuTime(), since = System.nanoTime();
        sleepUntil(begin + length);
        double percent = 100.0 * (process.getProcessCpuTime() - used) / (System.nanoTime() - since);
        for (var t : all) t.join();
        return percent;
    }
}
