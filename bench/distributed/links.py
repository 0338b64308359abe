"""Network namespaces that a bridge joins: one per rank, as if each were a machine. Needs root and iproute2."""
import itertools
import os
import subprocess

import jobs

INTERFACE = "link0"  # in every namespace
HEADERS = 66  # bytes of Ethernet, IP and TCP (with timestamps) in a packet
numbers = itertools.count()  # interfaces of the network before may still be there


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"measure.py: ip {' '.join(words)}: {done.stderr.strip()}; this needs root and network "
                         f"namespaces")


class Network:
    """`size` namespaces; `mbit`: the rate at which each sends, unlimited if None. Without a rate, segmentation offload
    is off, so that the interfaces count the headers of every packet; with one it is on, as it saves processor time."""

    def __init__(self, size, mbit=None, mtu=1500):
        self.size, self.mbit, self.mtu = size, mbit, mtu
        self.tag = f"b{os.getpid() % 100000}{next(numbers)}"

    def name(self, rank):
        return f"{self.tag}n{rank}"

    def __enter__(self):
        self.made = []
        try:
            ip("link", "add", self.tag, "type", "bridge")
            ip("link", "set", self.tag, "up")
            for rank in range(self.size):
                self.add(rank)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, rank):
        space, outer = self.name(rank), f"{self.tag}v{rank}"
        ip("netns", "add", space)
        self.made.append(space)
        ip("link", "add", outer, "type", "veth", "peer", "name", INTERFACE, "mtu", str(self.mtu), "netns", space)
        ip("link", "set", outer, "mtu", str(self.mtu))
        ip("link", "set", outer, "master", self.tag, "up")
        ip("-n", space, "addr", "add", f"10.77.0.{rank + 1}/24", "dev", INTERFACE)
        if not self.mbit:
            ip("-n", space, "link", "set", INTERFACE, "gso_max_segs", "1")
        ip("-n", space, "link", "set", INTERFACE, "up")
        ip("-n", space, "link", "set", "lo", "up")
        if self.mbit:
            subprocess.run(["ip", "netns", "exec", space, "tc", "qdisc", "add", "dev", INTERFACE, "root", "tbf", "rate",
                            f"{self.mbit}mbit", "burst", "256k", "latency", "50ms"], check=True)

    def __exit__(self, *_):
        for space in self.made:
            subprocess.run(["ip", "netns", "del", space], check=False)
        subprocess.run(["ip", "link", "del", self.tag], check=False)

    def run(self, command):
        return jobs.run(command, self.size, [["ip", "netns", "exec", self.name(r)] for r in range(self.size)],
                        "10.77.0.1", TANDEM_INTERFACE=INTERFACE)
