/** gRPC through the router, native and gRPC-Web, to the runtime's services and to a server of an app. */
import { Buffer } from "node:buffer";
import { createServer as createHttp2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { listen } from "../../../packages/router/server.ts";
import { until } from "../../eventually.ts";
import { aServer, decode, shell } from "../../runtime/rpc/serving.ts";
import { makeCertificate } from "../certificate.ts";
import { fetchFrom, openSession } from "../client.ts";
import { naming } from "../stage.ts";
import { allOf, clientOf, type Form, FORMS, start, startNative, transports } from "./grpcclients.ts";

describe("the runtime's services", () => {
  test.for(FORMS)("by %s: answers, streams and errors", async (form) => {
    const { url } = await start();
    const { listening } = await aServer();
    const client = clientOf(transports(url, listening.port)[form]);
    const events = [];
    for await (const event of client.start({ config: shell("echo out; echo err >&2; exit 3") })) events.push(event);
    expect(events.length).toBeGreaterThan(2);
    const failed = await allOf(client.start({ config: { command: [] } })).catch((error: ConnectError) => error);
    expect(failed).toBeInstanceOf(ConnectError);
    expect((failed as ConnectError).code).toBe(Code.InvalidArgument);
  });

  test("by gRPC over TLS", async () => {
    const { router } = await start();
    const { listening } = await aServer();
    const tls = makeCertificate();
    const server = await listen(router.handler, { host: "127.0.0.1", port: 0, graceMs: 0, h2c: false, tls });
    onTestFinished(() => server.stop());
    const client = clientOf(transports(`https://127.0.0.1:${server.port}`, listening.port).gRPC);
    const events = await allOf(client.start({ config: shell("echo hi") }));
    expect(
      JSON.stringify(
        events,
        (_, value) => value instanceof Uint8Array ? decode(value) : typeof value === "bigint" ? 0 : value,
      ),
    ).toContain("hi");
  });
});

describe("a server that knows gRPC alone", () => {
  test.for<Form>(["gRPC", "gRPC-Web by HTTP/1.1", "gRPC-Web by HTTP/2"])("by %s", async (form) => {
    const { url } = await start();
    const { routes } = await aServer();
    const client = clientOf(transports(url, await startNative(routes))[form]);
    expect((await allOf(client.start({ config: shell("seq 20000") }))).length).toBeGreaterThan(2);
    const failed = await allOf(client.start({ config: { command: [] } })).catch((error: ConnectError) => error);
    expect((failed as ConnectError).code).toBe(Code.InvalidArgument);
  });

  test("by gRPC-Web as text, in whatever parts it comes", async () => {
    const { port } = await start();
    const seen: string[] = [];
    const native = await startStream((stream, headers, body) => {
      seen.push(String(headers["content-type"]), String(headers["te"]), body);
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto", "x-own": "1" }, {
        waitForTrailers: true,
      });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "5", "grpc-message": "no%20file" }));
      stream.end("answer");
    });
    const headers = { ...naming(native), "Content-Type": "application/grpc-web-text+proto" };
    const body = Buffer.from("first").toString("base64") + Buffer.from("second!").toString("base64");
    const reply = await fetchFrom(port, { method: "POST", path: "/a.B/C", headers }, body);
    expect(seen).toEqual(["application/grpc+proto", "trailers", "firstsecond!"]);
    expect(reply).toMatchObject({
      status: 200,
      headers: { "content-type": "application/grpc-web-text+proto", "x-own": "1" },
    });
    const parts = reply.text.match(/[^=]+={0,2}/g)?.map((part) => Buffer.from(part, "base64")) ?? [];
    const text = Buffer.concat(parts).toString("latin1");
    expect(text).toBe(
      "answer\x80\0\0\0\x2cgrpc-status: 5\r\ngrpc-message: no%20file\r\n".replace(
        "\x2c",
        String.fromCharCode(text.length - 11),
      ),
    );
  });

  test("answers of headers alone have their status behind the body", async () => {
    const { port, url } = await start();
    const native = await startStream((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "7", nel: "x" }, {
        endStream: true,
      });
    });
    const stream = openSession(url).request({
      ":method": "POST",
      ...naming(native),
      "content-type": "application/grpc",
      te: "trailers",
    });
    const trailers = new Promise((resolve) => stream.once("trailers", resolve));
    const head = new Promise((resolve) => stream.once("response", resolve));
    stream.resume().end();
    expect(await head).not.toHaveProperty("nel");
    expect(await trailers).toMatchObject({ "grpc-status": "7" });
    const headers = { ...naming(native), "Content-Type": "application/grpc-web" };
    expect((await fetchFrom(port, { method: "POST", headers })).text).toContain("grpc-status: 7\r\n");
  });

  test("is never another Pod's to serve", async () => {
    const { url } = await start();
    const native = await startStream((stream) => {
      stream.respond({ ":status": 421, "x-sandbox-reason": "OtherPod" }, { endStream: true });
    });
    const failed = await allOf(clientOf(transports(url, native).gRPC).start({ config: shell("true") })).catch(
      (error: ConnectError) => error,
    );
    expect(failed).toMatchObject({ code: Code.Unavailable, rawMessage: expect.stringContaining("another Pod") });
  });

  test("hears when its caller has gone, and its caller when it breaks off", async () => {
    const { url } = await start();
    const seen: string[] = [];
    const native = await startStream((stream, { ":path": path }) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.write("x");
      stream.on("error", () => {}).on("close", () => seen.push(`${path} ${stream.rstCode}`));
      if (path === "/break") stream.close(2);
    });
    const session = openSession(url);
    const call = (path: string) => {
      const stream = session.request({
        ":method": "POST",
        ":path": path,
        ...naming(native),
        "content-type": "application/grpc",
      });
      stream.on("error", () => {}).end();
      return stream;
    };
    const broken = call("/break");
    await new Promise((resolve) => broken.resume().once("close", resolve));
    expect(broken.rstCode).not.toBe(0);
    const left = call("/leave");
    await new Promise((resolve) => left.once("data", resolve));
    left.close(8);
    await until(() => seen.includes("/leave 8"));
  });
});

/** A server of HTTP/2 that reads whole requests. */
async function startStream(
  answer: (stream: ServerHttp2Stream, headers: Record<string, unknown>, body: string) => void,
) {
  const server = createHttp2Server();
  server.on("stream", (stream, headers) => {
    let body = "";
    stream.on("data", (chunk) => body += chunk).once("end", () => answer(stream, headers, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
