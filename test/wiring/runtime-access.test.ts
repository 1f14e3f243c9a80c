/** The runtime put together with its real flags: who is let in at each port and kind of endpoint. @module */
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { ServerReflection } from "../../packages/runtime-api/gen/grpc/reflection/v1/reflection_pb.ts";
import { ContextsService } from "../../packages/runtime-api/gen/hookbox/runtime/v1/contexts_pb.ts";
import { ProcessesService } from "../../packages/runtime-api/gen/hookbox/runtime/v1/processes_pb.ts";
import { ProcessService } from "../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { FileWatcherService } from "../../packages/runtime-api/gen/watcher/v1/watcher_pb.ts";
import { AlphaServerReflection } from "../../packages/runtime/rpc/reflection.ts";
import type { Runtime } from "../../packages/runtime/start.ts";
import { makeRoot } from "../runtime/folders.ts";
import { formOf, send, type Sent, startTestRuntime } from "../runtime/servers.ts";
import { TERMINAL_PROTOCOL } from "../../packages/runtime/terminal/socket.ts";

const TOKEN = "of-team-a";
/** None, another namespace's, and such as a careless comparison would take. */
const STRANGERS = [undefined, "of-team-b", `${TOKEN}x`, TOKEN.slice(1)];
const SERVICES: DescService[] = [
  ProcessService,
  ProcessesService,
  ContextsService,
  FileWatcherService,
  ServerReflection,
  AlphaServerReflection,
];

async function start(...flags: string[]) {
  const made = await makeRoot({ "f": "content" });
  const tokenFile = `${made.around}/token`;
  writeFileSync(tokenFile, `${TOKEN}\n`);
  const withToken = flags.map((flag) => flag.replace("TOKEN_FILE", tokenFile));
  const runtime = await startTestRuntime(made.root.path, "--shutdown-timeout", "0", ...withToken);
  onTestFinished(() => runtime.stop());
  return { ...made, runtime, entries: () => readdirSync(made.root.path).sort() };
}

const bearer = (token: string | undefined): Record<string, string> => token ? { Authorization: `Bearer ${token}` } : {};
const json = (value: object): Sent => ({
  body: JSON.stringify(value),
  headers: { "Content-Type": "application/json" },
});

type Endpoint = [
  port: "port" | "restPort" | "interpreterPort",
  method: string,
  path: string,
  sent: Sent,
  status: number,
];

/** Every kind of HTTP endpoint, and what its bearer is answered, one after another. */
const ENDPOINTS: Endpoint[] = [
  ["port", "POST", "/execute", json({ command: "touch made" }), 200],
  ["port", "POST", "/upload", formOf("made", "x"), 200],
  ["port", "GET", "/download/f", {}, 200],
  ["port", "HEAD", "/download/f", {}, 200],
  ["port", "GET", "/list/", {}, 200],
  ["port", "GET", "/exists/f", {}, 200],
  ["port", "GET", "/nothing", {}, 404],
  ["port", "GET", "//", {}, 404],
  ["restPort", "GET", "/v1/files/f", {}, 200],
  ["restPort", "PUT", "/v1/files/made", { body: "x" }, 204],
  ["restPort", "DELETE", "/v1/files/made", {}, 204],
  ["restPort", "GET", "/v1/metadata", {}, 200],
  ["restPort", "GET", "/v1/stat/f", {}, 200],
  ["restPort", "PUT", "/v1/folders/made", {}, 201],
  ["restPort", "POST", "/v1/rename", json({ from: "made", to: "moved" }), 204],
  ["restPort", "GET", "/v1/archive/f", {}, 200],
  ["restPort", "PUT", "/v1/archive/moved", { body: new Uint8Array(1024) }, 200],
  ["restPort", "GET", "/v1/watch/", { upTo: 1 }, 200],
  ["restPort", "GET", "/v1/disk", {}, 200],
  ["restPort", "POST", "/v1/bind", json({ env: { A: "1" } }), 200],
  ["restPort", "GET", "/v1/bind", {}, 200],
  ["restPort", "DELETE", "/v1/bind", {}, 204],
  ["restPort", "GET", "/v1/terminal", {}, 404],
  ["restPort", "POST", "/process.v1.ProcessService/Execute", json({ config: { command: ["true"] } }), 200],
  ["restPort", "GET", "/nothing", {}, 404],
  ["restPort", "GET", "/v1/health/", {}, 405],
  ["interpreterPort", "POST", "/execute", json({ code: "1", language: "bash" }), 200],
  ["interpreterPort", "POST", "//execute", json({ code: "1", language: "bash" }), 200],
  ["interpreterPort", "POST", "/contexts", json({ language: "bash" }), 200],
  ["interpreterPort", "GET", "/contexts", {}, 200],
  ["interpreterPort", "DELETE", "/contexts/none", {}, 404],
  ["interpreterPort", "POST", "/contexts/none/restart", {}, 404],
  ["interpreterPort", "GET", "/nothing", {}, 404],
];
const OPEN: Endpoint[] = [
  ["port", "GET", "/", {}, 200],
  ["restPort", "GET", "/v1/health", {}, 200],
  ["restPort", "GET", "/v1/activity", {}, 200],
  ["interpreterPort", "GET", "/health", {}, 200],
];

/** Asks an endpoint; returns it in short with what it has answered. */
async function ask(runtime: Runtime, [port, method, path, sent]: Endpoint, token?: string) {
  const headers = { ...sent.headers, ...bearer(token) };
  return `${method} ${path} ${token ?? ""} ${
    (await send(runtime[port] ?? 0, method, path, { ...sent, headers })).status
  }`;
}

const answered = ([, method, path, , status]: Endpoint, token = "", instead = status) =>
  `${method} ${path} ${token} ${instead}`;

const TRANSPORTS: Record<string, (runtime: Runtime) => Transport> = {
  "gRPC": ({ grpcPort }) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${grpcPort}` }),
  "gRPC-web on its port": ({ grpcPort }) =>
    createGrpcWebTransport({ baseUrl: `http://127.0.0.1:${grpcPort}`, httpVersion: "1.1" }),
  "Connect on its port": ({ grpcPort }) =>
    createConnectTransport({ baseUrl: `http://127.0.0.1:${grpcPort}`, httpVersion: "1.1" }),
  "Connect on the port of the files": ({ restPort }) =>
    createConnectTransport({ baseUrl: `http://127.0.0.1:${restPort}`, httpVersion: "1.1" }),
};

/** Calls a method with nothing in its request; returns the code of its error, or undefined. */
async function codeOf(transport: Transport, service: DescService, method: DescMethod, headers: HeadersInit) {
  const client = createClient(service, transport) as Record<string, unknown>;
  const call = client[method.localName] as (
    input: unknown,
    options: object,
  ) => PromiseLike<unknown> | AsyncIterable<unknown>;
  async function* one() {
    yield {};
  }
  try {
    const answer = call(method.methodKind === "bidi_streaming" ? one() : {}, { headers, timeoutMs: 20_000 });
    if (Symbol.asyncIterator in answer) { for await (const _ of answer) break; }
    else await answer;
    return undefined;
  } catch (error) {
    return (error as { code?: Code }).code;
  }
}

/** Asks for a terminal; returns the status that it is refused with, or what it has written when it has ended. */
function terminal(
  port: number,
  { headers = {}, protocols = [] as string[], command = "echo in" },
): Promise<number | string> {
  const url = `ws://127.0.0.1:${port}/v1/terminal?${new URLSearchParams({ command })}`;
  const socket = new WebSocket(url, protocols, { headers });
  onTestFinished(() => socket.terminate());
  let text = "";
  socket.on("message", (data, isBinary) => isBinary && (text += data));
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (asked, answer) => {
      asked.destroy();
      resolve(answer.statusCode ?? 0);
    });
    socket.on("close", () => resolve(text)).on("error", reject);
  });
}

describe("with --token-file", () => {
  test("every HTTP endpoint but health wants the token, before anything else is looked at", async () => {
    const { runtime, entries } = await start("--token-file", "TOKEN_FILE");
    for (const endpoint of ENDPOINTS) {
      for (const token of STRANGERS) {
        expect(await ask(runtime, endpoint, token)).toBe(answered(endpoint, token, 401));
      }
    }
    expect(entries()).toEqual(["f"]);
    for (const endpoint of OPEN) expect(await ask(runtime, endpoint)).toBe(answered(endpoint));
  });

  test("a token file that is gone lets nobody in; a runtime that misses it does not start", async () => {
    const { runtime, around } = await start("--token-file", "TOKEN_FILE");
    rmSync(`${around}/token`);
    for (const endpoint of ENDPOINTS) expect(await ask(runtime, endpoint, TOKEN)).toBe(answered(endpoint, TOKEN, 401));
    expect(await terminal(runtime.restPort, { headers: bearer(TOKEN) })).toBe(401);
    await expect(start("--token-file", "/nowhere/token")).rejects.toThrow("there is no such file");
  });

  test("its bearer has them all", async () => {
    const { runtime, entries } = await start("--token-file", "TOKEN_FILE");
    for (const endpoint of ENDPOINTS) expect(await ask(runtime, endpoint, TOKEN)).toBe(answered(endpoint, TOKEN));
    expect(entries()).toEqual(["f", "moved"]);
  });

  test.for(Object.entries(TRANSPORTS))("every method of every service wants it over %s", async ([, transportTo]) => {
    const { runtime } = await start("--token-file", "TOKEN_FILE");
    const transport = transportTo(runtime);
    for (const service of SERVICES) {
      for (const method of service.methods) {
        // Connect over HTTP/1.1 has no way to talk both ways at once.
        if (method.methodKind === "bidi_streaming" && transportTo !== TRANSPORTS["gRPC"]) continue;
        for (const token of STRANGERS.slice(0, 2)) {
          expect([method.name, token, await codeOf(transport, service, method, bearer(token))]).toEqual([
            method.name,
            token,
            Code.Unauthenticated,
          ]);
        }
        expect([method.name, await codeOf(transport, service, method, bearer(TOKEN))]).not.toEqual([
          method.name,
          Code.Unauthenticated,
        ]);
      }
    }
  });

  test("terminals want it, in a header or a protocol", async () => {
    const { runtime: { restPort, port, grpcPort } } = await start("--token-file", "TOKEN_FILE");
    const offered = (token: string) => [TERMINAL_PROTOCOL, `hookbox.bearer.${btoa(token).replaceAll("=", "")}`];
    for (const token of STRANGERS) {
      expect([token, await terminal(restPort, { headers: bearer(token) })]).toEqual([token, 401]);
      expect([token, await terminal(restPort, { protocols: token ? offered(token) : [TERMINAL_PROTOCOL] })]).toEqual([
        token,
        401,
      ]);
    }
    expect(await terminal(restPort, { headers: bearer(TOKEN) })).toBe("in\r\n");
    expect(await terminal(restPort, { protocols: offered(TOKEN) })).toBe("in\r\n");
    expect([await terminal(port, { headers: bearer(TOKEN) }), await terminal(grpcPort, { headers: bearer(TOKEN) })])
      .toEqual([404, 404]);
  });

  test("with --token-scope bind it guards binding, and nothing else", async () => {
    const { runtime } = await start("--token-file", "TOKEN_FILE", "--token-scope", "bind");
    for (const endpoint of ENDPOINTS) {
      const guarded = endpoint[2] === "/v1/bind" ? 401 : undefined;
      expect(await ask(runtime, endpoint)).toBe(answered(endpoint, "", guarded));
    }
    expect(await terminal(runtime.restPort, {})).toBe("in\r\n");
    for (const transportTo of Object.values(TRANSPORTS)) {
      expect(await codeOf(transportTo(runtime), ProcessesService, ProcessesService.method.list, {})).toBeUndefined();
    }
  });
});
