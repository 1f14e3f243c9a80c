"""Asks hookbox's egress policy about each connection and each request that mitmproxy proxies.

mitmproxy goes on after an error in a hook. So a hook that fails must leave nothing allowed: only an address that the
policy has named for this connection is connected to (`server_connect`), and a request that was not checked is ended.
"""

import asyncio
import functools
import json
import os
import re
import resource
from collections import Counter

from mitmproxy import ctx, http
from mitmproxy.net.tls import starts_like_tls_record
from mitmproxy.proxy import commands, layers
from mitmproxy.proxy.layers import websocket
from mitmproxy.proxy.layers.http import HTTPMode, HttpStream, RequestData
from mitmproxy.proxy.layers.http._http1 import Http1Connection
from mitmproxy.proxy.layers.tls import ClientTLSLayer

SOCKET = os.environ.get("HOOKBOX_EGRESS_SOCKET", "/run/hookbox/egress.sock")
# The certificate authorities of servers, if they are not the public ones.
UPSTREAM_CA = os.environ.get("HOOKBOX_EGRESS_UPSTREAM_CA", "/etc/hookbox-upstream/ca.crt")
# Longest wait for an answer, in seconds.
PATIENCE = 15
# A refused request whose body is longer is ended without an answer, because the body would have to be read first.
MOST_REFUSED = 1024 * 1024
# Time between two reports of the number of connections, in seconds.
REPORT_INTERVAL = 5
# Limits of one sandbox, so that it does not use up what all of them share.
MOST_CONNECTIONS = 256
MOST_QUESTIONS = 8
# Most bytes of a request's head, and of the first message of TLS. mitmproxy itself has no limit.
MOST_HEAD = 64 * 1024
MOST_HELLO = 16 * 1024

AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[-_.0-9A-Za-z]+)(:[0-9]{1,5})?", re.ASCII)
CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class Refused(Exception):
    """A request is refused; `status` is for HTTP. The policy knows what it has answered itself."""

    def __init__(self, status, reason, is_known=False):
        super().__init__(reason)
        self.status = status
        self.is_known = is_known


class Client:
    """What is known of one connection of a sandbox."""

    def __init__(self, address, turns, report):
        self.address = address
        self.turns = turns
        self.sandbox = None
        # Where it may connect to: (address, port), and the name for TLS.
        self.granted = {}
        # The answer for its CONNECT, and the port that it has asked for; none until there is a connection to the server.
        self.asked = None
        self.tunnel = None
        self.port = None
        # Why its tunnel may not be used any more.
        self.broken = None
        # Tells the policy what the proxy itself has refused.
        self.report = report

    async def ask(self, host, port, encrypted=False):
        try:
            # mitmproxy shows such a name as people write it.
            host = host.encode("idna").decode() if not host.isascii() else host
        except UnicodeError as error:
            raise Refused(403, "the host is not a name") from error
        question = {"client": self.address, "host": host, "port": port, "encrypted": encrypted}
        if self.sandbox:
            question["sandbox"] = self.sandbox
        try:
            async with self.turns:
                answer = await asyncio.wait_for(exchange(question), PATIENCE)
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            raise Refused(503, "the egress policy does not answer", True) from error
        if not answer["allowed"]:
            raise Refused(answer["status"], answer["reason"], True)
        self.sandbox = answer["sandbox"]
        return answer

    def end_tunnel(self, reason):
        """Refuses what comes next in the tunnel."""
        self.broken = reason
        self.refused(403, reason, self.tunnel["host"], self.port)

    def refused(self, status, reason, host, port):
        refused = {"client": self.address, "host": host, "port": port, "status": status, "reason": reason}
        if self.sandbox:
            refused["sandbox"] = self.sandbox
        # A report that would have to wait is left out.
        if not self.turns.locked():
            start(self.tell(refused))

    async def tell(self, refused):
        async with self.turns:
            await self.report(refused)


async def exchange(question):
    reader, writer = await asyncio.open_unix_connection(SOCKET)
    try:
        writer.write(json.dumps(question).encode() + b"\n")
        answer = json.loads(await reader.readline())
        if not isinstance(answer, dict) or "allowed" not in answer:
            raise ValueError("not an answer")
        return answer
    finally:
        writer.close()


async def tell(report):
    """Reports to the policy, which does not answer. If it is not there, the report is lost."""
    try:
        _, writer = await asyncio.open_unix_connection(SOCKET)
        try:
            writer.write(json.dumps(report).encode() + b"\n")
            await writer.drain()
        finally:
            writer.close()
    except OSError:
        pass


def start(work, running=set()):
    """Starts a task, and keeps it: asyncio alone could forget it."""
    task = asyncio.get_running_loop().create_task(work)
    running.add(task)
    task.add_done_callback(running.discard)


def refusing(hook):
    """Ends a request if its hook fails."""

    @functools.wraps(hook)
    async def guarded(self, flow):
        try:
            try:
                await hook(self, flow)
            except Refused as refused:
                client, request = self.clients[flow.client_conn.id], flow.request
                if not refused.is_known and str(refused) != client.broken:
                    host, port = (client.tunnel["host"], client.port) if client.tunnel else (request.host, request.port)
                    client.refused(refused.status, str(refused), host, port)
                refuse(flow, refused.status, str(refused))
        except BaseException:
            flow.response = None
            flow.kill()
            raise

    return guarded


def refuse(flow, status, reason):
    flow.request.stream = False
    length = flow.request.headers.get("content-length")
    is_connect = flow.request.method == "CONNECT"
    if not is_connect and ("transfer-encoding" in flow.request.headers or int(length or 0) > MOST_REFUSED):
        flow.kill()
        return
    text = f"Refused by the egress proxy: {reason}\n"
    printable = "".join(char if " " <= char <= "~" and char not in '"\\' else "?" for char in reason)
    headers = {
        "content-type": "text/plain; charset=utf-8",
        # RFC 9209. Clients show the headers of a refused CONNECT, and not its body.
        "proxy-status": f'hookbox-egress; error=http_request_denied; details="{printable}"',
    }
    flow.response = http.Response.make(status, text.encode("utf-8", "replace"), headers)
    # Many clients show this text alone.
    flow.response.reason = printable


class Egress:
    def __init__(self):
        self.clients = {}
        # By address.
        self.connections = Counter()
        self.turns = {}

    def load(self, loader):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))

    def running(self):
        start(self.report_again())
        if os.path.exists(UPSTREAM_CA):
            ctx.options.update(ssl_verify_upstream_trusted_ca=UPSTREAM_CA)

    async def report(self, refused=None):
        report = {"connections": len(self.clients)}
        if refused:
            report["refused"] = refused
        await tell(report)

    async def report_again(self):
        while True:
            await self.report()
            await asyncio.sleep(REPORT_INTERVAL)

    def client_connected(self, client):
        # A socket for both families shows IPv4 addresses as IPv6 ones.
        address = client.peername[0].removeprefix("::ffff:")
        self.connections[address] += 1
        turns = self.turns.setdefault(address, asyncio.Semaphore(MOST_QUESTIONS))
        self.clients[client.id] = known = Client(address, turns, self.report)
        if self.connections[address] > MOST_CONNECTIONS:
            client.error = "too many connections"
            known.refused(429, client.error, "", 0)

    def client_disconnected(self, client):
        known = self.clients.pop(client.id, None)
        if not known:
            return
        self.connections[known.address] -= 1
        if self.connections[known.address] <= 0:
            del self.connections[known.address]
            self.turns.pop(known.address, None)

    @refusing
    async def http_connect(self, flow):
        client = self.clients[flow.client_conn.id]
        if client.tunnel:
            raise Refused(403, "a tunnel in a tunnel is not allowed")
        port = flow.request.port
        answer = await client.ask(flow.request.host, port)
        # What an earlier request was allowed does not count in a tunnel.
        client.granted.clear()
        client.asked = answer, port
        # mitmproxy connects to it at once.
        self.direct(client, flow.request, answer)

    def http_connected(self, flow):
        """After a failure, the connection goes on without a tunnel."""
        client = self.clients[flow.client_conn.id]
        client.tunnel, client.port = client.asked

    @staticmethod
    def direct(client, request, answer):
        request.data.host, request.data.port = answer["address"], answer["port"]
        client.granted[(answer["address"], answer["port"])] = answer["host"]

    def server_connect(self, data):
        """Every connection to a server passes here."""
        client = self.clients.get(data.client.id)
        name = client and client.granted.get(tuple(data.server.address[:2]))
        if not name or client.broken:
            data.server.error = (client and client.broken) or "not allowed by the egress policy"
            return
        data.server.sni = name

    def next_layer(self, nextlayer):
        """Decides what a tunnel may carry: TLS, HTTP, or anything if the policy names the port."""
        context = nextlayer.context
        client = self.clients.get(context.client.id)
        if not client or not client.tunnel:
            return
        data = nextlayer.data_client()
        if not context.client.tls and starts_like_tls_record(data):
            return
        if client.tunnel["raw"]:
            nextlayer.layer = layers.TCPLayer(context, ignore=True)
            return
        if not context.client.tls and (client.tunnel["inspect"] or client.port != 80):
            client.end_tunnel("only TLS is allowed on this port")
        nextlayer.layer = layers.HttpLayer(context, HTTPMode.transparent)

    def tls_clienthello(self, data):
        client = self.clients.get(data.context.client.id)
        if not client or not client.tunnel:
            return
        host = client.tunnel["host"]
        hello = data.client_hello
        name = (hello.sni or "").lower().rstrip(".")
        if not name and any(kind == 0 for kind, _ in hello.extensions):
            name = "a name that is invalid"
        if name and name != host and not client.tunnel["raw"]:
            # The request gets an answer that says so.
            client.end_tunnel(f"TLS is for {name}, but the tunnel is for {host}")
        elif not client.tunnel["inspect"]:
            data.ignore_connection = True

    @refusing
    async def requestheaders(self, flow):
        client = self.clients[flow.client_conn.id]
        request = flow.request
        if client.broken:
            raise Refused(403, client.broken)
        if request.method == "CONNECT":
            raise Refused(403, "a tunnel in a tunnel is not allowed")
        if request.method.upper() in ("TRACE", "TRACK"):
            raise Refused(403, f"{request.method} is not allowed: the answer would show the headers")
        if is_probe(flow):
            flow.response = http.Response.make(200, b"ok")
            return
        encrypted = request.scheme == "https"
        if client.tunnel:
            host, port = client.tunnel["host"], client.port
            if client.granted.get((request.data.host, request.data.port)) != host:
                raise Refused(403, "the request is not for the host of the connection")
            if encrypted and not client.tunnel["inspect"]:
                raise Refused(403, "the connection must not be read")
        elif encrypted:
            raise Refused(403, "use CONNECT for HTTPS")
        else:
            host, port = request.data.host, request.data.port
        check_form(request, host)
        answer = await client.ask(host, port, encrypted)
        if not encrypted and (answer["inspect"] or port == 443):
            raise Refused(403, "only TLS is allowed on this port")
        if not client.tunnel:
            self.direct(client, request, answer)
        for name, value in answer["headers"]:
            # For some servers, "_" and "-" are the same.
            for other in {each for each in request.headers if each.lower().replace("_", "-") == name.lower()}:
                del request.headers[other]
            request.headers[name] = value
        request.stream = True

    def responseheaders(self, flow):
        if flow.response and flow.response.raw_content is None:
            flow.response.stream = True


def is_probe(flow):
    """Whether the kubelet asks for the health of this process, at its own address."""
    host, port = flow.client_conn.sockname[:2]
    request = flow.request
    return request.path == "/healthz" and (request.data.host, request.data.port) == (host, port)


def check_form(request, host):
    """Refuses a request that servers could read in another way, and removes what the proxy does not support."""
    # Without a name, the server would choose one.
    request.host_header = request.host_header or host
    for name in filter(None, [request.host_header, request.authority]):
        if not AUTHORITY.fullmatch(name) or without_port(name) != host.lower().rstrip("."):
            raise Refused(403, f"the request is for {name}, but the connection is for {host}")
    # The target of the request has the path alone.
    request.authority = ""
    path = request.data.path
    if not path.startswith(b"/") and path != b"*":
        raise Refused(400, "the path does not begin with /")
    parts = [request.data.method, path, *(part for field in request.headers.fields for part in field)]
    if any(CONTROL.search(part) for part in parts):
        raise Refused(400, "a header has control characters")
    # Headers that this one names would be removed by the next proxy.
    tokens = [token.strip() for token in request.headers.get("connection", "").split(",")]
    kept = [token for token in tokens if token.lower() in ("close", "keep-alive", "upgrade")]
    request.headers.pop("connection", None)
    if kept:
        request.headers["connection"] = ", ".join(kept)
    if request.headers.get("upgrade", "websocket").lower() != "websocket":
        del request.headers["upgrade"]


def without_port(authority):
    name = authority.rsplit("]", 1)[0].lstrip("[") if authority.startswith("[") else authority.split(":", 1)[0]
    return name.lower().rstrip(".")


def limit_memory():
    """Sets limits that mitmproxy has no options for. A version without these methods does not start."""
    handle, consume, shake = (
        Http1Connection._handle_event,
        HttpStream.state_consume_request_body,
        ClientTLSLayer.receive_handshake_data,
    )

    def handle_event(self, event):
        yield from handle(self, event)
        if len(self.buf) > MOST_HEAD:
            self.buf.maybe_extract_at_most(len(self.buf))
            yield commands.CloseConnection(self.conn)

    def consume_request_body(self, event):
        # The body of a refused request is of no use.
        if not (isinstance(event, RequestData) and self.flow.response):
            yield from consume(self, event)

    def receive_handshake_data(self, data):
        if not self.client_hello_parsed and len(self.recv_buffer) + len(data) > MOST_HELLO:
            return False, "the first message of TLS is too long"
        return (yield from shake(self, data))

    # mitmproxy logs it by name.
    consume_request_body.__name__ = consume.__name__
    Http1Connection._handle_event = handle_event
    HttpStream.state_consume_request_body = consume_request_body
    ClientTLSLayer.receive_handshake_data = receive_handshake_data


def pass_websockets():
    """Passes the bytes of a WebSocket on, once the server has accepted it. mitmproxy would wait for the end of each
    message, and read compressed ones."""
    if not callable(websocket.WebsocketLayer):
        raise RuntimeError("mitmproxy has no WebsocketLayer")
    websocket.WebsocketLayer = lambda context, flow: layers.TCPLayer(context, ignore=True)


limit_memory()
pass_websockets()
addons = [Egress()]
