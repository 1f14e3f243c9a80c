/** Clients of gRPC for a port of a sandbox, in each protocol, and a router in front of it. @module */
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { createClient, type Interceptor, type Transport } from "@connectrpc/connect";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { onTestFinished } from "vitest";
import { ProcessService } from "../../../packages/runtime-api/gen/process/v1/process_pb.ts";
import { createFakeApi } from "../../kube/fakeapi.ts";
import { naming, putReady, putSandbox, startRouter } from "../stage.ts";

export async function start(over: Parameters<typeof startRouter>[1] = {}) {
  const api = createFakeApi();
  putReady(api);
  putSandbox(api, "asleep", { spec: { operatingMode: "Suspended" } });
  return { ...await startRouter(api, over, true), api };
}

export const named = (headers: Record<string, string>): Interceptor => (next) => (request) => {
  for (const [name, value] of Object.entries(headers)) request.header.set(name, value);
  return next(request);
};

export const clientOf = (transport: Transport) => createClient(ProcessService, transport);

/** Clients of each form for a port of the sandbox. */
export function transports(url: string, port: number, name = "demo") {
  const interceptors = [named(naming(port, name))];
  const options = { baseUrl: url, interceptors, nodeOptions: { rejectUnauthorized: false } };
  return {
    "gRPC": createGrpcTransport(options),
    "gRPC-Web by HTTP/1.1": createGrpcWebTransport({ ...options, httpVersion: "1.1" }),
    "gRPC-Web by HTTP/2": createGrpcWebTransport({ ...options, httpVersion: "2" }),
    "Connect": createConnectTransport({ ...options, httpVersion: "1.1" }),
  };
}
export async function allOf<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

export type Form = keyof ReturnType<typeof transports>;
export const FORMS: Form[] = ["gRPC", "gRPC-Web by HTTP/1.1", "gRPC-Web by HTTP/2", "Connect"];

/** What a server that knows nothing but gRPC is: no Connect, no gRPC-Web, no HTTP/1.1. */
export async function startNative(routes: Parameters<typeof connectNodeAdapter>[0]["routes"]) {
  const server = createHttp2Server(connectNodeAdapter({ routes, connect: false, grpcWeb: false }));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}
