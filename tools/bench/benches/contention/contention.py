"""Measures kazoo's lock as the benchmark `contention` measures zklock's: `contention.py NAME=VALUE...`.

Each session is a process of its own, because the threads of one Python process share its processor time. Each task is a
thread. One line on standard output has the result.
"""

import itertools
import math
import multiprocessing
import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from kazoo.client import KazooClient

SESSION_SECONDS = 30
WARM_UP_SECONDS = 1
EVENTS = ["created", "deleted", "changed", "children"]


def main():
    options = dict(argument.split("=", 1) for argument in sys.argv[1:])
    sessions = int(options["sessions"])
    context = multiprocessing.get_context("fork")
    ready, go, results = context.Semaphore(0), context.Event(), context.Queue()
    ends = context.Value("d", 0.0)
    arguments = (options, ready, go, ends, results)
    processes = [context.Process(target=contend, args=(number, *arguments)) for number in range(sessions)]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    before = counters(options["server"])
    start = time.monotonic()
    ends.value = start + float(options["nanos"]) / 1e9
    go.set()
    records = [results.get() for _ in processes]
    elapsed = max(end for _, _, end in records) - start
    after = counters(options["server"])
    for process in processes:
        process.join()
    print(line(options, records, elapsed, before, after), flush=True)


def contend(number, options, ready, go, ends, results):
    client = KazooClient(hosts=options["server"], timeout=SESSION_SECONDS)
    client.start()
    tasks = int(options["tasks"])
    locks = [each_lock(client, options, "%d-%d" % (number, task)) for task in range(tasks)]
    with ThreadPoolExecutor(tasks) as threads:
        warm = time.monotonic() + WARM_UP_SECONDS
        list(threads.map(lambda own: repeat(own, warm), locks))
        ready.release()
        go.wait()
        operations = list(itertools.chain(*threads.map(lambda own: repeat(own, ends.value), locks)))
    ended = time.monotonic()
    # The requests that end the session come after the count.
    results.put((number, operations, ended))
    client.stop()
    client.close()


def each_lock(client, options, own):
    """Returns the lock of each operation of a task."""
    scenario, parent = options["scenario"], options["namespace"] + "/locks/"
    if scenario == "fresh":
        return (client.Lock("%s%s-%d" % (parent, own, number), own) for number in itertools.count())
    return itertools.repeat(client.Lock(parent + ("shared" if scenario == "mutex" else own), own))


def repeat(locks, end):
    operations = []
    while time.monotonic() < end:
        operations.append(operate(next(locks)))
    return operations


def operate(lock):
    """Returns the times of the call, of the acquisition and of the end, on a clock that all processes share."""
    start = time.monotonic()
    lock.acquire()
    acquired = time.monotonic()
    lock.release()
    return start, acquired, time.monotonic()


def line(options, records, elapsed, before, after):
    operations = [operation for _, of_session, _ in records for operation in of_session]
    latencies = sorted(end - start for start, _, end in operations)
    count = len(latencies)
    # The second question is itself counted.
    requests = (after["requests"] - before["requests"] - 1) / count
    events = "-" if None in (before["events"], after["events"]) else "%.2f" % (
        (after["events"] - before["events"]) / count)
    percentiles = [1e6 * latencies[math.ceil(count * part / 1000) - 1] for part in (500, 900, 990, 999)]
    wait = max(acquired - start for start, acquired, _ in operations)
    return (
        "kazoo %s sessions=%s tasks=%s ops=%d secs=%.3f ops_per_s=%.0f p50_us=%.3f p90_us=%.3f p99_us=%.3f "
        "p999_us=%.3f requests_per_op=%.2f events_per_op=%s longest_run=%s longest_wait_ms=%.1f" % (
            options["scenario"], options["sessions"], options["tasks"], count, elapsed, count / elapsed, *percentiles,
            requests, events, longest_run(records) if options["shared"] == "true" else "-", 1e3 * wait))


def longest_run(records):
    """Returns the longest run of one session before the first of them ended."""
    contended = min(end for _, _, end in records)
    acquisitions = sorted((acquired, number) for number, operations, _ in records for _, acquired, _ in operations)
    longest, run, last = 0, 0, None
    for acquired, number in acquisitions:
        if acquired > contended:
            break
        run = run + 1 if number == last else 1
        longest, last = max(longest, run), number
    return longest


def counters(server):
    """Returns the requests that the server has received, and the watches that have fired if it counts them."""
    host, port = server.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"mntr")
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
    values = dict(line.split("\t", 1) for line in answer.splitlines() if "\t" in line)
    fired = [values.get("zk_sum_node_%s_watch_count" % kind) for kind in EVENTS]
    return {
        "requests": int(values["zk_packets_received"]),
        "events": None if None in fired else sum(int(count) for count in fired),
    }


if __name__ == "__main__":
    main()
