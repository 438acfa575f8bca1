# SPDX-License-Identifier: MIT
"""curl and raw sockets against the HTTP example: curl_test.py PROGRAM [ENGINE...]"""
import subprocess
import sys
import tempfile
import time

from program import Program, engines, read_answer, request


def curl(*arguments, feed=None):
    done = subprocess.run(["curl", "--silent", "--show-error", "--max-time", "20", *arguments], input=feed,
                          capture_output=True, timeout=30, check=False)
    assert done.returncode == 0, f"curl {arguments}: {done.returncode}, {done.stderr.decode()}"
    return done.stdout.decode()


def check(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def with_curl(server):
    # One connection for three requests.
    written = curl("-w", "%{http_code} %{num_connects};", server.url, server.url + "/none", server.url + "/slow?1")
    check(written, "Hello, world!\n200 1;nothing here\n404 0;slow\n200 0;")
    check(curl("--http1.0", server.url), "Hello, world!\n")
    head = curl("-I", server.url)
    assert head.startswith("HTTP/1.1 200 OK\r\n") and "Content-Length: 14\r\n" in head, head

    text = b"some bytes " * 50_000
    chunked = ("-H", "Transfer-Encoding: chunked", "-T", "-")
    check(curl(*chunked, server.url + "/length", feed=text), f"{len(text)}\n")
    check(curl(*chunked, server.url + "/echo", feed=text), text.decode())
    check(curl("--data-binary", "@-", server.url + "/echo", feed=text), text.decode())
    check(curl("-H", "Expect: 100-continue", "--data-binary", "@-", server.url + "/length", feed=text), f"{len(text)}\n")

    with tempfile.NamedTemporaryFile() as large:
        large.write(b"x" * 3_000_000)
        large.flush()
        code = ("-o", "/dev/null", "-w", "%{http_code}")
        check(curl(*code, "--data-binary", "@" + large.name, server.url + "/length"), "413")
        check(curl(*code, "-H", "Transfer-Encoding: chunked", "-T", large.name, server.url + "/length"), "413")
    check(curl("-o", "/dev/null", "-w", "%{http_code}", "-H", "X: " + "y" * 20_000, server.url), "431")


def with_sockets(server):
    with server.connect() as client:
        client.sendall(request("/") + request("/length", "Content-Length: 3", method="POST", body=b"abc") + request("/no"))
        rest = b""
        for status, body in (("200 OK", b"Hello, world!\n"), ("200 OK", b"3\n"), ("404 Not Found", b"nothing here\n")):
            head, got, rest = read_answer(client, rest)
            assert head.startswith("HTTP/1.1 " + status), head
            check(got, body)
        check(rest, b"")
    with server.connect() as client:
        client.sendall(request("/", "Content-Length: 3", "Transfer-Encoding: chunked"))
        head, _, _ = read_answer(client)
        assert head.startswith("HTTP/1.1 400 ") and "Connection: close" in head, head
        check(client.recv(1), b"")


def drained(server):
    """SIGTERM while a request is under way: it is answered, who rests is ended, and the program exits with 0."""
    resting = server.connect()
    working = server.connect()
    for client in (resting, working):
        client.sendall(request("/"))
        read_answer(client)
    working.sendall(request("/slow?300"))
    server.ask_to_end()
    began = time.monotonic()
    check(resting.recv(1), b"")
    head, body, _ = read_answer(working)
    check(body, b"slow\n")
    assert "Connection: close" in head, head
    check(working.recv(1), b"")
    server.expect_end()
    took = time.monotonic() - began
    assert took < 4, f"the end took {took} s"
    try:
        server.connect()
        raise AssertionError("somebody still listens")
    except ConnectionRefusedError:
        pass


def main():
    for engine in sys.argv[2:] or engines():
        with Program(sys.argv[1], engine) as server:
            with_curl(server)
            with_sockets(server)
            drained(server)


main()
