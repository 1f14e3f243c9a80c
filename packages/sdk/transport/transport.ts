/** How requests reach the ports of one sandbox: by router, straight to its Pod, or by port-forward. Types only. @module */
import { WAKE_HEADER } from "../../api/router/headers.ts";

/** A request to a port. `body` is sent once: a stream cannot be sent again. */
export interface TransportRequest {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | undefined;
  signal?: AbortSignal | undefined;
  /** Whether a browser's cookies go along, and those of the answer stay. @default same-origin */
  credentials?: "omit" | "same-origin" | undefined;
}

/** Headers of requests that only look at what goes on. */
export const NO_WAKE: Record<string, string> = { [WAKE_HEADER]: "false" };

/** A command for the API server to run. */
export interface ExecRequest {
  command: string[];
  /** Leaves standard input open. */
  stdin: boolean;
  /** Gives it a terminal of this size. */
  size?: { cols: number; rows: number };
  signal?: AbortSignal | undefined;
}

/** A command that the API server runs. It cannot be found again, and its end is not that of this session. */
export interface ExecSession {
  /** Ends with the command. @throws {@link ConnectionError} if the connection breaks before */
  events: AsyncIterable<
    { type: "output"; stream: "stdout" | "stderr"; bytes: Uint8Array } | { type: "end"; exitCode: number }
  >;
  write(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  resize(size: { cols: number; rows: number }): Promise<void>;
  close(): void;
}

/** A way to the ports of one sandbox. */
export interface SandboxTransport {
  /** Which way it is: through a router, straight to the Pod, or by port-forward through the API server. */
  kind: "router" | "direct" | "forward";
  /**
   * Sends a request to a port; resolves with an answer of any status, once its head is there.
   *
   * What never arrived is tried again, and a suspended sandbox is woken first.
   *
   * @param path begins with `/`, encoded
   * @throws {@link ConnectionError} if no answer comes; it says whether the request can have arrived
   */
  fetch(port: number, path: string, request?: TransportRequest): Promise<Response>;
  /**
   * Runs a command in the Pod's first container by the API server, as `kubectl exec` does: for sandboxes that have no
   * runtime. Absent: not on this way.
   */
  exec?(request: ExecRequest): Promise<ExecSession>;
  /** Returns where programs on this machine reach a port, without a slash at the end. */
  address(port: number, options?: { signal?: AbortSignal | undefined }): Promise<URL>;
  /** Closes what it has opened; the sandbox goes on. */
  close(): Promise<void>;
}
