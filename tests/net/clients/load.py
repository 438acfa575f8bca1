# SPDX-License-Identifier: MIT
"""The HTTP example under load, for minutes: load.py PROGRAM --minutes N --engine epoll|uring

Rounds of wrk with 100, 1,000 and 10,000 connections, beside clients that are slow, half open, or killed in the middle
of a request. After each round the server must be back at the descriptors that it had, and the second half of the rounds
must not need more memory than the first: at rest, because stacks give their pages back when nobody has needed them for a
second, and after a warm-up, because what once had 10,000 connections keeps tables for them. That is said of what the program
has of malloc, and of what is resident and not malloc's. What malloc keeps for itself of a burst is its own affair: it
goes up and down by a fifth from round to round, and up with each temporary worker, whose thread gets an arena. Prints
what it measured.
"""
import argparse
import re
import signal
import socket
import subprocess
import sys
import time

from program import Program, dropped, engines, raise_limit, read_answer, request

ROUND = ((100, 4), (1000, 4), (10000, 8))  # connections, seconds
SLOW = 40
HALF_OPEN = 100
KILLED = 4
WARM_UP = 12  # rounds of 10,000 connections
IDLE = 60  # seconds that the server waits for a client's next request


def wrk(server, connections, seconds):
    done = subprocess.run(["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "20s", server.url + "/"],
                          capture_output=True, text=True, timeout=seconds + 60, check=True, preexec_fn=raise_limit)
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done.stdout).group(1))
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", done.stdout)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    assert bad is None, done.stdout
    assert errors is None, done.stdout
    return rate


class Nuisance:
    """Clients that do not behave, for the time of a round."""

    def __init__(self, server):
        self.server = server
        self.slow = [server.connect() for _ in range(SLOW)]
        self.half_open = [server.connect() for _ in range(HALF_OPEN)]
        for number, client in enumerate(self.half_open):
            if number % 4 == 1:
                client.sendall(b"GET / HTTP/1.1\r\nHo")
            if number % 4 == 2:
                client.sendall(request("/length", "Content-Length: 1000", method="POST", body=b"x" * 10))
            if number % 4 == 3:
                client.sendall(b"GET / HTTP/1.1\r\n")
                client.shutdown(socket.SHUT_WR)
        self.killed = []
        self.text = request("/") * 100
        self.sent = 0

    def step(self):
        """Some bytes of the slow ones; some more who are killed in the middle of a body, or of an answer."""
        for client in self.slow:
            try:
                client.sendall(self.text[self.sent:self.sent + 3])
            except OSError:
                pass  # its time was up
        self.sent += 3
        for _ in range(KILLED):
            url = self.server.url + ("/echo" if len(self.killed) % 2 else "/length")
            sends = ["curl", "-s", "-o", "/dev/null", "--limit-rate", "50K", "--max-time", "60", "-T", "-",
                     "-H", "Transfer-Encoding: chunked", url]
            self.killed.append(subprocess.Popen(sends, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL))
            try:
                self.killed[-1].stdin.write(b"x" * 60000)
                self.killed[-1].stdin.flush()
            except OSError:
                pass
        for process in self.killed[:-KILLED]:
            self.end(process)
        del self.killed[:-KILLED]

    @staticmethod
    def end(process):
        process.send_signal(signal.SIGKILL)
        try:
            process.stdin.close()
        except OSError:
            pass
        process.wait()

    def close(self):
        for process in self.killed:
            self.end(process)
        for client in self.slow + self.half_open:
            client.close()


def settled(server, fds, dropped_before):
    """Waits until it has no more descriptors than that. A client whose last packet the kernel has dropped since then is
    gone without a word: its connection, and no other, may stay until the server's own idle time is over."""
    began = time.monotonic()
    limit = 30
    while server.fds() > fds:
        if time.monotonic() >= began + limit:
            more, lost, drops = server.fds() - fds, server.abandoned(), dropped() - dropped_before
            if limit == 30 and 0 < more <= lost and drops > 0:
                print(f"{lost} without another end, {drops} packets dropped: waiting for the idle time", flush=True)
                limit = IDLE + 15
                continue
            server.tell()
            raise AssertionError(f"{server.fds()} descriptors, {fds} before")
        time.sleep(0.05)


def resident_at_rest(server):
    """In KiB, once it has not fallen for three seconds."""
    end = time.monotonic() + 60
    least, since = server.resident_kib(), time.monotonic()
    while time.monotonic() < since + 3:
        assert time.monotonic() < end, "its memory falls and falls"
        time.sleep(0.1)
        now = server.resident_kib()
        if now < least * 0.99:
            least, since = now, time.monotonic()
    return least


def one_round(server, rates):
    nuisance = Nuisance(server)
    try:
        for connections, seconds in ROUND:
            nuisance.step()
            rates.setdefault(connections, []).append(wrk(server, connections, seconds))
            assert rates[connections][-1] > 0, f"no answer to any of {connections} connections"
        nuisance.step()
    finally:
        nuisance.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--engine", default="epoll")
    options = parser.parse_args()
    if options.engine not in engines():
        print(f"this kernel has no {options.engine}")
        return 77
    most = raise_limit()
    assert most > 10_500, f"10,000 connections need more descriptors than the limit of {most}"
    with Program(options.program, options.engine) as server:
        with server.connect() as client:  # so that all is there that it ever opens
            client.sendall(request("/"))
            read_answer(client)
            fds = server.fds() - 1  # without this one
        settled(server, fds, dropped())
        for _ in range(WARM_UP):
            before = dropped()
            wrk(server, 10000, 3)
            settled(server, fds, before)
        print(f"warm: {fds} fds, {resident_at_rest(server)} KiB resident", flush=True)
        rates = {}
        in_use = []  # of malloc's memory
        others = []  # resident, and not malloc's
        end = time.monotonic() + 60 * options.minutes
        while time.monotonic() < end or len(in_use) < 4:
            before = dropped()
            one_round(server, rates)
            settled(server, fds, before)
            resident = resident_at_rest(server)
            used, held = server.heap_kib()
            in_use.append(used)
            others.append(resident - held)
            print(f"round {len(in_use)}: {server.fds()} fds, {resident} KiB resident, {used} of malloc's {held} in use",
                  flush=True)
        for connections, measured in rates.items():
            measured.sort()
            print(f"{connections} connections: {measured[len(measured) // 2]:.0f} requests/s "
                  f"({measured[0]:.0f} to {measured[-1]:.0f})")
        middle = len(in_use) // 2
        for name, sizes, growth in ("in use at least", in_use, 1.02), ("beside malloc at least", others, 1.05):
            early, late = min(sizes[:middle]), min(sizes[middle:])
            print(f"{options.engine}: {len(sizes)} rounds, {name} {early} KiB in the first half, {late} in the second")
            assert late <= early * growth, "it has grown"
        # The end, with everybody there.
        nuisance = Nuisance(server)
        nuisance.step()
        server.ask_to_end()
        server.expect_end()
        nuisance.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
