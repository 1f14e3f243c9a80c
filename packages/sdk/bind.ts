/** Late binding: gives a running sandbox variables and files that are in no spec, such as keys. @module */
import { base64Encode } from "@bufbuild/protobuf/wire";
import { InvalidArgumentError } from "./errors.ts";
import { modeText } from "./files/write.ts";
import type { CallOptions } from "./runtime/call.ts";
import type { RuntimeClient } from "./runtime/runtimeclient.ts";

/** What to give a sandbox. */
export interface BindOptions extends CallOptions {
  /**
   * Environment variables for commands, code and terminals that start from now on. Those that run keep the variables
   * that they have.
   */
  env?: Record<string, string> | undefined;
  files?: BoundFile[] | undefined;
}

/** A file to give a sandbox. */
export interface BoundFile {
  path: string;
  /** At most 16 MiB for all files together. */
  data: string | Uint8Array;
  /** Permission bits. @default 0o600 */
  mode?: number | undefined;
}

/** The names of everything that a sandbox was given; never values. */
export interface Bound {
  /** Names of the variables, sorted. */
  env: string[];
  /** Paths of the files, as the runtime reports them, sorted. */
  files: string[];
}

const PATH = "/v1/bind";
const COMMON = {
  // The same request always gives the same result.
  repeatable: true,
  remedy: "Late binding needs a router, a Secret hookbox-runtime-key in the namespace, and a template that passes " +
    "its token to the runtime: see docs/howto/secrets.md.",
};

/**
 * Adds variables and files to those that the sandbox was given before; one of the same name is replaced. If a file
 * cannot be written, nothing changes.
 */
export async function bind(client: RuntimeClient, { env = {}, files = [], signal }: BindOptions): Promise<Bound> {
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== "string") {
      throw new InvalidArgumentError(`Cannot bind variable ${name}: its value is not a string`);
    }
  }
  const delivery = {
    env,
    files: files.map(({ path, data, mode }) => ({
      path,
      ...(typeof data === "string" ? { content: data } : { content_base64: base64Encode(data) }),
      ...(mode === undefined ? {} : { mode: modeText(mode) }),
    })),
  };
  const answer = await client.request(PATH, {
    ...COMMON,
    method: "PATCH",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(delivery),
    signal,
    action: "bind variables and files",
  });
  const bound = await answer.json() as Bound;
  return { env: bound.env, files: bound.files };
}

/** Removes all variables and files that the sandbox was given. Running processes keep their variables. */
export async function unbind(client: RuntimeClient, { signal }: CallOptions): Promise<void> {
  const request = { ...COMMON, method: "DELETE", signal, action: "remove variables and files" };
  const answer = await client.request(PATH, request);
  await answer.body?.cancel();
}
