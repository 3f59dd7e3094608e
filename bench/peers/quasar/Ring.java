// Ring.java - seed 002's ring in Quasar, and by the JVM's threads: Ring ring WORKERS RUNS N. Compiled for Java 11, the last that Quasar knows.
import co.paralleluniverse.actors.Actor;
import co.paralleluniverse.actors.ActorRef;
import co.paralleluniverse.actors.BasicActor;
import co.paralleluniverse.fibers.Fiber;
import co.paralleluniverse.fibers.FiberFactory;
import co.paralleluniverse.fibers.FiberForkJoinScheduler;
import co.paralleluniverse.fibers.SuspendExecution;
import co.paralleluniverse.strands.Strand;
import co.paralleluniverse.strands.channels.Channel;
import co.paralleluniverse.strands.channels.Channels;
import co.paralleluniverse.strands.dataflow.Val;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

public final class Ring {
    static final int MEMBERS = 503;
    static final int MOST_BY_THREADS = 100_000;

    interface Seat {
        int receive() throws SuspendExecution, InterruptedException;
        void send(int number) throws SuspendExecution, InterruptedException;
    }

    static final class ChannelSeat implements Seat {
        private final Channel<Integer> channel = Channels.newChannel(0);
        public int receive() throws SuspendExecution, InterruptedException { return channel.receive(); }
        public void send(int number) throws SuspendExecution, InterruptedException { channel.send(number); }
    }

    /** One number, and the fiber that waits for it. */
    static final class ParkSeat implements Seat {
        private static final int EMPTY = -2;
        private volatile int number = EMPTY;
        private volatile Strand waiter;
        public int receive() throws SuspendExecution, InterruptedException {
            waiter = Strand.currentStrand();
            while (number == EMPTY) Strand.park(this);
            int taken = number;
            number = EMPTY;
            return taken;
        }
        public void send(int value) {
            number = value;
            var waits = waiter;
            if (waits != null) Strand.unpark(waits);
        }
    }

    /** Promises (Quasar's dataflow constants) one after the other: each brings a number, and the next promise. */
    static final class PromiseSeat implements Seat {
        static final class Message {
            final int number;
            final Val<Message> next;
            Message(int number, Val<Message> next) {
                this.number = number;
                this.next = next;
            }
        }
        private Val<Message> open = new Val<>(), next = open;
        public int receive() throws SuspendExecution, InterruptedException {
            var message = next.get();
            next = message.next;
            return message.number;
        }
        public void send(int number) {
            var fresh = new Val<Message>();
            var kept = open;
            open = fresh;
            kept.set(new Message(number, fresh));
        }
    }

    /** The JVM's own threads, with a lock and a condition: the seed's "Java threads". */
    static final class LockSeat implements Seat {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition change = lock.newCondition();
        private Integer number;
        public int receive() throws InterruptedException {
            lock.lock();
            try {
                while (number == null) change.await();
                int taken = number;
                number = null;
                return taken;
            } finally {
                lock.unlock();
            }
        }
        public void send(int value) {
            lock.lock();
            try {
                number = value;
                change.signal();
            } finally {
                lock.unlock();
            }
        }
    }

    /** Who receives 0 sends the end, -1, which goes around as the numbers did; `last` has nobody left to pass it to. */
    static void takePart(Seat mine, Seat next, boolean last) throws SuspendExecution, InterruptedException {
        int number;
        while ((number = mine.receive()) > 0) next.send(number - 1);
        if (number == 0 || !last) next.send(-1);
    }

    static boolean isLast(int member, int hops) { return (member + 1) % MEMBERS == hops % MEMBERS; }

    static List<Seat> seats(Supplier<Seat> make) {
        var all = new ArrayList<Seat>();
        for (int i = 0; i < MEMBERS; i++) all.add(make.get());
        return all;
    }

    static double byFibers(FiberForkJoinScheduler workers, int hops, Supplier<Seat> make) throws Exception {
        var seats = seats(make);
        long begin = System.nanoTime();
        var members = new ArrayList<Fiber<Void>>();
        for (int i = 0; i < MEMBERS; i++) {
            var mine = seats.get(i);
            var next = seats.get((i + 1) % MEMBERS);
            boolean last = isLast(i, hops);
            members.add(new Fiber<Void>(workers, () -> takePart(mine, next, last)).start());
        }
        new Fiber<Void>(workers, () -> seats.get(0).send(hops)).start();
        for (var m : members) m.join();
        return (double) (System.nanoTime() - begin) / hops;
    }

    static double byThreads(int hops) throws Exception {
        var seats = seats(LockSeat::new);
        long begin = System.nanoTime();
        var members = new ArrayList<Thread>();
        for (int i = 0; i < MEMBERS; i++) {
            int me = i;
            var member = new Thread(() -> {
                try {
                    takePart(seats.get(me), seats.get((me + 1) % MEMBERS), isLast(me, hops));
                } catch (SuspendExecution | InterruptedException failure) {
                    throw new AssertionError(failure);
                }
            });
            member.start();
            members.add(member);
        }
        ((LockSeat) seats.get(0)).send(hops);
        for (var m : members) m.join();
        return (double) (System.nanoTime() - begin) / hops;
    }

    /** Gets the next one first, and then numbers, which it passes on. */
    static final class Member extends BasicActor<Object, Void> {
        private final boolean last;
        Member(boolean last) { this.last = last; }
        @Override @SuppressWarnings("unchecked") protected Void doRun() throws SuspendExecution, InterruptedException {
            var next = (ActorRef<Object>) receive();
            int number;
            while ((number = (Integer) receive()) > 0) next.send(number - 1);
            if (number == 0 || !last) next.send(-1);
            return null;
        }
    }

    static double byActors(FiberForkJoinScheduler workers, int hops) throws Exception {
        long begin = System.nanoTime();
        var members = new ArrayList<Member>();
        var ring = new ArrayList<ActorRef<Object>>();
        for (int i = 0; i < MEMBERS; i++) {
            var member = new Member(isLast(i, hops));
            members.add(member);
            ring.add(member.spawn((FiberFactory) workers));
        }
        new Fiber<Void>(workers, () -> {
            for (int i = 0; i < MEMBERS; i++) ring.get(i).send(ring.get((i + 1) % MEMBERS));
            ring.get(0).send(hops);
        }).start().join();
        for (Actor<Object, Void> m : members) m.join();
        return (double) (System.nanoTime() - begin) / hops;
    }

    interface Figure { double once() throws Exception; }

    /** Calls `figure` to warm up and then for each run; without runs, a single time. */
    static void measure(String variant, int n, int runs, Figure figure) throws Exception {
        if (runs > 0) figure.once();
        var line = new StringBuilder(variant + ' ' + n + " ns");
        for (int run = 0; run < Math.max(runs, 1); run++) line.append(' ').append(figure.once());
        System.out.println(line);
    }

    public static void main(String[] a) throws Exception {
        if (a.length != 4 || !a[0].equals("ring")) throw new IllegalArgumentException("usage: Ring ring WORKERS RUNS N");
        int runs = Integer.parseInt(a[2]), hops = Integer.parseInt(a[3]), few = Math.min(hops, MOST_BY_THREADS);
        var workers = new FiberForkJoinScheduler("ring", Integer.parseInt(a[1]), null, false);
        measure("channels", hops, runs, () -> byFibers(workers, hops, ChannelSeat::new));
        measure("park-and-unpark", hops, runs, () -> byFibers(workers, hops, ParkSeat::new));
        measure("promises", hops, runs, () -> byFibers(workers, hops, PromiseSeat::new));
        measure("actors", hops, runs, () -> byActors(workers, hops));
        measure("java-threads", few, runs, () -> byThreads(few));
        System.exit(0);
    }
}
