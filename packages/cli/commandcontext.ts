/** What commands are given: streams, environment, clock, cluster. Types only; tests bring their own. @module */
import type { Readable, Writable } from "node:stream";
import type { Answer, Api } from "../kube/api.ts";
import type { SandboxClient } from "../sdk/client.ts";
import type { SandboxTransport } from "../sdk/transport/transport.ts";

/** Where a command writes. */
export interface Output {
  /** Of text that commands write control characters are shown but newline and tab; bytes pass as they are. */
  write(data: string | Uint8Array): void;
  /** Resolves when there is room for more: at once, unless who reads is slow. */
  drained(): Promise<void>;
  isTTY: boolean;
  /** Size of the terminal, in characters; undefined if it is none. */
  columns: number | undefined;
  rows: number | undefined;
  /** Of a process: for what draws. */
  stream?: Writable;
}

/** Where a command reads. */
export interface Input extends Readable {
  isTTY?: boolean;
  /** Of a terminal: keys come as they are pressed, Ctrl-C included. */
  setRawMode?(isRaw: boolean): unknown;
}

/** Which cluster, as command lines say it; absent means the default. */
export interface Where {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
  /** URL of the router. */
  router?: string | undefined;
  /** Bearer token for the router. */
  token?: string | undefined;
}

/** The SDK, bound to the cluster, and the way that it takes into sandboxes. */
export interface Connection {
  client: SandboxClient;
  /** Addresses of `forward` last only as long as the process. */
  way: "router" | "direct" | "forward";
  /** The way to one Sandbox, for questions that the client does not ask. */
  transportTo(namespace: string, sandboxName: string): Promise<SandboxTransport>;
}

/** A cluster that a command talks to. */
export interface Cluster {
  api: Api;
  /** Opens an answer that is text and may never end. */
  read(
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Answer & { chunks: AsyncIterable<Uint8Array> }>;
  /** The one that was asked for, else the context's, else `default`. */
  namespace: string;
  /** URL of the API server. */
  server: string;
  /** Where the credentials come from: a file and its context, or the Pod. */
  source: string;
}

/** Everything outside of a command. */
export interface CommandContext {
  /** What people type to get here: `hookbox` or `kubectl hookbox`. */
  program: string;
  env: Record<string, string | undefined>;
  stdin: Input;
  /** For results, and nothing else. */
  stdout: Output;
  /** For progress and complaints. */
  stderr: Output;
  now(): Date;
  /** Fires at Ctrl-C; its reason is an {@link Interruption}. Commands then clear away what they have made. */
  signal: AbortSignal;
  fetch: typeof fetch;
  reach(where: Where): Promise<Cluster>;
  connect(where: Where): Promise<Connection>;
  /** Opens an address in a browser; false if there is none. */
  browse(url: string): Promise<boolean>;
}
