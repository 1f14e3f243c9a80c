/** Types of what commands use: streams, environment, clock, cluster. Tests replace them. @module */
import type { Readable, Writable } from "node:stream";
import type { Answer, Api } from "../kube/api.ts";
import type { Credentials } from "../kube/credentials.ts";
import type { SandboxClient } from "../sdk/client.ts";
import type { SandboxTransport } from "../sdk/transport/transport.ts";

/** An output stream of a command. */
export interface Output {
  /** Writes data. In text, control characters other than newline and tab are escaped; bytes are written unchanged. */
  write(data: string | Uint8Array): void;
  /** Resolves when there is room for more data: immediately, unless the reader is slow. */
  drained(): Promise<void>;
  isTTY: boolean;
  /** Size of the terminal, in characters; undefined if it is not a terminal. */
  columns: number | undefined;
  rows: number | undefined;
  /** The process's stream, for libraries that draw. */
  stream?: Writable;
}

/** The input stream of a command. */
export interface Input extends Readable {
  isTTY?: boolean;
  /** Only for terminals: receives each key when it is pressed, including Ctrl-C. */
  setRawMode?(isRaw: boolean): unknown;
}

/** Values of the options that name the cluster and the router. An absent value means the default. */
export interface ConnectionOptions {
  kubeconfig?: string | undefined;
  context?: string | undefined;
  namespace?: string | undefined;
  /** URL of the router. */
  router?: string | undefined;
  /** Bearer token for the router. */
  token?: string | undefined;
}

/** A client of the SDK, and how it reaches sandboxes. */
export interface Connection {
  client: SandboxClient;
  /** With `forward`, URLs of ports work only while the process runs. */
  way: "router" | "direct" | "forward";
  /** Returns the transport to one Sandbox, for requests that the client does not send. */
  transportTo(namespace: string, sandboxName: string): Promise<SandboxTransport>;
}

/** The cluster of a command. */
export interface Cluster {
  api: Api;
  /** Opens a response that is text and may be endless. */
  read(
    path: string,
    query: Record<string, string>,
    signal: AbortSignal,
  ): Promise<Answer & { chunks: AsyncIterable<Uint8Array> }>;
  /** The requested namespace, else the context's, else `default`. */
  namespace: string;
  /** For connections that `api` does not open, such as port-forwards. */
  credentials: Credentials;
  /** URL of the API server. */
  server: string;
  /** Source of the credentials: a file and its context, or the Pod. */
  source: string;
}

/** Everything that a command uses outside of its own code. */
export interface CommandContext {
  /** The command that the user types: `hookbox` or `kubectl hookbox`. */
  program: string;
  env: Record<string, string | undefined>;
  stdin: Input;
  /** For results only. */
  stdout: Output;
  /** For progress and errors. */
  stderr: Output;
  now(): Date;
  /** Aborts at Ctrl-C, with an {@link Interruption} as its reason. Commands then delete what they have created. */
  signal: AbortSignal;
  fetch: typeof fetch;
  connectCluster(where: ConnectionOptions): Promise<Cluster>;
  connect(where: ConnectionOptions): Promise<Connection>;
  /** Opens a URL in a browser; returns false if there is none. */
  browse(url: string): Promise<boolean>;
}
