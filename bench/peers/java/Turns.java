// Turns.java - control that changes hands: yields, the ring, people who are fed in turn.
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;

final class Turns {
    static void yields(int times) {
        for (int i = 0; i < times; i++) Thread.yield();
    }

    static void switches(Main.Request r) throws Exception {
        int half = Math.max(r.n() / 2, 1);
        r.measure("yield", r.n(), "ns", () -> Main.nanoseconds(() -> {
            var other = Main.start(() -> yields(half));
            yields(half);
            other.join();
        }) / r.n());
    }

    static final int MEMBERS = 503;

    interface Seat {
        int receive() throws Exception;
        void send(int number) throws Exception;
    }

    static final class QueueSeat implements Seat {
        private final BlockingQueue<Integer> queue = new SynchronousQueue<>();
        public int receive() throws Exception { return queue.take(); }
        public void send(int number) throws Exception { queue.put(number); }
    }

    /** One number, and the thread that waits for it. */
    static final class ParkSeat implements Seat {
        private static final int EMPTY = -2;
        private volatile int number = EMPTY;
        private volatile Thread waiter;
        public int receive() {
            waiter = Thread.currentThread();
            while (number == EMPTY) LockSupport.park(this);
            int taken = number;
            number = EMPTY;
            return taken;
        }
        public void send(int value) {
            number = value;
            LockSupport.unpark(waiter);
        }
    }

    /** Who receives 0 sends the end, -1, which goes around as the numbers did; `last` has nobody left to pass it to. */
    static void takePart(Seat mine, Seat next, boolean last) throws Exception {
        int number;
        while ((number = mine.receive()) > 0) next.send(number - 1);
        if (number == 0 || !last) next.send(-1);
    }

    static double around(int hops, java.util.function.Supplier<Seat> make) throws Exception {
        var seats = new ArrayList<Seat>();
        for (int i = 0; i < MEMBERS; i++) seats.add(make.get());
        return Main.nanoseconds(() -> {
            int ender = hops % MEMBERS;   // receives 0
            var members = new ArrayList<Thread>();
            for (int i = 0; i < MEMBERS; i++) {
                int me = i;
                members.add(Main.start(() -> takePart(seats.get(me), seats.get((me + 1) % MEMBERS), (me + 1) % MEMBERS == ender)));
            }
            seats.get(0).send(hops);
            for (var m : members) m.join();
        }) / hops;
    }

    static void ring(Main.Request r) throws Exception {
        r.measure("channels", r.n(), "ns", () -> around(r.n(), QueueSeat::new));
        r.measure("park-and-unpark", r.n(), "ns", () -> around(r.n(), ParkSeat::new));
    }

    static final class Person {
        int fiber, calcium, iron;
        void feed(int needed) {
            while (fiber != needed || calcium != needed || iron != needed) {
                fiber++;
                calcium++;
                iron++;
                Thread.yield();
            }
        }
    }

    static void feed(Main.Request r) throws Exception {
        for (int nutrients : new int[] {10, 100, 1000, 10_000}) {
            var suffix = "nutrients-" + nutrients;
            var labels = List.of(new Main.Label("yield/" + suffix, r.n(), "us"), new Main.Label("yield/round-trip/" + suffix, r.n(), "ns"));
            r.measure(labels, () -> {
                var people = new ArrayList<Person>();
                for (int i = 0; i < r.n(); i++) people.add(new Person());
                double time = Main.nanoseconds(() -> {
                    var threads = new ArrayList<Thread>();
                    for (var p : people) threads.add(Thread.startVirtualThread(() -> p.feed(nutrients)));
                    for (var t : threads) t.join();
                });
                for (var p : people) Main.require(p.fiber == nutrients && p.iron == nutrients, "somebody was not fed");
                return new double[] {time / 1e3, time / r.n() / nutrients};
            });
        }
    }
}
