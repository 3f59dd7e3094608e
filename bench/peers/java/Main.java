// Main.java - arguments, repetitions, and the lines that `run` reads: Main BENCH WORKERS RUNS N.
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

public class Main {
    record Label(String variant, int n, String unit) {}

    interface Figure { double once() throws Exception; }
    interface Figures { double[] once() throws Exception; }
    interface Work { void run() throws Exception; }
    interface Benchmark { void run(Request r) throws Exception; }

    record Request(int workers, int runs, int n) {
        /** Calls `figures` to warm up and then for each run; without runs, a single time. It returns a figure for each label. */
        void measure(List<Label> labels, Figures figures) throws Exception {
            if (runs > 0) figures.once();
            var lines = new ArrayList<StringBuilder>();
            for (var l : labels) lines.add(new StringBuilder(l.variant + ' ' + l.n + ' ' + l.unit));
            for (int run = 0; run < Math.max(runs, 1); run++) {
                double[] values = figures.once();
                for (int i = 0; i < values.length; i++) lines.get(i).append(' ').append(values[i]);
            }
            lines.forEach(System.out::println);
        }

        void measure(String variant, int n, String unit, Figure figure) throws Exception {
            measure(List.of(new Label(variant, n, unit)), () -> new double[] {figure.once()});
        }
    }

    static final Map<String, Benchmark> BENCHMARKS = Map.ofEntries(
        Map.entry("switch", Turns::switches), Map.entry("ring", Turns::ring), Map.entry("feed", Turns::feed),
        Map.entry("spawn", Crowds::spawn), Map.entry("parked", Crowds::parked),
        Map.entry("peak-memory/run-as-spawned", r -> Crowds.peakMemory(r, "run-as-spawned", Crowds::asSpawned)),
        Map.entry("peak-memory/batch", r -> Crowds.peakMemory(r, "batch", Crowds::batch)),
        Map.entry("skynet", Trees::skynet), Map.entry("forkjoin", Trees::forkjoin),
        Map.entry("fibonacci", Sharing::fibonacci), Map.entry("mutex", Sharing::mutexes), Map.entry("channel", Sharing::channels),
        Map.entry("timers", Timers::timers), Map.entry("preempt", Preempt::preempt));

    static double nanoseconds(Work work) throws Exception {
        long begin = System.nanoTime();
        work.run();
        return System.nanoTime() - begin;
    }

    /** A virtual thread that may throw; whatever it throws ends the program. */
    static Thread start(Work work) {
        return Thread.startVirtualThread(() -> {
            try {
                work.run();
            } catch (Throwable failure) {
                failure.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
    }

    static void require(boolean right, String what) {
        if (!right) throw new IllegalStateException(what);
    }

    public static void main(String[] a) throws Exception {
        require(a.length == 4 && BENCHMARKS.containsKey(a[0]), "usage: Main BENCH WORKERS RUNS N");
        var request = new Request(Integer.parseInt(a[1]), Integer.parseInt(a[2]), Integer.parseInt(a[3]));
        start(() -> BENCHMARKS.get(a[0]).run(request)).join();   // a virtual thread itself, so that the work stays on the workers
    }
}
