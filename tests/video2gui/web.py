"""A web server on the loopback address that answers what a test tells it to, faults included."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

#: Begins like an MP4 file; what fetches it does not decode it.
VIDEO = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom" + bytes(range(256)) * 400

Answer = Callable[["Visit"], None]


class Visit(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.web.visits.append(self)
        answers = self.server.web.answers.get(path)
        self.close_connection = True
        if not answers:
            return self.reply(404, b"nothing here", "text/plain")
        # the last answer is given for ever
        return (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    do_HEAD = do_GET

    def reply(self, status: int, body: bytes, content_type: str, **headers: str) -> None:
        self.start(status, {"Content-Type": content_type, "Content-Length": str(len(body))} | headers)
        self.wfile.write(body)

    def start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Connection", "close")
        self.end_headers()

    def reset(self) -> None:
        """End the connection with a TCP reset."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None: ...


class Server(ThreadingHTTPServer):
    daemon_threads = True
    web: Web

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed leaves a broken pipe: no news."""


@dataclass
class Web:
    """The pages of the server: answers by path, one after the other, and who came."""

    url: str
    answers: dict[str, list[Answer]] = field(default_factory=dict)
    visits: list[Visit] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def put(self, path: str, *answers: Answer) -> str:
        self.answers[path] = list(answers)
        return self.url + path

    def count(self, path: str) -> int:
        return sum(visit.path.partition("?")[0] == path for visit in self.visits)


@contextmanager
def serve() -> Iterator[Web]:
    server = Server(("127.0.0.1", 0), Visit)
    server.web = web = Web(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield web
    finally:
        web.stop.set()
        server.shutdown()
        server.server_close()
        thread.join()


def page(text: str, content_type: str = "text/html; charset=utf-8", status: int = 200, **headers: str) -> Answer:
    return lambda visit: visit.reply(status, text.encode(), content_type, **headers)


def video(body: bytes = VIDEO, content_type: str = "video/mp4") -> Answer:
    return lambda visit: visit.reply(200, body, content_type)


def ranged_video(body: bytes = VIDEO) -> Answer:
    """A server that can go on where it stopped."""

    def answer(visit: Visit) -> None:
        wanted = visit.headers.get("Range")
        if wanted is None:
            return visit.reply(200, body, "video/mp4", Accept_Ranges="bytes")
        start = int(wanted.removeprefix("bytes=").partition("-")[0])
        place = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return visit.reply(206, body[start:], "video/mp4", Content_Range=place)

    return answer


def status(code: int, **headers: str) -> Answer:
    return lambda visit: visit.reply(code, b"no", "text/plain", **headers)


def broken_off(body: bytes, declared: int, *, reset: bool = False) -> Answer:
    """Declares a length, sends `body` and ends."""

    def answer(visit: Visit) -> None:
        visit.start(200, {"Content-Type": "video/mp4", "Content-Length": str(declared)})
        visit.wfile.write(body)
        if reset:
            visit.reset()

    return answer


def stalled(body: bytes = VIDEO[:1000]) -> Answer:
    """Declares more, sends a little, and then nothing until the test ends."""

    def answer(visit: Visit) -> None:
        visit.start(200, {"Content-Type": "video/mp4", "Content-Length": str(len(VIDEO))})
        visit.wfile.write(body)
        visit.wfile.flush()
        visit.server.web.stop.wait(30)

    return answer


def endless(content_type: str = "video/mp4") -> Answer:
    """Sends without an end and without a length."""

    def answer(visit: Visit) -> None:
        visit.start(200, {"Content-Type": content_type})
        try:
            visit.wfile.write(VIDEO)
            while not visit.server.web.stop.is_set():
                visit.wfile.write(bytes(65536))
        except OSError:
            return

    return answer


def redirect(to: str) -> Answer:
    return lambda visit: visit.reply(302, b"", "text/plain", Location=to)
