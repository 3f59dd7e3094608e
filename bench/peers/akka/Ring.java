// Ring.java - the ring of actors in Akka, called as the other peers are: Ring BENCH WORKERS RUNS N.
import akka.actor.ActorRef;
import akka.actor.ActorSystem;
import akka.actor.Props;
import akka.actor.UntypedAbstractActor;
import com.typesafe.config.ConfigFactory;
import java.util.concurrent.CountDownLatch;

public final class Ring {
    static final int MEMBERS = 503;

    /** Gets the next one first, and then numbers, which it passes on. */
    static final class Member extends UntypedAbstractActor {
        private final CountDownLatch usedUp, ended;
        private ActorRef next;

        Member(CountDownLatch usedUp, CountDownLatch ended) {
            this.usedUp = usedUp;
            this.ended = ended;
        }
        @Override public void onReceive(Object message) {
            if (message instanceof ActorRef other) next = other;
            else if ((int) message == 0) usedUp.countDown();
            else next.tell((int) message - 1, getSelf());
        }
        @Override public void postStop() { ended.countDown(); }
    }

    /** From the first actor that is made to the last one that has ended, as in `weft bench ring`. */
    static double hop(ActorSystem system, int hops) throws InterruptedException {
        var usedUp = new CountDownLatch(1);
        var ended = new CountDownLatch(MEMBERS);
        var ring = new ActorRef[MEMBERS];
        long begin = System.nanoTime();
        for (int i = 0; i < MEMBERS; i++) ring[i] = system.actorOf(Props.create(Member.class, () -> new Member(usedUp, ended)));
        for (int i = 0; i < MEMBERS; i++) ring[i].tell(ring[(i + 1) % MEMBERS], ActorRef.noSender());
        ring[0].tell(hops, ActorRef.noSender());
        usedUp.await();
        for (var member : ring) system.stop(member);
        ended.await();
        return (double) (System.nanoTime() - begin) / hops;
    }

    static ActorSystem withWorkers(int workers) {
        var pool = "akka.actor.default-dispatcher.fork-join-executor { parallelism-min = %1$d, parallelism-max = %1$d }";
        return ActorSystem.create("ring", ConfigFactory.parseString(pool.formatted(workers) + "\nakka.loglevel = ERROR")
                .withFallback(ConfigFactory.load()));
    }

    public static void main(String[] a) throws Exception {
        if (a.length != 4 || !a[0].equals("ring")) throw new IllegalArgumentException("usage: Ring ring WORKERS RUNS N");
        int runs = Integer.parseInt(a[2]), hops = Integer.parseInt(a[3]);
        var system = withWorkers(Integer.parseInt(a[1]));
        if (runs > 0) hop(system, hops);
        var line = new StringBuilder("actors " + hops + " ns");
        for (int run = 0; run < Math.max(runs, 1); run++) line.append(' ').append(hop(system, hops));
        System.out.println(line);
        system.terminate();
    }
}
