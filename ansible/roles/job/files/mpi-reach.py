#!/usr/bin/python3
"""mpi-reach KEYS ASKED: carries what mpirun wants done on other nodes from the job's container to theirs, by SSH.

The container puts NAME.ask into the folder ASKED: an address, a newline, a command. It gets NAME.out, NAME.err and then
NAME.code. KEYS holds id_ed25519, known_hosts and address, which is ours. The container may write what it likes into
ASKED: names are opened beneath that very folder, and links are not followed.
"""

import contextlib
import os
import subprocess
import sys
import threading
import time

PORT = 29522
LOOK_SECONDS = 0.2
LONGEST = 1 << 20
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW


class Reach:
    def __init__(self, keys, asked, ssh="ssh"):
        self.keys, self.ssh = keys, ssh
        self.seen = set()
        self.asked = os.open(asked, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        with open(os.path.join(keys, "address")) as f:
            self.address = f.read().strip()
        with open(os.path.join(keys, "known_hosts")) as f:
            self.nodes = {line[1:].partition("]")[0] for line in f if line.startswith("[")}

    def look(self):
        """Takes up what is asked for by now; returns the threads that see to it."""
        names = {n[:-4] for n in os.listdir(self.asked) if n.endswith(".ask")} - self.seen
        self.seen |= names
        threads = [threading.Thread(target=self.carry, args=(n, self.take(n + ".ask")), daemon=True) for n in names]
        for thread in threads:
            thread.start()
        return threads

    def take(self, name):
        try:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=self.asked)
            with os.fdopen(file, "rb") as f:
                return f.read(LONGEST)
        except OSError as error:  # a link, a folder: nobody whom we know asks so
            return f"{error}\n".encode()
        finally:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=self.asked)

    def carry(self, name, question):
        node, _, command = question.decode("utf-8", "surrogateescape").partition("\n")
        with self.new(name + ".out") as out, self.new(name + ".err") as err:
            if node in self.nodes:
                code = subprocess.run(self.argv(node, command), stdout=out, stderr=err, check=False).returncode
            else:
                err.write(f"trainrig: {node} is not another node of this rig\n".encode())
                code = 255
        with self.new(name + ".code.new") as file:
            file.write(f"{code}\n".encode())
        os.rename(name + ".code.new", name + ".code", src_dir_fd=self.asked, dst_dir_fd=self.asked)

    def new(self, name):
        return os.fdopen(os.open(name, NEW, 0o644, dir_fd=self.asked), "wb", buffering=0)

    def argv(self, node, command):
        options = {
            "BatchMode": "yes",
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "yes",
            "UserKnownHostsFile": os.path.join(self.keys, "known_hosts"),
            "GlobalKnownHostsFile": "/dev/null",
            "BindAddress": self.address,
            "ConnectTimeout": "10",
            "ServerAliveInterval": "5",
            "LogLevel": "ERROR",
        }
        words = [self.ssh, "-n", "-T", "-F", "none", "-i", os.path.join(self.keys, "id_ed25519"), "-p", str(PORT)]
        for name, value in options.items():
            words += ["-o", f"{name}={value}"]
        return [*words, f"root@{node}", "--", command]


def main(words):
    os.umask(0o022)
    reach = Reach(*words)
    while True:
        reach.look()
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
