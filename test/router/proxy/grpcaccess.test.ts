/** gRPC through the router: who may call, what wakes a sandbox, and how refusals look. */
import { Buffer } from "node:buffer";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { signToken } from "../../../packages/api/router/scopedtoken.ts";
import { until } from "../../eventually.ts";
import { aServer, shell } from "../../runtime/rpc/serving.ts";
import { makeTempFolder } from "../../tempfolder.ts";
import { naming, putPod, startBackend } from "../stage.ts";
import { allOf, clientOf, named, start, transports } from "./grpcclients.ts";

describe("gRPC", () => {
  const codeOf = async (transport: Transport) => {
    const failed = await allOf(clientOf(transport).start({ config: shell("true") })).catch((error: ConnectError) =>
      error
    );
    const { code, rawMessage } = failed as ConnectError;
    return [code, rawMessage];
  };

  test("is refused in its own words, with the cause", async () => {
    const { url, router } = await start({ upstreamMaxRetries: 0, wake: false });
    const http1 = await startBackend((_, answer) => answer.end("HTTP/1.1 alone"));
    expect(await codeOf(transports(url, 1, "nobody").gRPC)).toEqual([
      Code.NotFound,
      expect.stringContaining("does not exist"),
    ]);
    expect(await codeOf(transports(url, 1).gRPC)).toEqual([
      Code.Unavailable,
      expect.stringContaining("nothing listens"),
    ]);
    expect(await codeOf(transports(url, http1.port).gRPC)).toEqual([
      Code.Unavailable,
      expect.stringContaining("does not speak HTTP/2"),
    ]);
    expect(await codeOf(transports(url, 1, "asleep").gRPC)).toEqual([
      Code.Unavailable,
      expect.stringContaining("do not wake"),
    ]);
    expect(await router.metrics.text()).toMatch(/requests_total\{method="POST",code="404"/);
  });

  test("is let in by a token alone, and ends with it", async () => {
    const secretFile = join(makeTempFolder(), "secret");
    const secret = "0123456789abcdef0123456789abcdef";
    writeFileSync(secretFile, secret);
    const { url, router } = await start({ authz: { mode: "scoped-token", secretFile } });
    const { listening } = await aServer();
    expect(await codeOf(transports(url, listening.port).gRPC)).toMatchObject([Code.Unauthenticated, expect.anything()]);
    const exp = Date.now() / 1000 + 1.5;
    const token = await signToken(Buffer.from(secret), { ns: "team-a", name: "demo", exp });
    const interceptors = [named({ ...naming(listening.port), Authorization: `Bearer ${token}` })];
    const client = clientOf(createGrpcTransport({ baseUrl: url, interceptors }));
    const lasting = await allOf(client.start({ config: shell("echo begun; sleep 600") })).catch((error: ConnectError) =>
      error
    );
    expect(lasting).toBeInstanceOf(ConnectError);
    await until(() => router.metrics.now.inflight === 0);
  });

  test("wakes a sandbox, and counts as its use as long as a stream is open", async () => {
    const { url, api, router } = await start();
    const { listening } = await aServer();
    const client = clientOf(transports(url, listening.port, "asleep").gRPC);
    const leave = new AbortController();
    const stream = client.start({ config: shell("echo begun; sleep 600") }, { signal: leave.signal })
      [Symbol.asyncIterator]();
    const first = stream.next();
    await until(() => api.requests.some(({ method }) => method === "PATCH"));
    putPod(api, "asleep");
    expect((await first).done).toBe(false);
    expect(router.metrics.now.inflight).toBe(1);
    leave.abort();
    await stream.next().catch(() => {});
    await until(() => router.metrics.now.inflight === 0);
  });

  test("has bodies no longer than others", async () => {
    const { url } = await start({ maxRequestBodyBytes: 1000 });
    const { listening } = await aServer();
    const client = clientOf(transports(url, listening.port).gRPC);
    const failed = await allOf(client.start({ config: shell("x".repeat(2000)) })).catch((error: ConnectError) => error);
    expect((failed as ConnectError).code).toBe(Code.ResourceExhausted);
  });
});
