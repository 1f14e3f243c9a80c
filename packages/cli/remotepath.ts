/** Parses paths of the command line: `sandbox:path`, or a path on this machine. @module */
import { UsageError } from "./failure.ts";

/** A path in a sandbox. */
export interface RemotePath {
  /** Name of a claim or Sandbox. */
  sandbox: string;
  /** Undefined: the namespace from the options. */
  namespace: string | undefined;
  /** Empty: the root of the sandbox. */
  path: string;
}

/** Allows only Kubernetes names, so that `C:\\x` and `./a:b` are paths on this machine. */
const REMOTE = /^(?:([a-z0-9][-a-z0-9]*)\/)?([a-z0-9][-a-z0-9.]+):(.*)$/s;

/** Parses `sandbox:path` or `namespace/sandbox:path`; undefined for a path on this machine. */
export function remotePath(text: string): RemotePath | undefined {
  const [, namespace, sandbox, path] = REMOTE.exec(text) ?? [];
  return sandbox === undefined || path === undefined ? undefined : { namespace, sandbox, path };
}

/** Parses the name of a sandbox, with or without a path. @throws {UsageError} if it is invalid */
export function sandboxPath(text: string): RemotePath {
  const remote = remotePath(text.includes(":") ? text : `${text}:`);
  if (remote) return remote;
  throw new UsageError(`Cannot look into "${text}": it is not SANDBOX or SANDBOX:PATH`);
}
