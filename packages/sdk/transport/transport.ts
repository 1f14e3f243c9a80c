/** Types of the transports: how requests reach the ports of one sandbox. @module */
import { WAKE_HEADER } from "../../api/router/protocol.ts";

/** A request to a port. `body` is sent once: a stream cannot be sent again. */
export interface TransportRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | undefined;
  signal?: AbortSignal | undefined;
  /** Whether a browser sends and stores cookies for this request. @default same-origin */
  credentials?: "omit" | "same-origin" | undefined;
}

/** Headers of requests that must not resume a suspended sandbox. */
export const NO_WAKE: Record<string, string> = { [WAKE_HEADER]: "false" };

/** A command that the API server runs. */
export interface ExecRequest {
  command: string[];
  /** Whether standard input is open. */
  stdin: boolean;
  /** Size of the command's terminal. Absent: no terminal. */
  size?: { cols: number; rows: number };
  signal?: AbortSignal | undefined;
}

/** A command that the API server runs. It cannot be found again. It continues to run if the session ends first. */
export interface ExecSession {
  /** Output, and then the end of the command. @throws {@link ConnectionError} if the connection breaks before that */
  events: AsyncIterable<
    { type: "output"; stream: "stdout" | "stderr"; bytes: Uint8Array } | { type: "end"; exitCode: number }
  >;
  write(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  resize(size: { cols: number; rows: number }): Promise<void>;
  close(): void;
}

/** The connection to the ports of one sandbox. */
export interface SandboxTransport {
  /** Whether requests go through a router, directly to the Pod, or by port-forward through the API server. */
  kind: "router" | "direct" | "forward";
  /**
   * Sends a request to a port. Resolves with the response, of any status, when its headers have arrived.
   *
   * Requests that did not arrive are repeated. A suspended sandbox is resumed first.
   *
   * @param path starts with `/`, encoded
   * @throws {@link ConnectionError} if there is no response; it says whether the request can have arrived
   */
  fetch(port: number, path: string, request?: TransportRequest): Promise<Response>;
  /**
   * Runs a command in the first container of the Pod through the API server, as `kubectl exec` does. For sandboxes
   * without a runtime. Absent if this is not possible.
   */
  exec?(request: ExecRequest): Promise<ExecSession>;
  /**
   * Returns the URL at which programs on this machine reach a port, without a slash at the end.
   *
   * @param options `localPort`: the port of this machine, if the port is forwarded; by default a free one
   */
  address(
    port: number,
    options?: { signal?: AbortSignal | undefined; localPort?: number | undefined },
  ): Promise<URL>;
  /** Closes the connections that it opened. The sandbox continues to run. */
  close(): Promise<void>;
}
