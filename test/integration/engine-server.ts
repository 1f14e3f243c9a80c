/** Hooks for trials of Metacontroller: functions behind a port of loopback, their calls remembered. @module */
import { createServer } from "node:http";
import type { KubeObject } from "../../packages/api/objects/objects.ts";

export type Json = Record<string, unknown>;

/** A hook call: `parent` and `children` whatever the kind of controller. */
export interface Call {
  parent: KubeObject;
  children: Record<string, Record<string, KubeObject>>;
  related: Record<string, Record<string, KubeObject>>;
  finalizing: boolean;
  controller: KubeObject;
}

/** Answers one call, the `count`-th of its path: an object with a numeric `status` and a `body` as such, any other with 200. */
export type Hook = (call: Call, count: number) => Json | Promise<Json>;

export interface HookServer {
  url: string;
  hooks: Map<string, Hook>;
  calls: { path: string; body: Call }[];
  stop(): Promise<void>;
}

/** Starts a server without hooks; a path that has none answers 500. */
export async function serveHooks(): Promise<HookServer> {
  const hooks = new Map<string, Hook>();
  const calls: { path: string; body: Call }[] = [];
  const server = createServer(async (request, response) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    const path = request.url ?? "";
    const raw = JSON.parse(new TextDecoder().decode(await new Blob(parts as BlobPart[]).arrayBuffer()));
    const body = { ...raw, parent: raw.parent ?? raw.object, children: raw.children ?? raw.attachments };
    calls.push({ path, body });
    const answer = await hooks.get(path)?.(body, calls.filter((call) => call.path === path).length) ??
      { status: 500, body: "no hook" };
    const plain = typeof answer["status"] === "number" && typeof answer["body"] === "string";
    response.writeHead(
      plain ? Number(answer["status"]) : 200,
      plain ? answer["headers"] as Record<string, string> : {},
    );
    response.end(plain ? answer["body"] as string : JSON.stringify(answer));
  });
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    hooks,
    calls,
    url: `http://127.0.0.1:${port}`,
    stop: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
