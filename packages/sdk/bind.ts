/** Late binding: gives a running sandbox variables and files that are in no spec, such as keys. @module */
import { base64Encode } from "@bufbuild/protobuf/wire";
import { AuthenticationError, AuthorizationError, InvalidArgumentError, type SandboxError } from "./errors.ts";
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
  const answer = await send(client, {
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
  const answer = await send(client, { method: "DELETE", signal, action: "remove variables and files" });
  await answer.body?.cancel();
}

const REMEDY =
  "Late binding needs a router, a Secret hookbox-runtime-key in the namespace, and a template that passes " +
  "its token to the runtime: see docs/howto/secrets.md.";

/** All these requests may be sent again: the same one always gives the same result. */
async function send(
  client: RuntimeClient,
  request: Omit<Parameters<RuntimeClient["request"]>[1], "repeatable">,
): Promise<Response> {
  try {
    return await client.request("/v1/bind", { ...request, repeatable: true });
  } catch (error) {
    // With these reasons the runtime refuses, not the router.
    if (error instanceof AuthenticationError && error.reason === "UNAUTHENTICATED") {
      throw new AuthenticationError(withoutRemedy(error), { ...error, remedy: REMEDY });
    }
    if (error instanceof AuthorizationError && error.reason === "PERMISSION_DENIED") {
      throw new AuthorizationError(withoutRemedy(error), { ...error, remedy: REMEDY });
    }
    throw error;
  }
}

function withoutRemedy({ message, remedy }: SandboxError): string {
  return remedy === undefined ? message : message.slice(0, -`. ${remedy}`.length);
}
