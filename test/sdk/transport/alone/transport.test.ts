/** Ways to a sandbox's ports: what goes where, what is tried again, and who may be let in by an address. @module */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePorts } from "../../../../dev/cluster/ports.ts";
import { signToken } from "../../../../packages/api/router/scopedtoken.ts";
import { openToken } from "../../../../packages/router/access/scopedtoken.ts";
import { SandboxClient } from "../../../../packages/sdk/client.ts";
import { ConnectionError, UnsupportedError } from "../../../../packages/sdk/errors.ts";
import { createPodTransport, type PodPlace } from "../../../../packages/sdk/transport/direct.ts";
import { createRouterTransport } from "../../../../packages/sdk/transport/router.ts";
import { collectGarbage } from "../../../heap.ts";
import { breakingProxy } from "../../breakingproxy.ts";

/** A server that answers with what it was asked. */
async function echo(): Promise<URL> {
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** An origin where nobody listens. */
async function nowhere(): Promise<URL> {
  const [port = 0] = await freePorts(1);
  return new URL(`http://127.0.0.1:${port}`);
}

const PLACE: PodPlace = { namespace: "team-a", name: "demo", ip: "10.0.0.1" };

function podTransport(reach: () => Promise<URL>, hint?: PodPlace) {
  const find = vi.fn(() => Promise.resolve(PLACE));
  return {
    find,
    transport: createPodTransport({ kind: "direct", find, reach, close: async () => {} }, "team-a", "demo", hint),
  };
}

test("a router gets sandbox, port and who asks", async () => {
  const url = (await echo()).origin;
  const transport = createRouterTransport({ url, token: () => Promise.resolve("secret") }, "team-a", "demo");
  const asked = await (await transport.fetch(3000, "/a%20b?c=d", { headers: { "X-Own": "1" } })).json();
  expect(asked).toMatchObject({
    url: "/a%20b?c=d",
    headers: {
      "x-sandbox-id": "demo",
      "x-sandbox-namespace": "team-a",
      "x-sandbox-port": "3000",
      authorization: "Bearer secret",
      "x-own": "1",
    },
  });
});

test("a token that no header can have is refused without being repeated", async () => {
  const sent: (string | null)[] = [];
  const fetch = (_: URL, { headers }: RequestInit) => {
    sent.push(new Headers(headers).get("Authorization"));
    return Promise.resolve(new Response("ok"));
  };
  const ask = (token: string) =>
    createRouterTransport({ url: "http://router.test", token: () => token, fetch }, "a", "b").fetch(80, "/");
  for (const token of ["secret\nsecret", "secret secret", "secr\u00e9t"]) {
    const error: Error = await ask(token).then(() => new Error("sent"), (refusal) => refusal);
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringMatching(/no line breaks/) });
    expect(error.message).not.toContain("secr");
  }
  await ask("secret\n");
  expect(sent, "a line break at the end comes from a file").toEqual(["Bearer secret"]);
});

test("an answer that does not end ends with its signal, whatever garbage was collected since it began", async () => {
  const server = createServer((_, response) => void response.write("x"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const transport = createRouterTransport({ url }, "team-a", "demo");
  const stop = new AbortController();
  const open = async () =>
    (await transport.fetch(3000, "/", { signal: stop.signal })).body as ReadableStream<Uint8Array>;
  const reading = (async () => {
    for await (const chunk of await open()) chunk.fill(0);
  })();
  reading.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 200));
  await collectGarbage();
  stop.abort(new Error("enough"));
  await expect(reading).rejects.toThrow("enough");
});

test("no cache of a browser answers in the sandbox's place", async () => {
  const url = (await echo()).origin;
  const asked = vi.spyOn(globalThis, "fetch");
  onTestFinished(() => asked.mockRestore());
  const transport = createRouterTransport({ url, token: () => Promise.resolve("secret") }, "team-a", "demo");
  await transport.fetch(8080, "/v1/files/");
  expect(asked.mock.calls.map(([, init]) => init?.cache)).toEqual(["no-store"]);
});

test("a browser's cookies go along and stay as for any request to the page's origin, unless they are left out", async () => {
  const url = (await echo()).origin;
  const asked = vi.spyOn(globalThis, "fetch");
  onTestFinished(() => asked.mockRestore());
  for (const options of [{}, { credentials: "omit" }] as const) {
    const client = new SandboxClient({ routerUrl: url, namespace: "team-a", kubeconfig: "/nonexistent", ...options });
    await (await client.connect("demo")).files.list("").catch(() => {});
  }
  expect(asked.mock.calls.map(([, init]) => init?.credentials)).toEqual(["same-origin", "omit"]);
});

test.for([
  { access: { url: "https://r.example", domain: "box.example" }, want: "https://3000-demo-team-a.box.example/" },
  {
    access: { url: "http://r.example:8080", domain: "box.example" },
    want: "http://3000-demo-team-a.box.example:8080/",
  },
  { access: { url: "https://r.example", pathPrefix: "/s" }, want: "https://r.example/s/team-a/demo/3000" },
])("the address of a port behind a router: $want", async ({ access, want }) => {
  expect((await createRouterTransport(access, "team-a", "demo").address(3000)).href).toBe(want);
});

test("a router that finds sandboxes by headers alone gives no addresses", async () => {
  await expect(createRouterTransport({ url: "http://r" }, "a", "b").address(80)).rejects.toBeInstanceOf(
    UnsupportedError,
  );
});

test("a signed address is one that the router lets in, for that port and until that time", async () => {
  const secret = new Uint8Array(32).fill(7);
  const expiresAt = new Date("2026-05-01T00:00:00Z");
  const token = await signToken(secret, { ns: "team-a", name: "dämo", port: 3000, exp: expiresAt.getTime() / 1000 });
  expect(openToken([secret], token, expiresAt.getTime() - 1)).toEqual({
    ns: "team-a",
    name: "dämo",
    port: 3000,
    exp: expiresAt.getTime() / 1000,
  });
  expect(openToken([secret], token, expiresAt.getTime())).toBeUndefined();
});

test("nobody listens: known not to have arrived", async () => {
  const { transport } = podTransport(nowhere);
  const error = await transport.fetch(80, "/").catch((error) => error);
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ mayHaveArrived: false, object: { name: "demo" } });
});

test("a connection that breaks may have arrived", async () => {
  const proxy = await breakingProxy(Number((await echo()).port));
  proxy.cutAfter(0);
  const { transport } = podTransport(() => Promise.resolve(new URL(`http://127.0.0.1:${proxy.port}`)));
  await expect(transport.fetch(80, "/", { method: "POST", body: "x" })).rejects.toMatchObject({ mayHaveArrived: true });
  expect(proxy.count(), "it is not sent again").toBe(1);
});

test("who gives up gets the signal's reason", async () => {
  const { transport } = podTransport(echo);
  await expect(transport.fetch(80, "/", { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("a Pod that has moved is looked for again, once, and the request sent there", async () => {
  const there = await echo();
  const places = [await nowhere(), there];
  const { transport, find } = podTransport(() => Promise.resolve(places.shift() ?? there));
  expect((await transport.fetch(80, "/x", { method: "POST", body: "data" })).status).toBe(200);
  expect(find).toHaveBeenCalledTimes(2);
  await (await transport.fetch(80, "/y")).text();
  expect(find).toHaveBeenCalledTimes(2);
});

test("where it was a moment ago is tried before anybody is asked", async () => {
  const there = await echo();
  const places = [there, await nowhere()];
  const { transport, find } = podTransport(() => Promise.resolve(places.shift() ?? there), PLACE);
  await (await transport.fetch(80, "/x")).text();
  expect(find).not.toHaveBeenCalled();
  await (await transport.fetch(80, "/y")).text();
  expect(find).toHaveBeenCalledTimes(1);
});

test("an address that was not used for a while is asked for again: it may be another's by now", async () => {
  const there = await echo();
  const { transport, find } = podTransport(() => Promise.resolve(there));
  const now = vi.spyOn(performance, "now").mockReturnValue(1_000_000);
  onTestFinished(() => now.mockRestore());
  await (await transport.fetch(80, "/")).text();
  now.mockReturnValue(1_009_999);
  await (await transport.fetch(80, "/")).text();
  expect(find).toHaveBeenCalledTimes(1);
  now.mockReturnValue(1_019_999);
  await (await transport.fetch(80, "/")).text();
  expect(find).toHaveBeenCalledTimes(2);
});

test("what only follows a command wakes nothing", async () => {
  const there = await echo();
  const { transport, find } = podTransport(() => Promise.resolve(there));
  await (await transport.fetch(80, "/", { headers: { "X-Sandbox-Wake": "false" } })).text();
  expect(find).toHaveBeenLastCalledWith(expect.objectContaining({ wake: false }));
  await (await transport.fetch(80, "/")).text();
  expect(find).toHaveBeenLastCalledWith(expect.objectContaining({ wake: true }));
});
