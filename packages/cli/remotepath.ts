/** Where a path of the command line leads: `sandbox:path`, or this machine. Pure. @module */
import { UsageError } from "./failure.ts";

/** A path in a sandbox. */
export interface RemotePath {
  /** Name of a claim or Sandbox. */
  sandbox: string;
  /** Undefined: that of the options. */
  namespace: string | undefined;
  /** Empty: the sandbox's root. */
  path: string;
}

/** Names of Kubernetes, so that `C:\\x` and `./a:b` are of this machine. */
const REMOTE = /^(?:([a-z0-9][-a-z0-9]*)\/)?([a-z0-9][-a-z0-9.]+):(.*)$/s;

/** Reads `sandbox:path` or `namespace/sandbox:path`; undefined: it is a path of this machine. */
export function remotePath(text: string): RemotePath | undefined {
  const [, namespace, sandbox, path] = REMOTE.exec(text) ?? [];
  return sandbox === undefined || path === undefined ? undefined : { namespace, sandbox, path };
}

/** Reads what names a sandbox, with a path or without. @throws {UsageError} if it names none */
export function sandboxPath(text: string): RemotePath {
  const remote = remotePath(text.includes(":") ? text : `${text}:`);
  if (remote) return remote;
  throw new UsageError(`Cannot look into "${text}": it is not SANDBOX or SANDBOX:PATH`);
}
