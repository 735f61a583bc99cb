import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * One process of a campaign that takes its locks with Curator, and writes the same history as the others:
 * `Contender CONNECT SESSION_MS NAMESPACE HISTORY DIRECTORY NUMBER INCARNATION TASKS SEED OFFSET WORKLOAD…`.
 *
 * OFFSET is the time by which the clock of the histories is ahead of `System.nanoTime()`. The process works until its
 * input says `stop`, keeps its session until the input says `end`, and ends at once with its input.
 */
public class Contender {
    static CuratorFramework client;
    static String namespace;
    static Path directory;
    static long number;
    static long incarnation;
    static History history;
    static volatile boolean stopped;

    public static void main(String[] arguments) throws Exception {
        namespace = arguments[2];
        directory = Path.of(arguments[4]);
        number = Long.parseLong(arguments[5]);
        incarnation = Long.parseLong(arguments[6]);
        history = new History(arguments[3], Long.parseLong(arguments[9]));
        Thread input = new Thread(Contender::obey);
        input.setDaemon(true);
        input.start();
        client = CuratorFrameworkFactory.newClient(
            arguments[0], Integer.parseInt(arguments[1]), 3_000, new ExponentialBackoffRetry(100, 5));
        client.getConnectionStateListenable().addListener((source, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                history.suspend();
            }
        });
        client.start();
        List<Thread> threads = new ArrayList<>();
        int tasks = Integer.parseInt(arguments[7]);
        for (int nth = 10; nth < arguments.length; nth++) {
            for (int one = 0; one < tasks; one++) {
                Random random = new Random(Long.parseLong(arguments[8]) * 31 + number * 7919 + threads.size());
                threads.add(new Thread(new Task(arguments[nth], threads.size(), random)));
            }
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        Files.createFile(directory.resolve("rest-" + number + "." + incarnation));
        input.join();
        client.close();
        Runtime.getRuntime().halt(0);
    }

    private static void obey() {
        try {
            BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
            if (words.readLine() != null) {
                stopped = true;
                if (words.readLine() != null) {
                    return;
                }
            }
        } catch (IOException gone) {
            // The same as the end of the input.
        }
        Runtime.getRuntime().halt(3);
    }
}

/** The history of this process, and the holds that a broken connection ends. */
class History {
    private final OutputStream file;
    private final long offset;
    private final Set<String> holds = ConcurrentHashMap.newKeySet();

    History(String path, long offset) throws IOException {
        file = new FileOutputStream(path);
        this.offset = offset;
    }

    long now() {
        return System.nanoTime() + offset;
    }

    void note(String call, String event) {
        String line = "{\"at\":" + now() + ",\"by\":\"" + call + "\"," + event + "}\n";
        try {
            synchronized (this) {
                file.write(line.getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException error) {
            // A hold without a record could hide an overlap.
            Runtime.getRuntime().halt(4);
        }
    }

    void failed(String call, String is, String field, Exception error) {
        String text = error.toString().replaceAll("[^A-Za-z0-9 .:=/_-]", " ");
        note(call, field.equals("why") ? "\"is\":\"" + is + "\",\"why\":{\"error\":\"" + text + "\"}"
            : "\"is\":\"" + is + "\",\"" + field + "\":\"" + text + "\"");
    }

    /** Notes a grant, after which a broken connection ends the hold. */
    void granted(String call) {
        holds.add(call);
        note(call, "\"is\":\"granted\"");
        if (!Contender.client.getZookeeperClient().isConnected()) {
            suspend();
        }
    }

    /** Returns whether the connection has not broken since the grant. */
    boolean isHeld(String call) {
        return holds.contains(call);
    }

    void released(String call) {
        holds.remove(call);
        note(call, "\"is\":\"release_begun\"");
    }

    void suspend() {
        for (String call : holds) {
            if (holds.remove(call)) {
                note(call, "\"is\":\"suspended\"");
            }
        }
    }
}

/** One thread, which takes the locks of one kind of work. */
class Task implements Runnable {
    private static final int WAIT_MS = 8_000;
    private static final int CELL = 20;

    private final String workload;
    private final long number;
    private final Random random;
    private long calls;
    private String call;

    Task(String workload, long number, Random random) {
        this.workload = workload;
        this.number = number;
        this.random = random;
    }

    @Override
    public void run() {
        while (!Contender.stopped) {
            try {
                once();
                Thread.sleep(random.nextInt(60));
            } catch (Exception error) {
                error.printStackTrace();
                // The campaign reports a process that ends by itself.
                Runtime.getRuntime().halt(5);
            }
        }
    }

    private void once() throws Exception {
        switch (workload) {
            case "register":
                mutex("/register-" + random.nextInt(3), true);
                break;
            case "fenced-register":
                mutex("/fenced-" + random.nextInt(3), false);
                break;
            case "guarded":
                mutex("/guarded-" + random.nextInt(3), false);
                break;
            case "multi":
                mutex("/pair-" + "abc".charAt(random.nextInt(3)), true);
                break;
            case "leader":
                mutex("/job", false);
                break;
            case "fairness":
                mutex("/fairness", false);
                break;
            case "read-write":
                table();
                break;
            default:
                permit();
        }
    }

    private void mutex(String lock, boolean writes) throws Exception {
        hold(lock, "\"mutex\"", new InterProcessMutex(Contender.client, Contender.namespace + lock), () -> {
            String resource = lock.substring(1);
            if (writes) {
                read(resource, 1);
            }
            work();
            if (writes && Contender.history.isHeld(call)) {
                write(resource, 1);
            }
        });
    }

    private void table() throws Exception {
        InterProcessReadWriteLock locks =
            new InterProcessReadWriteLock(Contender.client, Contender.namespace + "/table");
        if (random.nextInt(4) == 0) {
            hold("/table", "\"write\"", locks.writeLock(), () -> {
                work();
                if (Contender.history.isHeld(call)) {
                    write("table", 2);
                }
            });
        } else {
            hold("/table", "\"read\"", locks.readLock(), () -> {
                work();
                read("table", 2);
            });
        }
    }

    private void hold(String lock, String kind, InterProcessLock mutex, Body body) throws Exception {
        asks(lock, kind);
        try {
            if (!mutex.acquire(WAIT_MS, TimeUnit.MILLISECONDS)) {
                Contender.history.note(call, "\"is\":\"gave_up\",\"why\":\"timed_out\"");
                return;
            }
        } catch (Exception error) {
            Contender.history.failed(call, "gave_up", "why", error);
            return;
        }
        Contender.history.granted(call);
        body.run();
        Contender.history.released(call);
        try {
            mutex.release();
            Contender.history.note(call, "\"is\":\"released\"");
        } catch (Exception error) {
            Contender.history.failed(call, "release_failed", "text", error);
        }
    }

    private void permit() throws Exception {
        asks("/permits", "{\"permits\":{\"n\":1,\"of\":3}}");
        InterProcessSemaphoreV2 semaphore =
            new InterProcessSemaphoreV2(Contender.client, Contender.namespace + "/permits", 3);
        Lease lease;
        try {
            lease = semaphore.acquire(WAIT_MS, TimeUnit.MILLISECONDS);
        } catch (Exception error) {
            Contender.history.failed(call, "gave_up", "why", error);
            return;
        }
        if (lease == null) {
            Contender.history.note(call, "\"is\":\"gave_up\",\"why\":\"timed_out\"");
            return;
        }
        Contender.history.granted(call);
        work();
        Contender.history.released(call);
        semaphore.returnLease(lease);
        Contender.history.note(call, "\"is\":\"released\"");
    }

    private void asks(String lock, String kind) {
        call = Contender.number + "." + Contender.incarnation + "/" + number + "/" + calls++;
        Contender.history.note(call,
            "\"is\":\"asked\",\"lock\":\"" + lock + "\",\"kind\":" + kind + ",\"library\":\"curator\"");
    }

    private void work() throws InterruptedException {
        Thread.sleep(workload.equals("fairness") ? 50 : 1 + random.nextInt(20));
    }

    private void read(String resource, int cells) throws Exception {
        long began = Contender.history.now();
        List<String> found = new ArrayList<>();
        try (RandomAccessFile file = open(resource)) {
            for (int cell = 0; cell < cells; cell++) {
                file.seek((long) cell * CELL);
                byte[] text = new byte[CELL];
                found.add(file.read(text) <= 0 ? "0" : new String(text, StandardCharsets.UTF_8).trim());
                Thread.sleep(2 * (cells - 1));
            }
        }
        Contender.history.note(call, "\"is\":\"read\",\"resource\":\"" + resource + "\",\"began\":" + began
            + ",\"cells\":" + found);
    }

    private void write(String resource, int cells) throws Exception {
        long began = Contender.history.now();
        long value = Contender.number << 54 | Contender.incarnation << 42 | number << 34 | calls;
        try (RandomAccessFile file = open(resource)) {
            for (int cell = 0; cell < cells; cell++) {
                file.seek((long) cell * CELL);
                file.write(String.format("%19d\n", value).getBytes(StandardCharsets.UTF_8));
                Thread.sleep(2 * (cells - 1));
            }
        }
        Contender.history.note(call, "\"is\":\"wrote\",\"resource\":\"" + resource + "\",\"way\":\"plain\",\"began\":"
            + began + ",\"value\":" + value + ",\"outcome\":\"applied\"");
    }

    private static RandomAccessFile open(String resource) throws IOException {
        return new RandomAccessFile(Contender.directory.resolve(resource).toFile(), "rw");
    }

    /** The work under a lock. */
    interface Body {
        void run() throws Exception;
    }
}
