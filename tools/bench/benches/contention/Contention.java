import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;

/**
 * Measures Curator's locks as the benchmark `contention` measures zklock's: `Contention NAME=VALUE…`.
 *
 * The names are those of its options; times are in nanoseconds. One line on standard output has the result.
 */
public class Contention {
    private static final int SESSION_MS = 30_000;
    private static final int CONNECT_WITHIN_MS = 20_000;

    private final Map<String, String> options = new HashMap<>();
    private final List<CuratorFramework> clients = new ArrayList<>();
    private final List<Task> tasks = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        Contention contention = new Contention();
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            contention.options.put(parts[0], parts[1]);
        }
        System.out.println(contention.measure());
        System.out.flush();
        contention.clients.forEach(CuratorFramework::close);
        Runtime.getRuntime().halt(0);
    }

    private long number(String option) {
        return Long.parseLong(options.getOrDefault(option, "0"));
    }

    private String measure() throws Exception {
        for (int session = 0; session < number("sessions"); session++) {
            CuratorFramework client = connect();
            clients.add(client);
            boolean each = options.get("instances").equals("task");
            Locks locks = new Locks(client, options.get("namespace") + "/locks/", each);
            for (int task = 0; task < number("tasks"); task++) {
                tasks.add(new Task(session, locks.lock(options.get("scenario"), session + "-" + task)));
            }
        }
        return new Measurement(this, tasks).line();
    }

    CuratorFramework connect() throws InterruptedException {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
            options.get("server"), SESSION_MS, CONNECT_WITHIN_MS, new RetryNTimes(5, 100));
        client.start();
        if (!client.blockUntilConnected(CONNECT_WITHIN_MS, TimeUnit.MILLISECONDS)) {
            throw new IllegalStateException("no server at " + options.get("server"));
        }
        return client;
    }

    /** The measurement of all tasks. */
    private static class Measurement {
        private static final long WARM_UP_NANOS = TimeUnit.SECONDS.toNanos(2);

        private final Contention options;
        private final List<Task> tasks;

        Measurement(Contention options, List<Task> tasks) {
            this.options = options;
            this.tasks = tasks;
        }

        String line() throws Exception {
            ExecutorService threads = Executors.newFixedThreadPool(tasks.size());
            // By time, so that C2 has compiled the code of fast and of slow locks alike.
            long warm = System.nanoTime() + WARM_UP_NANOS;
            Body warming = new Body(0);
            all(threads, task -> task.warmUp(warming, warm));
            CountDownLatch ready = new CountDownLatch(tasks.size());
            CountDownLatch go = new CountDownLatch(1);
            Body body = new Body(options.number("hold"));
            AtomicLong end = new AtomicLong();
            List<Future<Void>> running = start(threads, task -> {
                ready.countDown();
                go.await();
                task.run(body, end.get(), options.number("pause"));
            });
            ready.await();
            Counters before = Counters.of(options.options.get("server"));
            long start = System.nanoTime();
            end.set(start + options.number("nanos"));
            go.countDown();
            for (Future<Void> task : running) {
                task.get();
            }
            long elapsed = System.nanoTime() - start;
            Counters after = Counters.of(options.options.get("server"));
            return described(body, elapsed, before, after);
        }

        private List<Future<Void>> start(ExecutorService threads, Step step) {
            List<Future<Void>> running = new ArrayList<>();
            for (Task task : tasks) {
                running.add(threads.submit(() -> {
                    step.of(task);
                    return null;
                }));
            }
            return running;
        }

        private void all(ExecutorService threads, Step step) throws Exception {
            for (Future<Void> task : start(threads, step)) {
                task.get();
            }
        }

        private String described(Body body, long elapsed, Counters before, Counters after) {
            int samples = tasks.stream().mapToInt(task -> task.record.count).sum();
            long[] latencies = new long[samples];
            long[][] acquisitions = new long[samples][];
            long wait = 0;
            int filled = 0;
            for (Task task : tasks) {
                Record record = task.record;
                for (int index = 0; index < record.count; index++) {
                    latencies[filled] = record.latencies[index];
                    acquisitions[filled++] = new long[] {record.orders[index], task.session};
                }
                wait = Math.max(wait, record.longestWait);
            }
            Arrays.sort(latencies);
            Arrays.sort(acquisitions, (one, other) -> Long.compare(one[0], other[0]));
            boolean shared = options.options.get("shared").equals("true");
            double batch = options.options.get("scenario").equals("reentrant") ? Locks.ENTRIES_PER_SAMPLE : 1;
            double ops = samples * batch;
            // The second question is itself counted.
            long requests = after.requests - before.requests - 1;
            String events = before.events.isEmpty() || after.events.isEmpty() ? "-"
                : String.format(Locale.ROOT, "%.2f", (after.events.get() - before.events.get()) / ops);
            return String.format(Locale.ROOT,
                "curator %s sessions=%d tasks=%d ops=%.0f secs=%.3f ops_per_s=%.0f p50_us=%.3f p90_us=%.3f p99_us=%.3f "
                    + "p999_us=%.3f requests_per_op=%.2f events_per_op=%s longest_run=%s longest_wait_ms=%.1f",
                options.options.get("scenario"), options.number("sessions"), options.number("tasks"), ops,
                elapsed / 1e9, ops / (elapsed / 1e9), percentile(latencies, 500) / batch / 1e3,
                percentile(latencies, 900) / batch / 1e3, percentile(latencies, 990) / batch / 1e3,
                percentile(latencies, 999) / batch / 1e3, requests / ops, events,
                shared ? Integer.toString(longestRun(acquisitions, body.contended.get())) : "-", wait / 1e6);
        }

        /** Returns a percentile by nearest rank. */
        private static double percentile(long[] latencies, int perMille) {
            int rank = (int) Math.ceil(latencies.length * perMille / 1000.0);
            return rank == 0 ? Double.NaN : latencies[rank - 1];
        }

        /** Returns the longest run of one session before the first task ended. */
        private static int longestRun(long[][] acquisitions, long contended) {
            int longest = 0;
            int run = 0;
            for (int index = 0; index < acquisitions.length && acquisitions[index][0] < contended; index++) {
                run = index > 0 && acquisitions[index][1] == acquisitions[index - 1][1] ? run + 1 : 1;
                longest = Math.max(longest, run);
            }
            return longest;
        }

        private interface Step {
            void of(Task task) throws Exception;
        }
    }

    /** The requests that a server has received, and the watches that have fired if it counts them. */
    private static class Counters {
        final long requests;
        final Optional<Long> events;

        private Counters(String answer) {
            requests = counter(answer, "zk_packets_received").orElseThrow();
            Optional<Long> sum = Optional.of(0L);
            for (String kind : new String[] {"created", "deleted", "changed", "children"}) {
                Optional<Long> fired = counter(answer, "zk_sum_node_" + kind + "_watch_count");
                sum = sum.flatMap(one -> fired.map(other -> one + other));
            }
            events = sum;
        }

        static Counters of(String server) throws IOException {
            String[] address = server.split(":");
            try (Socket socket = new Socket(address[0], Integer.parseInt(address[1]))) {
                socket.getOutputStream().write("mntr".getBytes(StandardCharsets.US_ASCII));
                return new Counters(new String(socket.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
            }
        }

        private static Optional<Long> counter(String answer, String name) {
            return answer.lines().filter(line -> line.startsWith(name + "\t")).findFirst()
                .map(line -> Long.parseLong(line.substring(name.length() + 1)));
        }
    }

    /** The body of all critical sections of a measurement. */
    private static class Body {
        private final AtomicLong entered = new AtomicLong();
        /** The number of acquisitions when the first task ended. */
        final AtomicLong contended = new AtomicLong(Long.MAX_VALUE);
        private final long hold;

        Body(long hold) {
            this.hold = hold;
        }

        void run(Record record) throws InterruptedException {
            record.acquired(entered.getAndIncrement());
            stay(hold);
        }

        void end() {
            contended.accumulateAndGet(entered.get(), Math::min);
        }

        static void stay(long nanos) throws InterruptedException {
            if (nanos > 0) {
                TimeUnit.NANOSECONDS.sleep(nanos);
            }
        }
    }

    /** The operations of a task. */
    private static class Record {
        long[] latencies = new long[1 << 12];
        long[] orders = new long[1 << 12];
        int count;
        long longestWait;
        private long started;

        void start() {
            started = System.nanoTime();
        }

        void acquired(long order) {
            longestWait = Math.max(longestWait, System.nanoTime() - started);
            if (count == orders.length) {
                orders = Arrays.copyOf(orders, 2 * count);
                latencies = Arrays.copyOf(latencies, 2 * count);
            }
            orders[count] = order;
        }

        void end() {
            latencies[count++] = System.nanoTime() - started;
        }
    }

    /** One thread and its lock. */
    private static class Task {
        final int session;
        final Lock lock;
        Record record = new Record();

        Task(int session, Lock lock) {
            this.session = session;
            this.lock = lock;
        }

        void warmUp(Body body, long until) throws Exception {
            lock.prepare();
            for (long number = 0; System.nanoTime() - until < 0; number++) {
                operate(lock, number, body);
            }
            lock.end();
            record = new Record();
        }

        void run(Body body, long until, long pause) throws Exception {
            lock.prepare();
            for (long number = 0; System.nanoTime() - until < 0; number++) {
                operate(lock, number, body);
                Body.stay(pause);
            }
            body.end();
            lock.end();
        }

        private void operate(Lock lock, long number, Body body) throws Exception {
            record.start();
            lock.operate(number, body, record);
            record.end();
        }
    }

    /** The way to take and release a lock. */
    private interface Lock {
        /** Performs one operation, which is a read or a write depending on its number if the lock has both. */
        void operate(long number, Body body, Record record) throws Exception;

        /** Is called by the thread of the task before its first operation. */
        default void prepare() throws Exception {}

        /** Is called by the thread of the task after its last operation. */
        default void end() throws Exception {}
    }

    /** The locks of a session. */
    private static class Locks {
        static final int ENTRIES_PER_SAMPLE = 1000;
        private static final int PERMITS = 3;
        private static final int READS_AND_A_WRITE = 10;

        private final CuratorFramework client;
        private final String parent;
        /** Whether each thread has instances of its own. Threads that share one wake each other for each event. */
        private final boolean each;
        private final Map<String, Lock> shared = new HashMap<>();

        Locks(CuratorFramework client, String parent, boolean each) {
            this.client = client;
            this.parent = parent;
            this.each = each;
        }

        Lock lock(String scenario, String own) {
            switch (scenario) {
                case "mutex":
                    return shared(this::mutex);
                case "distinct":
                    return mutex(own);
                case "reentrant":
                    return new Reentrant(new InterProcessMutex(client, parent + own));
                case "rw":
                    return shared(this::readWrite);
                case "semaphore":
                    return shared(this::semaphore);
                case "multi":
                    return shared(this::multi);
                case "leader":
                    return this::lead;
                case "fresh":
                    return fresh(own, this::mutex);
                case "fresh-multi":
                    return fresh(own, this::multi);
                default:
                    throw new IllegalArgumentException(scenario);
            }
        }

        private Lock shared(Function<String, Lock> recipe) {
            return each ? recipe.apply("shared") : shared.computeIfAbsent("shared", recipe);
        }

        /** Returns locks that are taken once each. */
        private static Lock fresh(String own, Function<String, Lock> recipe) {
            AtomicInteger taken = new AtomicInteger();
            return (number, body, record) ->
                recipe.apply(own + "-" + taken.getAndIncrement()).operate(number, body, record);
        }

        private Lock mutex(String name) {
            return simple(new InterProcessMutex(client, parent + name));
        }

        private Lock multi(String name) {
            return simple(new InterProcessMultiLock(client, List.of(parent + name + "-a", parent + name + "-b")));
        }

        private Lock readWrite(String name) {
            InterProcessReadWriteLock locks = new InterProcessReadWriteLock(client, parent + name);
            Lock reader = simple(locks.readLock());
            Lock writer = simple(locks.writeLock());
            return (number, body, record) ->
                (number % READS_AND_A_WRITE == 0 ? writer : reader).operate(number, body, record);
        }

        private void lead(long number, Body body, Record record) throws Exception {
            LeaderLatch latch = new LeaderLatch(client, parent + "shared");
            latch.start();
            latch.await();
            body.run(record);
            latch.close();
        }

        private Lock semaphore(String name) {
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(client, parent + name, PERMITS);
            return (number, body, record) -> {
                Lease lease = semaphore.acquire();
                body.run(record);
                semaphore.returnLease(lease);
            };
        }

        private static Lock simple(InterProcessLock lock) {
            return (number, body, record) -> {
                lock.acquire();
                body.run(record);
                lock.release();
            };
        }
    }

    /** A lock that is held all the time, so that each operation enters it again. */
    private static class Reentrant implements Lock {
        private final InterProcessMutex mutex;

        Reentrant(InterProcessMutex mutex) {
            this.mutex = mutex;
        }

        @Override
        public void prepare() throws Exception {
            mutex.acquire();
        }

        @Override
        public void operate(long number, Body body, Record record) throws Exception {
            mutex.acquire();
            body.run(record);
            mutex.release();
            for (int entry = 1; entry < Locks.ENTRIES_PER_SAMPLE; entry++) {
                mutex.acquire();
                mutex.release();
            }
        }

        @Override
        public void end() throws Exception {
            mutex.release();
        }
    }
}
