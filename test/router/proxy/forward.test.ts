import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { exchange, fetchFrom, open } from "../client.ts";
import { naming, PODS, putPod, putReady, putSandbox, startBackend, startRouter, textOf } from "../stage.ts";
import { until } from "../../eventually.ts";

/** A sandbox that tells what it was asked, headers as they came. */
async function startMirror() {
  const seen: { method: string; url: string; raw: string[]; body: string }[] = [];
  const backend = await startBackend(async (incoming, answer) => {
    const { method = "", url = "", rawHeaders: raw } = incoming;
    const entry = { method, url, raw, body: await textOf(incoming) };
    seen.push(entry);
    answer.setHeader("X-Backend", "mirror").end(JSON.stringify(entry));
  });
  const stage = await startRouter();
  putReady(stage.api);
  await until(() => stage.router.index.find("team-a", "demo")?.pods.size === 1);
  return { ...stage, backend, seen };
}

function headersOf(raw: string[]): Record<string, string> {
  return Object.fromEntries(raw.flatMap((name, i) => i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1] ?? ""]] : []));
}

describe("forward()", () => {
  test("passes path, query and body byte for byte", async () => {
    const { port, backend, seen } = await startMirror();
    const path = "/a%2Fb//c/../d/%E4?x=1&x=%20&é=\xe9;#";
    const headers = naming(backend.port);
    const reply = await fetchFrom(port, { method: "PUT", path: encodeURI(path), headers }, "hello");
    expect(reply).toMatchObject({ status: 200, headers: { "x-backend": "mirror" } });
    expect(seen[0]).toMatchObject({ method: "PUT", url: encodeURI(path), body: "hello" });
  });

  test("passes a large body both ways unchanged, chunked or not", async () => {
    const { port, backend } = await startMirror();
    const echo = await startBackend((incoming, answer) => void incoming.pipe(answer));
    const body = randomBytes(3_000_000);
    for (const headers of [{ "Content-Length": body.length }, { "Transfer-Encoding": "chunked" }]) {
      const target = { ...naming(echo.port), ...headers };
      const answer = await open(port, { method: "POST", headers: target }, body);
      const hash = createHash("sha256");
      for await (const chunk of answer) hash.update(chunk as Uint8Array);
      expect(hash.digest("hex")).toBe(createHash("sha256").update(body).digest("hex"));
    }
    expect(backend.port).not.toBe(echo.port);
  });

  test("keeps credentials and hop-by-hop headers from the sandbox, and says itself who asks", async () => {
    const { port, backend, seen } = await startMirror();
    const headers = {
      ...naming(backend.port),
      Host: "public.localhost",
      Authorization: "Bearer secret",
      "Proxy-Authorization": "Basic secret",
      Connection: "keep-alive, X-Private, content-length",
      "X-Private": "secret",
      "Keep-Alive": "timeout=5",
      TE: "trailers",
      Forwarded: "for=1.2.3.4",
      "X-Forwarded-For": "1.2.3.4",
      "X-Forwarded-Proto": "https",
      "X-Forwarded-Host": "evil",
      Cookie: "a=b",
    };
    await fetchFrom(port, { headers, method: "POST" }, "body");
    const got = headersOf(seen[0]?.raw ?? []);
    expect(JSON.stringify(seen[0]?.raw)).not.toMatch(/secret|1\.2\.3\.4|evil|trailers/);
    expect(got).toMatchObject({
      host: `127.0.0.1:${backend.port}`,
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-proto": "http",
      "x-forwarded-host": "public.localhost",
      "x-sandbox-id": "demo",
      cookie: "a=b",
    });
    expect(seen[0]?.body).toBe("body");
  });

  test("keeps the sandbox's hop-by-hop headers from the client, and passes the others in order", async () => {
    const { port } = await startMirror();
    const odd = await startBackend((_, answer) => {
      answer.writeHead(418, "Short and stout", [
        ["Set-Cookie", "a=1"],
        ["Set-Cookie", "b=2"],
        ["Connection", "X-Hop"],
        ["X-Hop", "1"],
        ["Proxy-Authenticate", "Basic"],
        ["X-Sandbox-Reason", "NotSent"],
        ["Trailer", "X-Sum"],
      ]);
      answer.write("x");
      answer.addTrailers({ "X-Sum": "42" });
      answer.end();
    });
    const reply = await fetchFrom(port, { headers: naming(odd.port) });
    expect(reply).toMatchObject({ status: 418, text: "x", trailers: { "x-sum": "42" } });
    expect(reply.headers["set-cookie"]).toEqual(["a=1", "b=2"]);
    expect(reply.headers).not.toHaveProperty("x-hop");
    expect(reply.headers).not.toHaveProperty("proxy-authenticate");
    expect(reply.headers, "only the router says it").not.toHaveProperty("x-sandbox-reason");
  });

  test("frames requests without a body as such", async () => {
    const { port, backend, seen } = await startMirror();
    for (const method of ["GET", "DELETE", "POST", "PATCH"]) {
      await fetchFrom(port, { method, headers: naming(backend.port) });
    }
    const framing = seen.map(({ raw }) => [headersOf(raw)["content-length"], headersOf(raw)["transfer-encoding"]]);
    expect(framing).toEqual([[undefined, undefined], [undefined, undefined], ["0", undefined], ["0", undefined]]);
  });

  test("passes a GET with a body, answers to HEAD, and 204", async () => {
    const { port, backend, seen } = await startMirror();
    const chunked = { ...naming(backend.port), "Transfer-Encoding": "chunked" };
    await fetchFrom(port, { headers: chunked }, "body of a GET");
    expect(seen[0]).toMatchObject({ method: "GET", body: "body of a GET" });
    const empty = await startBackend((incoming, answer) => {
      if (incoming.method === "HEAD") answer.setHeader("Content-Length", "12345");
      answer.writeHead(incoming.method === "HEAD" ? 200 : 204).end();
    });
    const head = await fetchFrom(port, { method: "HEAD", headers: naming(empty.port) });
    expect(head).toMatchObject({ status: 200, headers: { "content-length": "12345" }, text: "" });
    expect(await fetchFrom(port, { headers: naming(empty.port) })).toMatchObject({ status: 204, text: "" });
  });

  test("streams both ways: each side sees the other's first part before its last is sent", async () => {
    const { port } = await startMirror();
    const talk = await startBackend((incoming, answer) => {
      answer.writeHead(200, { "Content-Type": "text/plain" });
      answer.flushHeaders();
      incoming.on("data", (chunk) => answer.write(`got ${chunk}`));
      incoming.on("end", () => answer.end("."));
    });
    const outgoing = request({ host: "127.0.0.1", port, method: "POST", headers: naming(talk.port), agent: false });
    outgoing.flushHeaders();
    const answer = await new Promise<NodeJS.ReadableStream>((resolve) => outgoing.once("response", resolve));
    let text = "";
    answer.on("data", (chunk) => text += chunk);
    outgoing.write("one");
    await until(() => text === "got one");
    outgoing.write("two");
    await until(() => text === "got onegot two");
    outgoing.end();
    await until(() => text === "got onegot two.");
  });

  test("looks at the API server before it says that a sandbox does not exist", async () => {
    const api = createFakeApi();
    putPod(api);
    const { port, router } = await startRouter(api);
    const backend = await startBackend((_, answer) => answer.end("here"));
    api.watch = () => Promise.resolve({ status: 500, body: null, events: none() });
    api.endWatches();
    putSandbox(api);
    expect(router.index.find("team-a", "demo")).toBeUndefined();
    expect(await fetchFrom(port, { headers: naming(backend.port) })).toMatchObject({ status: 200, text: "here" });
    const missing = await fetchFrom(port, { headers: naming(backend.port, "nobody") });
    expect(missing).toMatchObject({
      status: 404,
      text: '{"detail":"Cannot find sandbox team-a/nobody: it does not exist"}',
      headers: { "x-sandbox-reason": "SandboxNotFound" },
    });
  });

  test("of one namespace knows no other", async () => {
    const api = createFakeApi();
    putReady(api);
    const { port } = await startRouter(api, { cacheNamespace: "team-b" });
    expect(await fetchFrom(port, { headers: naming(1) })).toMatchObject({ status: 404 });
    expect(api.requests.filter(({ path }) => path.endsWith("/sandboxes/demo"))).toEqual([]);
  });

  test("does not reach a member of a pool that no claim has", async () => {
    const { port, api, backend, router, seen } = await startMirror();
    putSandbox(api, "demo", { metadata: { labels: { "agents.x-k8s.io/warm-pool-sandbox": "h" } } });
    await until(() => router.index.find("team-a", "demo")?.sandbox.isUnclaimed === true);
    const address = { ...naming(backend.port), "X-Sandbox-Pod-IP": "127.0.0.1" };
    expect(await fetchFrom(port, { headers: address })).toMatchObject({ status: 404 });
    expect(seen).toEqual([]);
    api.remove(`${PODS}/demo`);
  });

  test("does not follow an address that is not the Pod's", async () => {
    const { port, backend, seen } = await startMirror();
    const headers = { ...naming(backend.port), "X-Sandbox-Pod-IP": "127.0.0.2" };
    const reply = await fetchFrom(port, { headers });
    expect(reply).toMatchObject({
      status: 502,
      text: expect.stringContaining("X-Sandbox-Pod-IP is not an address of its Pod"),
    });
    expect(await fetchFrom(port, { headers: { ...headers, "X-Sandbox-Pod-IP": "127.0.0.1" } })).toMatchObject({
      status: 200,
    });
    expect(seen).toHaveLength(1);
  });

  test("understands an absolute URL, and nothing that is no path", async () => {
    const { port, backend, seen } = await startMirror();
    const head = Object.entries(naming(backend.port)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
    const ask = (target: string) =>
      exchange(port, `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${head}\r\n`);
    expect(await ask("http://evil.example:1/p?q")).toContain("200 OK");
    expect(await ask("http://evil.example")).toContain("200 OK");
    expect(seen.map(({ url }) => url)).toEqual(["/p?q", "/"]);
    expect(await ask("ftp://evil.example/")).toContain("400 Bad Request");
    expect(await ask("evil.example:443")).toContain("400 Bad Request");
    expect(seen).toHaveLength(2);
  });

  test("answers a health check of its own", async () => {
    const { port } = await startMirror();
    expect(await fetchFrom(port, { path: "/healthz" })).toMatchObject({ status: 200, text: '{"status":"ok"}' });
    expect(await fetchFrom(port, { path: "/" })).toMatchObject({
      status: 400,
      text: '{"detail":"X-Sandbox-ID header is required."}',
    });
  });
});

async function* none(): AsyncGenerator<never> {}

test("bytes of a header that are no ASCII pass as they are", async () => {
  const { port, backend, seen } = await startMirror();
  const head = Object.entries(naming(backend.port)).map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const raw = `GET /%E4 HTTP/1.1\r\nHost: localhost\r\nX-Odd: \xe4\xff\r\nConnection: close\r\n${head}\r\n`;
  expect(await exchange(port, raw)).toContain("200 OK");
  expect(headersOf(seen[0]?.raw ?? [])["x-odd"]).toBe("\xe4\xff");
});
