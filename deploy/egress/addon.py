"""Asks hookbox's egress policy about each connection and each request that mitmproxy proxies.

mitmproxy goes on after an error in a hook. So a hook that fails must leave nothing allowed: only an address that the
policy has named for this connection is connected to (`server_connect`), and a request that was not checked is ended.
"""

import asyncio
import functools
import json
import os

from mitmproxy import ctx, http
from mitmproxy.net.tls import starts_like_tls_record
from mitmproxy.proxy import layers
from mitmproxy.proxy.layers.http import HTTPMode

SOCKET = os.environ.get("HOOKBOX_EGRESS_SOCKET", "/run/hookbox/egress.sock")
# The certificate authorities of servers, if they are not the public ones.
UPSTREAM_CA = os.environ.get("HOOKBOX_EGRESS_UPSTREAM_CA", "/etc/hookbox-upstream/ca.crt")
# Longest wait for an answer, in seconds.
PATIENCE = 15
# A refused request whose body is longer is ended without an answer, because the body would have to be read first.
MOST_REFUSED = 1024 * 1024


class Refused(Exception):
    """The policy refuses; `status` is for HTTP."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class Client:
    """What is known of one connection of a sandbox."""

    def __init__(self, address):
        self.address = address
        self.sandbox = None
        # Where it may connect to: (address, port), and the name for TLS.
        self.granted = {}
        # The answer for its CONNECT, and the port that it has asked for.
        self.tunnel = None
        self.port = None
        # Why its tunnel may not be used any more.
        self.broken = None

    async def ask(self, host, port, encrypted=False):
        question = {"client": self.address, "host": host, "port": port, "encrypted": encrypted}
        if self.sandbox:
            question["sandbox"] = self.sandbox
        try:
            answer = await asyncio.wait_for(exchange(question), PATIENCE)
        except (OSError, ValueError, asyncio.TimeoutError) as error:
            raise Refused(503, "the egress policy does not answer") from error
        if not answer["allowed"]:
            raise Refused(answer["status"], answer["reason"])
        self.sandbox = answer["sandbox"]
        return answer


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


def refusing(hook):
    """Ends a request if its hook fails."""

    @functools.wraps(hook)
    async def guarded(self, flow):
        try:
            await hook(self, flow)
        except Refused as refused:
            refuse(flow, refused.status, str(refused))
        except Exception:
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
    flow.response = http.Response.make(status, text.encode(), headers)
    # Many clients show this text alone.
    flow.response.reason = printable


class Egress:
    def __init__(self):
        self.clients = {}

    def running(self):
        if os.path.exists(UPSTREAM_CA):
            ctx.options.update(ssl_verify_upstream_trusted_ca=UPSTREAM_CA)

    def client_connected(self, client):
        address = client.peername[0]
        # A socket for both families shows IPv4 addresses as IPv6 ones.
        self.clients[client.id] = Client(address.removeprefix("::ffff:"))

    def client_disconnected(self, client):
        self.clients.pop(client.id, None)

    @refusing
    async def http_connect(self, flow):
        client = self.clients[flow.client_conn.id]
        if client.tunnel:
            raise Refused(403, "a tunnel in a tunnel is not allowed")
        port = flow.request.port
        answer = await client.ask(flow.request.host, port)
        client.tunnel, client.port = answer, port
        # mitmproxy connects to it at once.
        self.direct(client, flow.request, answer)

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
            client.broken = "only TLS is allowed on this port"
        nextlayer.layer = layers.HttpLayer(context, HTTPMode.transparent)

    def tls_clienthello(self, data):
        client = self.clients.get(data.context.client.id)
        if not client or not client.tunnel:
            return
        host = client.tunnel["host"]
        name = (data.client_hello.sni or "").lower().rstrip(".")
        if name and name != host and not client.tunnel["raw"]:
            # The request gets an answer that says so.
            client.broken = f"TLS is for {name}, but the tunnel is for {host}"
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
        encrypted = request.scheme == "https"
        if client.tunnel:
            host, port = client.tunnel["host"], client.port
            if encrypted and not client.tunnel["inspect"]:
                raise Refused(403, "the connection must not be read")
        elif encrypted:
            raise Refused(403, "use CONNECT for HTTPS")
        else:
            host, port = request.data.host, request.data.port
        # Without a name, the server would choose one.
        named = request.host_header = request.host_header or host
        if without_port(named) != host.lower().rstrip("."):
            raise Refused(403, f"the request is for {named}, but the connection is for {host}")
        answer = await client.ask(host, port, encrypted)
        if not client.tunnel:
            self.direct(client, request, answer)
        for name, value in answer["headers"]:
            request.headers[name] = value
        request.stream = True

    def responseheaders(self, flow):
        if flow.response and flow.response.raw_content is None:
            flow.response.stream = True

    def websocket_message(self, flow):
        # mitmproxy would keep all messages of a connection.
        flow.websocket.messages.clear()


def without_port(authority):
    name = authority.rsplit("]", 1)[0].lstrip("[") if authority.startswith("[") else authority.split(":", 1)[0]
    return name.lower().rstrip(".")


addons = [Egress()]
