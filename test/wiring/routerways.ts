/** Every way to ask a router for a sandbox: how it is named, how a token is carried, and what is spoken. @module */
import { connect as connectHttp2 } from "node:http2";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import { fetchFrom } from "../router/client.ts";

/** What is asked for: `demo` of a namespace. */
export interface Asked {
  /** Of the router, and of the sandbox behind it. */
  port: number;
  backend: number;
  namespace: string;
  token: string | undefined;
}

export type Way = (asked: Asked) => Promise<number | undefined>;

const bearer = (token: string | undefined): Record<string, string> => token ? { Authorization: `Bearer ${token}` } : {};
export const named = ({ backend, namespace, token }: Asked): Record<string, string> => ({
  "X-Sandbox-ID": "demo",
  "X-Sandbox-Namespace": namespace,
  "X-Sandbox-Port": String(backend),
  ...bearer(token),
});
const pathOf = ({ namespace, backend }: Asked, port = backend) => `/s/${namespace}/demo/${port}`;
export const statusOf = async (
  port: number,
  path: string,
  headers: Record<string, string>,
  method = "GET",
  body?: string,
) => (await fetchFrom(port, { path, headers, method }, body)).status;

function upgrade(port: number, path: string, headers: Record<string, string>): Promise<number | undefined> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
  onTestFinished(() => socket.terminate());
  return new Promise((resolve) => {
    socket.on("upgrade", () => resolve(101)).on("error", () => resolve(undefined));
    socket.on("unexpected-response", (_, answer) => resolve(answer.statusCode));
  });
}

export function overHttp2(url: string, headers: Record<string, string>): Promise<number | undefined> {
  const client = connectHttp2(url, { rejectUnauthorized: false });
  onTestFinished(() => client.destroy());
  return new Promise((resolve, reject) => {
    client.on("error", reject);
    client.request({ ":path": "/x", ...headers }).on("error", reject).on("response", (got) => resolve(got[":status"]))
      .resume();
  });
}

/** Every way to name a sandbox, to carry a token and to speak. */
export const WAYS: Record<string, Way> = {
  "by headers": (asked) => statusOf(asked.port, "/x", named(asked)),
  "by path": (asked) => statusOf(asked.port, `${pathOf(asked)}/x`, bearer(asked.token)),
  "by host": (asked) =>
    statusOf(asked.port, "/x", { Host: `${asked.backend}-demo-${asked.namespace}.d.example`, ...bearer(asked.token) }),
  "by address": (asked) => statusOf(asked.port, "/x", { ...named(asked), "X-Sandbox-Pod-IP": "127.0.0.1" }),
  "with a body": (asked) => statusOf(asked.port, "/x", named(asked), "POST", "body"),
  "with a body that waits": (asked) =>
    statusOf(asked.port, "/x", { ...named(asked), Expect: "100-continue", "Content-Length": "4" }, "POST", "body"),
  "to what looks like health": (asked) => statusOf(asked.port, "/healthz", named(asked)),
  "to a path of two slashes": (asked) => statusOf(asked.port, "//healthz", named(asked)),
  "over HTTP/2": (asked) => overHttp2(`http://127.0.0.1:${asked.port}`, named(asked)),
  "for a WebSocket": (asked) => upgrade(asked.port, "/v1/terminal", named(asked)),
  "for a WebSocket by path": (asked) => upgrade(asked.port, `${pathOf(asked)}/v1/terminal`, bearer(asked.token)),
  "with the token in the query": (asked) =>
    statusOf(asked.port, `/x${asked.token ? `?t=${asked.token}` : ""}`, named({ ...asked, token: undefined })),
  "with the token in a cookie": (asked) =>
    statusOf(asked.port, "/x", {
      ...named({ ...asked, token: undefined }),
      ...asked.token ? { Cookie: `pass=${asked.token}` } : {},
    }),
};
/** Ways that the router answers itself. */
export const OWN_WAYS: Record<string, Way> = {
  "for the terminal page": (asked) =>
    statusOf(asked.port, `${pathOf(asked, 8080)}/.hookbox/terminal/`, bearer(asked.token)),
  "for the page's files": (asked) =>
    statusOf(asked.port, `${pathOf(asked, 8080)}/.hookbox/terminal/page.js`, bearer(asked.token)),
  "how far it is": (asked) => statusOf(asked.port, "/x", { ...named(asked), "X-Sandbox-Wake-Poll": "1" }),
};

/** Asks in all these ways; returns the status of each. */
export async function answers(ways: Record<string, Way>, asked: Asked): Promise<Record<string, number | undefined>> {
  const found = Object.entries(ways).map(async ([name, way]) => [name, await way(asked)] as const);
  return Object.fromEntries(await Promise.all(found));
}

/** What {@link answers} returns where all ways are answered alike: 101 instead of 200 for a WebSocket. */
export const all = (ways: Record<string, Way>, status: number) =>
  Object.fromEntries(
    Object.keys(ways).map((name) => [name, status === 200 && name.includes("WebSocket") ? 101 : status]),
  );
