"""Checks a ZooKeeper server with kazoo, a client that knows nothing of zklock.

Argument: the address of the server. Each check prints one line, and the last line reports that all checks
passed. The first check that fails ends the script with a traceback.
"""

import contextlib
import faulthandler
import queue
import socket
import sys
import threading
import time
import uuid
from concurrent.futures import Future

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    BadVersionError,
    CancelledError,
    InvalidACLError,
    LockTimeout,
    NoAuthError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
)
from kazoo.protocol.states import EventType
from kazoo.recipe.watchers import ChildrenWatch, DataWatch
from kazoo.security import CREATOR_ALL_ACL, make_digest_acl

SOON = 20
CLIENTS = 4
ROUNDS = 5

# After this many seconds, the script prints a traceback, which shows the check that hangs, and ends.
HANGS_AFTER = 150


class Server:
    """The server, with a separate tree for one check."""

    def __init__(self, address):
        self.address = address
        self.root = f"/kazoo-{uuid.uuid4().hex}"

    @contextlib.contextmanager
    def client(self):
        with self.clients(1) as (client,):
            yield client

    @contextlib.contextmanager
    def clients(self, count, chroot=""):
        """Yields clients with a session each."""
        clients = [KazooClient(hosts=self.address + chroot, timeout=10) for _ in range(count)]
        try:
            for client in clients:
                client.start(timeout=SOON)
            yield clients
        finally:
            for client in clients:
                client.stop()
                client.close()


def wait_until(what, state):
    """Polls until the state is reached."""
    end = time.monotonic() + SOON
    while not state():
        assert time.monotonic() < end, f"never happened: {what}"
        time.sleep(0.01)


@contextlib.contextmanager
def raises(error):
    """Expects the body to raise this error."""
    try:
        yield
    except error:
        return
    raise AssertionError(f"{error.__name__} was not raised")


@contextlib.contextmanager
def threads():
    """Yields a function that starts threads, whose failures fail the check.

    A check that fails itself does not wait for them.
    """
    started = []

    def start(function, *arguments):
        future = Future()

        def run():
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        started.append(future)
        return future

    try:
        yield start
    except Exception:
        for future in started:
            if future.done():
                future.result()
        raise
    for future in started:
        future.result(timeout=SOON)


class Inside:
    """Counts the threads that are inside at the same time."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0

    def __enter__(self):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)

    def __exit__(self, *_):
        with self._lock:
            self._now -= 1


def increment(client, path):
    """Loses updates unless callers exclude each other."""
    value, _ = client.get(path)
    client.set(path, str(int(value) + 1).encode())


def number(client, path):
    return int(client.get(path)[0])


def nodes(server):
    with server.client() as client:
        assert client.exists(server.root) is None
        client.ensure_path(f"{server.root}/a/b")
        client.ensure_path(f"{server.root}/a/b")
        path = f"{server.root}/deep/er/node"
        with raises(NoNodeError):
            client.create(path, b"data")
        assert client.create(path, b"data", makepath=True) == path
        with raises(NodeExistsError):
            client.create(path)
        data, stat = client.get(path)
        assert (data, stat.version, stat.data_length) == (b"data", 0, 4)
        assert client.get_children(f"{server.root}/deep") == ["er"]
        children, stat = client.get_children(f"{server.root}/deep", include_data=True)
        assert (children, stat.numChildren) == (["er"], 1)
        with raises(NotEmptyError):
            client.delete(f"{server.root}/deep/er")
        client.delete(server.root, recursive=True)
        assert client.exists(server.root) is None
        with raises(NoNodeError):
            client.delete(path)


def versions(server):
    with server.client() as client:
        client.create(server.root, b"0")
        stat = client.set(server.root, b"1", version=0)
        assert stat.version == 1
        with raises(BadVersionError):
            client.set(server.root, b"2", version=0)
        with raises(BadVersionError):
            client.delete(server.root, version=0)
        assert client.get(server.root)[0] == b"1"
        client.delete(server.root, version=1)


def sequences(server):
    with server.client() as client:
        path = f"{server.root}/n-"
        created = [client.create(path, sequence=True, makepath=True) for _ in range(3)]
        assert created == [f"{path}{i:010}" for i in range(3)]
        made, stat = client.create(path, b"x", sequence=True, include_data=True)
        assert (made, stat.version) == (f"{path}0000000003", 0)


def ephemerals(server):
    with server.client() as watcher:
        gone = queue.Queue()
        with server.client() as owner:
            path = owner.create(f"{server.root}/e", ephemeral=True, makepath=True)
            assert watcher.exists(path, watch=gone.put).owner_session_id == owner.client_id[0]
            with raises(NoChildrenForEphemeralsError):
                owner.create(f"{path}/child")
        event = gone.get(timeout=SOON)
        assert (event.type, event.path) == (EventType.DELETED, path)


def watches(server):
    with server.clients(2) as (client, other):
        events = queue.Queue()
        assert client.exists(server.root, watch=events.put) is None
        other.create(server.root, b"a")
        assert events.get(timeout=SOON).type == EventType.CREATED
        client.get(server.root, watch=events.put)
        other.set(server.root, b"b")
        event = events.get(timeout=SOON)
        assert (event.type, event.path) == (EventType.CHANGED, server.root)
        client.get_children(server.root, watch=events.put)
        other.create(f"{server.root}/child")
        event = events.get(timeout=SOON)
        assert (event.type, event.path) == (EventType.CHILD, server.root)
        other.set(server.root, b"c")
        other.delete(f"{server.root}/child")
        client.sync(server.root)
        assert events.empty(), "a watch fires once"


def pipelines(server):
    with server.client() as client:
        client.create(server.root)
        path = f"{server.root}/n-"
        pending = [client.create_async(path, sequence=True) for _ in range(100)]
        listing = client.get_children_async(server.root)
        assert [p.get(timeout=SOON) for p in pending] == [f"{path}{i:010}" for i in range(100)]
        assert len(listing.get(timeout=SOON)) == 100


def transactions(server):
    with server.client() as client:
        client.create(server.root, b"0")
        transaction = client.transaction()
        transaction.check(server.root, 0)
        transaction.create(f"{server.root}/a", b"a")
        transaction.set_data(server.root, b"1")
        transaction.create(f"{server.root}/gone")
        transaction.delete(f"{server.root}/gone")
        results = transaction.commit()
        assert results[0] is True and results[1] == f"{server.root}/a", results
        assert results[2].version == 1 and results[4] is True, results
        assert client.get_children(server.root) == ["a"]

        transaction = client.transaction()
        transaction.create(f"{server.root}/b")
        transaction.check(server.root, 7)
        transaction.delete(f"{server.root}/a")
        kinds = [type(result) for result in transaction.commit()]
        assert kinds[:2] == [RolledBackError, BadVersionError], kinds
        assert client.get_children(server.root) == ["a"]


def data_watch(server):
    with server.clients(2) as (client, other):
        seen = queue.Queue()
        DataWatch(client, server.root, lambda data, stat: seen.put(data))
        assert seen.get(timeout=SOON) is None
        other.create(server.root, b"a")
        assert seen.get(timeout=SOON) == b"a"
        other.set(server.root, b"b")
        assert seen.get(timeout=SOON) == b"b"
        other.delete(server.root)
        assert seen.get(timeout=SOON) is None


def children_watch(server):
    with server.clients(2) as (client, other):
        other.create(server.root)
        seen = queue.Queue()
        ChildrenWatch(client, server.root, seen.put)
        assert seen.get(timeout=SOON) == []
        other.create(f"{server.root}/a")
        assert seen.get(timeout=SOON) == ["a"]
        other.create(f"{server.root}/b")
        assert sorted(seen.get(timeout=SOON)) == ["a", "b"]


def identities(server):
    acl = [make_digest_acl("ann", "secret", all=True)]
    with server.clients(2) as (ann, bob):
        ann.add_auth("digest", "ann:secret")
        ann.create(server.root, b"private", acl=acl)
        with raises(NoAuthError):
            bob.get(server.root)
        with raises(NoAuthError):
            bob.create(f"{server.root}/child")
        assert ann.get(server.root)[0] == b"private"
        assert ann.get_acls(server.root)[0] == acl
        bob.add_auth("digest", "ann:secret")
        assert bob.get(server.root)[0] == b"private"
        ann.set_acls(server.root, [make_digest_acl("ann", "secret", read=True)])
        with raises(NoAuthError):
            ann.set(server.root, b"changed")


def creator(server):
    """kazoo encodes the empty id of this ACL as a null string."""
    with server.clients(2) as (ann, bob):
        with raises(InvalidACLError):
            bob.create(server.root, acl=CREATOR_ALL_ACL)
        ann.add_auth("digest", "ann:secret")
        ann.create(server.root, acl=CREATOR_ALL_ACL)
        assert ann.get_acls(server.root)[0] == [make_digest_acl("ann", "secret", all=True)]
        ann.create(f"{server.root}/a", acl=CREATOR_ALL_ACL, include_data=True)
        transaction = ann.transaction()
        transaction.create(f"{server.root}/b", acl=CREATOR_ALL_ACL)
        assert transaction.commit() == [f"{server.root}/b"]
        ann.create(f"{server.root}/c")
        ann.set_acls(f"{server.root}/c", CREATOR_ALL_ACL)
        for name in "abc":
            with raises(NoAuthError):
                bob.get(f"{server.root}/{name}")


def sync(server):
    with server.clients(2) as (reader, writer):
        for i in range(20):
            writer.create(f"{server.root}/{i}", makepath=True)
            reader.sync(server.root)
            assert len(reader.get_children(server.root)) == i + 1


def chroot(server):
    with server.client() as client:
        client.create(server.root)
        with server.clients(1, chroot=server.root) as (rooted,):
            assert rooted.create("/a", b"x") == "/a"
        assert client.get(f"{server.root}/a")[0] == b"x"


def version(server):
    """kazoo reads the version from the answer to `envi`."""
    with server.client() as client:
        version = client.server_version()
        assert version[0] == 3 and len(version) == 3, version


def reconnect(server):
    with server.clients(2) as (client, other):
        states, seen = queue.Queue(), queue.Queue()
        path = client.create(server.root, b"a", ephemeral=True)
        DataWatch(client, path, lambda data, stat: seen.put(data))
        assert seen.get(timeout=SOON) == b"a"
        client.add_auth("digest", "ann:secret")
        session = client.client_id
        client.add_listener(states.put)
        # kazoo has no call that breaks a connection.
        client._connection._socket.shutdown(socket.SHUT_RDWR)
        assert states.get(timeout=SOON) == KazooState.SUSPENDED
        assert states.get(timeout=SOON) == KazooState.CONNECTED
        assert client.client_id == session
        assert other.exists(path).owner_session_id == session[0]
        other.set(path, b"b")
        wait_until("the watch goes on", lambda: seen.get(timeout=SOON) == b"b")
        client.create(f"{server.root}-mine", acl=[make_digest_acl("ann", "secret", all=True)])
        assert client.get(f"{server.root}-mine")[0] == b""


def lock_excludes(server):
    with server.clients(CLIENTS) as clients, threads() as start:
        inside, counter, path = Inside(), f"{server.root}-counter", server.root
        clients[0].create(counter, b"0")

        def contend(client):
            for _ in range(ROUNDS):
                with client.Lock(path), inside:
                    increment(client, counter)

        contenders = [start(contend, client) for client in clients]
        for contender in contenders:
            contender.result(timeout=SOON)
        assert inside.most == 1, f"{inside.most} held it at once"
        assert number(clients[0], counter) == CLIENTS * ROUNDS
        assert clients[0].get_children(path) == []


def lock_lists_contenders_and_serves_them_in_turn(server):
    with server.clients(3) as clients, threads() as start:
        order = []
        first, *others = (client.Lock(server.root, name) for client, name in zip(clients, "abc"))
        assert first.acquire(timeout=SOON)

        def contend(lock, name):
            with lock:
                order.append(name)

        for count, (lock, name) in enumerate(zip(others, "bc"), 2):
            start(contend, lock, name)
            wait_until("it contends", lambda: len(first.contenders()) == count)
        assert first.contenders() == ["a", "b", "c"]
        first.release()
        wait_until("all had their turn", lambda: order == ["b", "c"])


def lock_gives_up(server):
    with server.clients(2) as (holder, other), threads() as start:
        held = holder.Lock(server.root, "holder")
        assert held.acquire()
        assert not other.Lock(server.root).acquire(blocking=False)
        with raises(LockTimeout):
            other.Lock(server.root).acquire(timeout=0.2)
        cancelled = other.Lock(server.root, "cancelled")

        def contend():
            with raises(CancelledError):
                cancelled.acquire()

        waiting = start(contend)
        wait_until("it contends", lambda: held.contenders() == ["holder", "cancelled"])
        cancelled.cancel()
        waiting.result(timeout=SOON)
        assert held.contenders() == ["holder"]


def lock_is_handed_on_when_its_holder_stops(server):
    with server.client() as heir, threads() as start:
        lock = heir.Lock(server.root, "heir")
        with server.client() as holder:
            held = holder.Lock(server.root, "holder")
            assert held.acquire()
            inherited = start(lock.acquire)
            wait_until("it contends", lambda: held.contenders() == ["holder", "heir"])
            assert not inherited.done()
        assert inherited.result(timeout=SOON)
        assert lock.contenders() == ["heir"]
        lock.release()


def readers_share(server):
    with server.clients(3) as (one, other, third), threads() as start:
        readers = [one.ReadLock(server.root, "r1"), other.ReadLock(server.root, "r2")]
        for reader in readers:
            assert reader.acquire(timeout=SOON)
        writer = third.WriteLock(server.root, "w")
        assert not writer.acquire(blocking=False)
        writing = start(writer.acquire)
        wait_until("it contends", lambda: writer.contenders() == ["r1", "r2", "w"])
        readers[0].release()
        assert not readers[0].acquire(blocking=False), "a reader behind a writer waits"
        assert not writing.done()
        readers[1].release()
        assert writing.result(timeout=SOON)
        assert not readers[1].acquire(blocking=False)
        writer.release()
        assert readers[1].acquire(timeout=SOON)
        readers[1].release()


def writers_exclude(server):
    with server.clients(CLIENTS) as clients, threads() as start:
        inside, path, counter = Inside(), server.root, f"{server.root}-counter"
        clients[0].create(counter, b"0")

        def write(client):
            for _ in range(ROUNDS):
                with client.WriteLock(path), inside:
                    increment(client, counter)

        def read(client):
            for _ in range(ROUNDS):
                with client.ReadLock(path):
                    before = number(client, counter)
                    client.sync(counter)
                    assert number(client, counter) == before, "a writer wrote beside a reader"

        jobs = [start(job, client) for job, client in zip([write, read] * 2, clients)]
        for job in jobs:
            job.result(timeout=SOON)
        assert inside.most == 1, f"{inside.most} wrote at once"
        assert number(clients[0], counter) == 2 * ROUNDS


def semaphore(server):
    with server.clients(CLIENTS) as clients, threads() as start:
        path = server.root
        two = [client.Semaphore(path, f"s{i}", max_leases=2) for i, client in enumerate(clients[:2])]
        for permit in two:
            assert permit.acquire(timeout=SOON)
        third = clients[2].Semaphore(path, "s2", max_leases=2)
        assert not third.acquire(blocking=False)
        assert sorted(third.lease_holders()) == ["s0", "s1"]
        with raises(ValueError):
            clients[2].Semaphore(path, max_leases=3).acquire()
        waiting = start(third.acquire)
        two[0].release()
        assert waiting.result(timeout=SOON)
        assert sorted(third.lease_holders()) == ["s1", "s2"]
        two[1].release()
        third.release()

        inside = Inside()

        def contend(client):
            for _ in range(ROUNDS):
                with client.Semaphore(path, max_leases=2), inside:
                    client.sync(path)

        contenders = [start(contend, client) for client in clients]
        for contender in contenders:
            contender.result(timeout=SOON)
        assert 1 <= inside.most <= 2, f"{inside.most} held two permits"
        assert clients[0].get_children(path) == []


def semaphore_permit_is_handed_on_when_its_holder_stops(server):
    with server.client() as heir, threads() as start:
        with server.client() as holder:
            assert holder.Semaphore(server.root, "holder").acquire()
            permit = heir.Semaphore(server.root, "heir")
            inherited = start(permit.acquire)
            lock = f"{server.root}-__lock__"
            wait_until("it contends", lambda: holder.exists(lock) and holder.get_children(lock))
        assert inherited.result(timeout=SOON)
        assert permit.lease_holders() == ["heir"]
        permit.release()


def election(server):
    with server.clients(3) as clients, threads() as start:
        inside, order, proceed = Inside(), [], threading.Event()
        elections = [client.Election(server.root, name) for client, name in zip(clients, "abc")]

        def lead(name):
            with inside:
                assert proceed.wait(SOON)
                order.append(name)

        for count, (contest, name) in enumerate(zip(elections, "abc"), 1):
            start(contest.run, lead, name)
            wait_until("it contends", lambda: len(elections[0].contenders()) == count)
        assert elections[0].contenders() == ["a", "b", "c"]
        elections[1].cancel()
        wait_until("it withdraws", lambda: elections[0].contenders() == ["a", "c"])
        proceed.set()
        wait_until("the others had their turn", lambda: order == ["a", "c"])
        assert inside.most == 1, f"{inside.most} led at once"


CHECKS = [
    nodes,
    versions,
    sequences,
    ephemerals,
    watches,
    pipelines,
    transactions,
    data_watch,
    children_watch,
    identities,
    creator,
    sync,
    chroot,
    version,
    reconnect,
    lock_excludes,
    lock_lists_contenders_and_serves_them_in_turn,
    lock_gives_up,
    lock_is_handed_on_when_its_holder_stops,
    readers_share,
    writers_exclude,
    semaphore,
    semaphore_permit_is_handed_on_when_its_holder_stops,
    election,
]


def main():
    (address,) = sys.argv[1:]
    faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
    for check in CHECKS:
        check(Server(address))
        print(f"kazoo: {check.__name__.replace('_', ' ')} ok", flush=True)
    print("kazoo: all ok")


if __name__ == "__main__":
    main()
