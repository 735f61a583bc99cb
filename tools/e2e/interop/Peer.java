import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.framework.recipes.shared.SharedCount;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;

/**
 * Contends with Curator's recipes, in one session: `Peer CONNECT SESSION_MS`.
 *
 * Each line of the input is an order, `ACTOR ORDER ARGUMENT…`, and is answered by one line, `ACTOR ok ANSWER`
 * or `ACTOR error REASON`. `ACTOR event WHAT` reports an event. Each actor follows its orders one by one on
 * its own thread, because Curator's locks belong to threads. The process ends when its input ends.
 */
public class Peer {
    private static final int CONNECT_WITHIN_MS = 20_000;

    public static void main(String[] arguments) throws Exception {
        int session = Integer.parseInt(arguments[1]);
        CuratorFramework client =
            CuratorFrameworkFactory.newClient(arguments[0], session, CONNECT_WITHIN_MS, new RetryNTimes(5, 100));
        client.start();
        if (!client.blockUntilConnected(CONNECT_WITHIN_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("no server at " + arguments[0]);
        }
        say("peer", "ready", Long.toString(client.getZookeeperClient().getZooKeeper().getSessionId()));
        Map<String, Actor> actors = new HashMap<>();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            if (words[1].equals("end")) {
                actors.remove(words[0]).thread.shutdownNow();
            } else {
                actors.computeIfAbsent(words[0], name -> new Actor(name, client)).follow(words);
            }
        }
        Runtime.getRuntime().halt(0);
    }

    static void say(String actor, String kind, String what) {
        synchronized (System.out) {
            System.out.println((actor + " " + kind + " " + what).trim());
            System.out.flush();
        }
    }
}

/** One contender: a thread, and the locks of one recipe at one path. */
class Actor {
    final ExecutorService thread = Executors.newSingleThreadExecutor(task -> {
        Thread started = new Thread(task);
        started.setDaemon(true);
        return started;
    });
    private final String name;
    private final CuratorFramework client;
    private Recipe recipe;
    private Candidate candidate;

    Actor(String name, CuratorFramework client) {
        this.name = name;
        this.client = client;
    }

    void follow(String[] words) {
        thread.execute(() -> {
            try {
                Peer.say(name, "ok", answer(words));
            } catch (Throwable error) {
                Peer.say(name, "error", error.toString().replace('\n', ' '));
            }
        });
    }

    private String answer(String[] words) throws Exception {
        switch (words[1]) {
            case "open":
                recipe = Recipe.open(client, words[2], words[3]);
                return "";
            case "acquire":
                recipe.lock(words[2]).acquire();
                return "";
            case "try":
                return Boolean.toString(recipe.lock(words[2]).acquire(Long.parseLong(words[3]), TimeUnit.MILLISECONDS));
            case "release":
                recipe.lock(words[2]).release();
                return "";
            case "participants":
                return described(recipe.participants(words[2]));
            case "revocable":
                ((InterProcessMutex) recipe.lock(words[2])).makeRevocable(lock -> Peer.say(name, "event", "revoked"));
                return "";
            case "revoke":
                Revoker.attemptRevoke(client, words[2]);
                return "";
            case "downgrade":
                return downgrade();
            case "delete":
                client.delete().forPath(words[2]);
                return "";
            case "share":
                ((Shared) recipe).count.setCount(Integer.parseInt(words[2]));
                return "";
            case "run":
                candidate = Candidate.run(client, words);
                return "";
            case "candidates":
                return candidate.listed();
            case "leave":
                candidate.leave();
                return "";
            case "contend":
                contend(new Contest(words));
                return "";
            default:
                throw new IllegalArgumentException(words[1]);
        }
    }

    /** Returns the nodes with their data. */
    private String described(Collection<String> nodes) throws Exception {
        List<String> described = new ArrayList<>();
        for (String node : nodes) {
            String data = new String(client.getData().forPath(node), StandardCharsets.UTF_8);
            described.add(node + "=" + URLEncoder.encode(data, StandardCharsets.UTF_8));
        }
        return String.join(" ", described);
    }

    /**
     * Creates the node that Curator creates since 5.5 when it reads under its own write lock, and that
     * Curator 5.4 does not create. It has the writer's number, and is therefore in front of every waiting
     * writer.
     */
    private String downgrade() throws Exception {
        String writer = recipe.participants("write").iterator().next();
        String number = writer.substring(writer.lastIndexOf("__WRIT__") + "__WRIT__".length());
        return client.create().creatingParentContainersIfNeeded().withProtection().withMode(CreateMode.EPHEMERAL)
            .forPath(recipe.path + "/__READ__" + number);
    }

    /** Takes and releases the lock in each mode in turn, and records its critical sections. */
    private void contend(Contest contest) throws Exception {
        for (int round = 0; round < contest.rounds; round++) {
            String mode = contest.modes[round % contest.modes.length];
            if (mode.equals("downgrade")) {
                contendAndDowngrade(contest);
                continue;
            }
            recipe.lock(mode).acquire();
            contest.record("enter", name, mode);
            contest.stay();
            contest.record("leave", name, mode);
            recipe.lock(mode).release();
        }
    }

    /** Writes, and then goes on as a reader. */
    private void contendAndDowngrade(Contest contest) throws Exception {
        recipe.lock("write").acquire();
        contest.record("enter", name, "write");
        contest.stay();
        String reader = downgrade();
        // Recorded before the release, so that no other contender appears to enter too early.
        contest.record("become", name, "read");
        recipe.lock("write").release();
        contest.stay();
        contest.record("leave", name, "read");
        client.delete().forPath(reader);
    }
}

/** The parameters of the order to contend: `MODE,… ROUNDS GATHERING LENGTH_MS RECORD`. */
class Contest {
    final String[] modes;
    final int rounds;
    private final int gathering;
    private final int length;
    private final Path record;

    Contest(String[] words) {
        modes = words[2].split(",");
        rounds = Integer.parseInt(words[3]);
        gathering = Integer.parseInt(words[4]);
        length = Integer.parseInt(words[5]);
        record = Path.of(words[6]);
    }

    void record(String step, String name, String mode) throws IOException {
        write(record, step, name, mode);
    }

    static void write(Path record, String step, String name, String mode) throws IOException {
        Files.writeString(record, step + " " + name + " " + mode + "\n", StandardOpenOption.APPEND);
    }

    /** Stays in a critical section for its length, and until enough sections have been entered in total. */
    void stay() throws Exception {
        do {
            Thread.sleep(length);
        } while (Files.readAllLines(record).stream().filter(line -> line.startsWith("enter")).count() < gathering);
    }
}

/** The locks of one recipe at one path, by their modes. */
abstract class Recipe {
    final CuratorFramework client;
    final String path;

    Recipe(CuratorFramework client, String path) {
        this.client = client;
        this.path = path;
    }

    abstract InterProcessLock lock(String mode);

    /** Returns the nodes, in the order of the queue if the recipe has one. */
    abstract Collection<String> participants(String mode) throws Exception;

    static Recipe open(CuratorFramework client, String recipe, String path) throws Exception {
        switch (recipe) {
            case "mutex":
                return new Mutex(client, path);
            case "rwlock":
                return new ReadWrite(client, path);
            case "exclusive":
                return new Exclusive(client, path);
            case "semaphore":
                return new Semaphore(client, path);
            case "shared":
                return new Shared(client, path);
            default:
                throw new IllegalArgumentException(recipe);
        }
    }

    static class Mutex extends Recipe {
        private final InterProcessMutex mutex;

        Mutex(CuratorFramework client, String path) {
            super(client, path);
            mutex = new InterProcessMutex(client, path);
        }

        @Override
        InterProcessLock lock(String mode) {
            return mutex;
        }

        @Override
        Collection<String> participants(String mode) throws Exception {
            return mutex.getParticipantNodes();
        }
    }

    static class ReadWrite extends Recipe {
        private final InterProcessReadWriteLock locks;

        ReadWrite(CuratorFramework client, String path) {
            super(client, path);
            locks = new InterProcessReadWriteLock(client, path);
        }

        @Override
        InterProcessMutex lock(String mode) {
            return mode.equals("read") ? locks.readLock() : locks.writeLock();
        }

        @Override
        Collection<String> participants(String mode) throws Exception {
            return lock(mode).getParticipantNodes();
        }
    }

    static class Exclusive extends Recipe {
        private final InterProcessLock mutex;

        Exclusive(CuratorFramework client, String path) {
            super(client, path);
            mutex = new InterProcessSemaphoreMutex(client, path);
        }

        @Override
        InterProcessLock lock(String mode) {
            return mutex;
        }

        /** Lists the permits: Curator's mutex is a semaphore with one permit, and has no list of its own. */
        @Override
        Collection<String> participants(String mode) throws Exception {
            return new Semaphore(client, path).participants(mode);
        }
    }

    static class Semaphore extends Recipe {
        private static final int PERMITS = 3;

        private final InterProcessSemaphoreV2 semaphore;
        private final Map<String, InterProcessLock> locks = new HashMap<>();

        Semaphore(CuratorFramework client, String path) {
            this(client, path, new InterProcessSemaphoreV2(client, path, PERMITS));
        }

        Semaphore(CuratorFramework client, String path, InterProcessSemaphoreV2 semaphore) {
            super(client, path);
            this.semaphore = semaphore;
        }

        /** The mode is the number of permits to take. */
        @Override
        InterProcessLock lock(String mode) {
            return locks.computeIfAbsent(mode, count -> new Permits(semaphore, Integer.parseInt(count)));
        }

        @Override
        Collection<String> participants(String mode) throws Exception {
            List<String> nodes = new ArrayList<>();
            semaphore.getParticipantNodes().forEach(node -> nodes.add(path + "/leases/" + node));
            return nodes;
        }
    }
}

/** The locks of a semaphore whose number of permits is stored next to it and may change. */
class Shared extends Recipe.Semaphore {
    final SharedCount count;

    Shared(CuratorFramework client, String path) throws Exception {
        this(client, path, new SharedCount(client, path + "-permits", 3));
    }

    private Shared(CuratorFramework client, String path, SharedCount count) throws Exception {
        super(client, path, new InterProcessSemaphoreV2(client, path, count));
        this.count = count;
        count.start();
    }
}

/** Permits of a semaphore, acquired and released like a lock. */
class Permits implements InterProcessLock {
    private final InterProcessSemaphoreV2 semaphore;
    private final int count;
    private final Deque<Collection<Lease>> held = new ArrayDeque<>();

    Permits(InterProcessSemaphoreV2 semaphore, int count) {
        this.semaphore = semaphore;
        this.count = count;
    }

    @Override
    public void acquire() throws Exception {
        held.push(semaphore.acquire(count));
    }

    @Override
    public boolean acquire(long time, TimeUnit unit) throws Exception {
        Collection<Lease> leases = semaphore.acquire(count, time, unit);
        if (leases != null) {
            held.push(leases);
        }
        return leases != null;
    }

    @Override
    public void release() {
        semaphore.returnAll(held.pop());
    }

    @Override
    public boolean isAcquiredInThisProcess() {
        return !held.isEmpty();
    }
}

/** A candidate in an election, which records when it begins and ceases to lead. */
abstract class Candidate {
    /** Runs a candidate: `KIND PATH ID RECORD`. */
    static Candidate run(CuratorFramework client, String[] words) throws Exception {
        Term term = new Term(Path.of(words[5]), words[4]);
        switch (words[2]) {
            case "latch":
                return new Latch(client, term, words[3], words[4]);
            case "selector":
                return new Selector(client, term, words[3], words[4]);
            default:
                throw new IllegalArgumentException(words[2]);
        }
    }

    abstract Collection<Participant> participants() throws Exception;

    /** Leaves the election. */
    abstract void leave() throws Exception;

    /** Returns the ids of all candidates, with the leader's marked. */
    String listed() throws Exception {
        List<String> ids = new ArrayList<>();
        participants().forEach(one -> ids.add((one.isLeader() ? "*" : "") + one.getId()));
        return String.join(" ", ids);
    }

    static class Latch extends Candidate {
        private final Term term;
        private final LeaderLatch latch;

        Latch(CuratorFramework client, Term term, String path, String id) throws Exception {
            this.term = term;
            latch = new LeaderLatch(client, path, id);
            latch.addListener(new LeaderLatchListener() {
                @Override
                public void isLeader() {
                    term.begins();
                }

                @Override
                public void notLeader() {
                    term.ends();
                }
            });
            latch.start();
        }

        @Override
        Collection<Participant> participants() throws Exception {
            return latch.getParticipants();
        }

        /** Ends the term first: Curator reports the end only after it has begun to delete its node. */
        @Override
        void leave() throws Exception {
            if (latch.hasLeadership()) {
                term.ends();
            }
            latch.close(LeaderLatch.CloseMode.SILENT);
        }
    }

    static class Selector extends Candidate {
        private final CountDownLatch over = new CountDownLatch(1);
        private final LeaderSelector selector;

        Selector(CuratorFramework client, Term term, String path, String id) {
            selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
                @Override
                public void takeLeadership(CuratorFramework client) throws Exception {
                    term.begins();
                    try {
                        over.await();
                    } finally {
                        term.ends();
                    }
                }
            });
            selector.setId(id);
            selector.start();
        }

        @Override
        Collection<Participant> participants() throws Exception {
            return selector.getParticipants();
        }

        @Override
        void leave() {
            over.countDown();
        }
    }
}

/** The writer of a candidate's terms into a record. */
class Term {
    private final Path record;
    private final String id;

    Term(Path record, String id) {
        this.record = record;
        this.id = id;
    }

    void begins() {
        write("enter");
    }

    void ends() {
        write("leave");
    }

    private void write(String step) {
        try {
            Contest.write(record, step, id, "exclusive");
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }
}
