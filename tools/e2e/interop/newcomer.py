"""Takes kazoo's locks, as orders on the standard input say: `newcomer.py SERVER`.

Each line is `LOCK PATH RECORD`, where LOCK is `exclusive`, `read` or `write`. It is answered by `ok`, or by the error.
A section is recorded in the file RECORD while the lock is held.
"""

import sys

from kazoo.client import KazooClient
from kazoo.recipe.lock import Lock, ReadLock, WriteLock

# The nodes of zklock that a lock waits for, besides those of kazoo.
LOCKS = {
    "exclusive": (Lock, ["-lock-"]),
    "read": (ReadLock, ["__WRIT__"]),
    "write": (WriteLock, ["__WRIT__", "__READ__"]),
}


def take(client, mode, path, record):
    recipe, patterns = LOCKS[mode]
    lock = recipe(client, path, "kazoo", extra_lock_patterns=patterns)
    assert lock.acquire(timeout=20)
    note(record, "enter", mode)
    note(record, "leave", mode)
    assert lock.release()


def note(record, step, mode):
    with open(record, "a") as file:
        file.write(f"{step} kazoo {mode}\n")


client = KazooClient(hosts=sys.argv[1], timeout=10)
client.start(timeout=20)
print("ready", flush=True)
for line in sys.stdin:
    try:
        take(client, *line.split())
        print("ok", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
