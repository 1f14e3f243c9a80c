/** Proxies that record the traffic between Metacontroller, the API server and the hooks. @module */
import {
  createServer,
  type IncomingMessage,
  request as requestHttp,
  type Server,
  type ServerResponse,
} from "node:http";
import { Agent, request as requestHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import type { Credentials } from "../../../packages/kube/credentials.ts";
import type { Json } from "../../../packages/api/objects/json.ts";
import type { KubeObject } from "../../../packages/api/objects/objects.ts";

/** A request and its answer. All records have ascending numbers, in the order in which their events began. */
export interface Exchange {
  number: number;
  /** When the request arrived, in milliseconds since 1970. */
  at: number;
  method: string;
  /** Path without its query. */
  path: string;
  /** Undefined: there is no body, or it is not JSON. */
  body: Json | undefined;
  status: number;
  answer: Json | undefined;
  retryAfter?: string;
}

/** A state of an object from a list or a watch. `gone`: the object was deleted in this state. */
export interface Sighting {
  number: number;
  /** Milliseconds since 1970. */
  at: number;
  object: KubeObject;
  gone: boolean;
}

/** The traffic between one Metacontroller process and the API server. */
export interface Traffic {
  requests: Exchange[];
  sightings: Sighting[];
}

/** Returns ascending numbers, which all proxies of a recording share. */
export type Counter = () => number;

export interface Proxy {
  /** Base URL on the loopback address. */
  url: string;
  stop(): Promise<void>;
}

/** Answers instead of the API server; undefined: the request is passed on. */
export type Intercept = (
  method: string,
  path: string,
  body: Json | undefined,
  text: string,
) => { status: number; body: Json } | undefined;

interface ApiProxyOptions {
  credentials: Credentials;
  count: Counter;
  traffic: Traffic;
  /** The only controller that the clients of this proxy can see. */
  controller: { kind: string; name: string };
  intercept?: Intercept;
}

const CONTROLLERS = /\/(composite|decorator)controllers$/;

/** Starts a proxy in front of an API server. Requests are sent with the given credentials. */
export async function startApiProxy(options: ApiProxyOptions): Promise<Proxy> {
  const { credentials, count, traffic, controller, intercept } = options;
  const { tls, headers: pass } = await credentials.current();
  const agent = new Agent({ keepAlive: true, ...tls });

  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const number = count();
    const at = Date.now();
    const { method = "GET", headers } = incoming;
    const url = new URL(incoming.url ?? "/", credentials.server);
    const [, flavour] = CONTROLLERS.exec(url.pathname) ?? [];
    if (flavour !== undefined) {
      const isShown = controller.kind.toLowerCase().startsWith(flavour);
      url.searchParams.set("fieldSelector", `metadata.name=${isShown ? controller.name : "none"}`);
    }
    const sent = await textOf(incoming);
    const body = parsed(sent);
    const instead = intercept?.(method, url.pathname, body, sent);
    const isWatch = url.searchParams.has("watch");
    const note = (status: number, answer: Json | undefined) => {
      traffic.requests.push({ number, at, method, path: url.pathname, body, status, answer });
      if (answer && Array.isArray(answer["items"])) noteList(traffic, count, answer);
    };
    if (instead) {
      note(instead.status, instead.body);
      return void outgoing.writeHead(instead.status, { "content-type": "application/json" })
        .end(JSON.stringify(instead.body));
    }
    // Compressed answers could not be read by the proxy.
    const { host: _, "accept-encoding": __, connection: ___, ...passed } = headers;
    const forwarded = requestHttps(url, { method, headers: { ...passed, ...pass }, agent }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      outgoing.flushHeaders();
      answer.once("error", () => outgoing.destroy());
      let rest = "";
      answer.setEncoding("utf8").on("data", (part: string) => {
        if (isWatch) {
          const lines = (rest + part).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) noteEvent(traffic, count, line);
        } else rest += part;
        outgoing.write(part);
      });
      answer.once("end", () => {
        if (!isWatch) note(answer.statusCode ?? 502, parsed(rest));
        outgoing.end();
      });
    });
    forwarded.once("error", () => outgoing.destroy());
    outgoing.once("close", () => forwarded.destroy());
    forwarded.end(sent);
  }

  const server = await listen((incoming, outgoing) => void handle(incoming, outgoing).catch(() => outgoing.destroy()));
  return proxyOf(server, () => agent.destroy());
}

/** A hook call. `path` is as in the controller, without `/<port>`, which identifies the hook's process. */
export type HookCall = Exchange & {
  /** `<kind>/<name>`. */
  controller: string;
};

/**
 * Starts a proxy in front of hooks on the loopback address. A request for `/<port>/<path>` is passed on to `/<path>` at
 * this port.
 */
export async function startHookProxy(count: Counter, calls: HookCall[]): Promise<Proxy> {
  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const number = count();
    const at = Date.now();
    const { method = "POST", headers, url = "/" } = incoming;
    const [, port = "", path = ""] = /^\/(\d+)(\/.*)$/.exec(url) ?? [];
    const sent = await textOf(incoming);
    const { host: _, connection: __, ...passed } = headers;
    const options = { host: "127.0.0.1", port, path, method, headers: passed };
    const forwarded = requestHttp(options, async (answer) => {
      const text = await textOf(answer);
      const retryAfter = answer.headers["retry-after"];
      const body = parsed(sent) ?? {};
      const { kind, metadata } = body["controller"] as KubeObject;
      calls.push({
        number,
        at,
        method,
        path: url,
        body,
        status: answer.statusCode ?? 502,
        answer: parsed(text) ?? { text },
        controller: `${kind}/${metadata.name}`,
        ...(retryAfter !== undefined && { retryAfter }),
      });
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers).end(text);
    });
    forwarded.once("error", () => outgoing.destroy());
    forwarded.end(sent);
  }
  const server = await listen((incoming, outgoing) => void handle(incoming, outgoing).catch(() => outgoing.destroy()));
  return proxyOf(server, () => {});
}

function noteEvent({ sightings }: Traffic, count: Counter, line: string): void {
  const event = parsed(line) as { type: string; object: KubeObject } | undefined;
  if (!event || !["ADDED", "MODIFIED", "DELETED"].includes(event.type)) return;
  sightings.push({ number: count(), at: Date.now(), object: event.object, gone: event.type === "DELETED" });
}

/** Records the items of a list. They do not contain their kind. */
function noteList({ sightings }: Traffic, count: Counter, list: Json): void {
  const kind = String(list["kind"]).replace(/List$/, "");
  for (const item of list["items"] as KubeObject[]) {
    const object = { ...item, apiVersion: String(list["apiVersion"]), kind };
    sightings.push({ number: count(), at: Date.now(), object, gone: false });
  }
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

async function listen(handler: (incoming: IncomingMessage, outgoing: ServerResponse) => void): Promise<Server> {
  const server = createServer(handler);
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

function proxyOf(server: Server, end: () => void): Proxy {
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        end();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
