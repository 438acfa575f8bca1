# SPDX-License-Identifier: MIT
"""The HTTP example as a program under test: started, watched, ended."""
import ctypes
import os
import re
import resource
import signal
import socket
import subprocess
import tempfile
import time


class Program:
    """`with Program(path, engine) as server:` server.port answers; at the end it must have exited with 0."""

    def __init__(self, path, engine):
        environment = dict(os.environ, WEFT_IO=engine, WEFT_DUMP_SIGNAL="1")
        self.process = subprocess.Popen([path, "0"], stdout=subprocess.PIPE, text=True, env=environment,
                                        preexec_fn=raise_limit)
        first = self.process.stdout.readline()
        found = re.match(r"listening on 127\.0\.0\.1:(\d+)$", first)
        assert found, f"the server said {first!r}"
        self.port = int(found.group(1))
        self.url = f"http://127.0.0.1:{self.port}"

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def ask_to_end(self):
        self.process.send_signal(signal.SIGTERM)

    def expect_end(self, seconds=20):
        output, _ = self.process.communicate(timeout=seconds)
        assert self.process.returncode == 0, f"the server ended with {self.process.returncode}"
        assert output == "ended in order\n", f"the server said {output!r}"

    def ends(self):
        """What the kernel knows of its connections, both ends: lines of its table."""
        port = f":{self.port:04X}"
        with open("/proc/net/tcp", encoding="ascii") as table:
            return [line for line in table if port in line and line.split()[3] not in ("06", "0A")]

    def abandoned(self):
        """How many of its connections the kernel holds open without another end: the client is gone, and the packet that
        said so was dropped. A reset is sent once."""
        ends = {tuple(line.split()[1:3]): line.split()[3] for line in self.ends()}
        mine = f":{self.port:04X}"
        return sum(here.endswith(mine) and state == "01" and (there, here) not in ends
                   for (here, there), state in ends.items())

    def tell(self):
        """Writes what the kernel knows of its connections, and has it write its tasks to stderr."""
        lines = self.ends()
        print(f"{len(lines)} ends of connections", *lines[:20], sep="\n", flush=True)
        self.process.send_signal(signal.SIGQUIT)
        time.sleep(2)

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1))

    def heap_kib(self):
        """What the program has of malloc, and what malloc has of the system. A debugger asks."""
        with tempfile.NamedTemporaryFile("r", encoding="ascii") as report:
            steps = [f'set $file = (void*)fopen("{report.name}", "w")', "call (int)malloc_info(0, $file)",
                     "call (int)fclose($file)"]
            subprocess.run(["gdb", "-p", str(self.process.pid), "-batch", *(word for step in steps for word in ("-ex", step))],
                           check=True, capture_output=True)
            total = report.read().rpartition("</heap>")[2]
        held = int(re.search(r'<system type="current" size="(\d+)"/>', total).group(1))
        free = sum(int(size) for size in re.findall(r'<total type="(?:fast|rest)" count="\d+" size="(\d+)"/>', total))
        return (held - free) // 1024, held // 1024

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if self.process.poll() is None:
            if kind is None:
                self.ask_to_end()
                self.expect_end()
            else:
                self.process.kill()
                self.process.wait()


def dropped():
    """Packets that the kernel has dropped between its ends, because its queue of them was full."""
    with open("/proc/net/softnet_stat", encoding="ascii") as table:
        return sum(int(line.split()[1], 16) for line in table)


def raise_limit():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


def request(path, *fields, method="GET", body=b""):
    lines = [f"{method} {path} HTTP/1.1", "Host: test", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def read_answer(client, data=b""):
    """Head and body of one answer with a Content-Length, and what came behind it; `data`: what came before."""
    while b"\r\n\r\n" not in data:
        piece = client.recv(65536)
        assert piece, f"it ended after {data!r}"
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(re.search(rb"Content-Length: (\d+)", head).group(1))
    while len(body) < length:
        piece = client.recv(65536)
        assert piece, "it ended in the middle of a body"
        body += piece
    return head.decode(), body[:length], body[length:]


def engines():
    """Those that this kernel lets us have."""
    parameters = ctypes.create_string_buffer(120)
    fd = ctypes.CDLL(None, use_errno=True).syscall(425, 1, parameters)  # io_uring_setup
    if fd < 0:
        return ["epoll"]
    os.close(fd)
    return ["epoll", "uring"]
