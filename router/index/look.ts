/** Asks the API server for one Sandbox, where the watch may not have come that far. Writes nothing. @module */
import { type Api, pathOf } from "../../kube/api.ts";
import { errorFields, type Log } from "../../lib/log.ts";
import { readSandbox } from "./records.ts";
import type { SandboxIndex } from "./sandboxindex.ts";

/** Reads the Sandbox of that name into the index; returns when that is done, whatever came of it. */
export type Look = (namespace: string, name: string) => Promise<void>;

/** Somebody who asks for names that do not exist must not ask the API server as often. */
const LEAST_INTERVAL_MS = 1000;
const LOOKS_PER_SECOND = 50;
const REMEMBERED = 10_000;

/** Makes the look: one at a time for each name, once a second at most, and so many in all. */
export function createLook(api: Api, index: SandboxIndex, log: Log, now: () => number = Date.now): Look {
  const running = new Map<string, Promise<void>>();
  const lookedAt = new Map<string, number>();
  const budget = { second: 0, left: 0 };

  async function look(namespace: string, name: string): Promise<void> {
    try {
      const answer = await api.send({ method: "GET", path: pathOf({ resource: "sandboxes", namespace, name }) });
      const sandbox = answer.status === 200 ? readSandbox(answer.body) : undefined;
      if (sandbox) index.sandboxes.observe(sandbox);
    } catch (error) {
      log("warn", "Cannot look at a Sandbox", { namespace, name, ...errorFields(error), stack: undefined });
    }
  }

  function isAllowed(key: string): boolean {
    const time = now();
    const second = Math.floor(time / 1000);
    if (budget.second !== second) Object.assign(budget, { second, left: LOOKS_PER_SECOND });
    if (time - (lookedAt.get(key) ?? -Infinity) < LEAST_INTERVAL_MS || budget.left === 0) return false;
    budget.left--;
    lookedAt.delete(key);
    lookedAt.set(key, time);
    for (const oldest of lookedAt.keys()) {
      if (lookedAt.size <= REMEMBERED) break;
      lookedAt.delete(oldest);
    }
    return true;
  }

  return (namespace, name) => {
    const key = `${namespace}/${name}`;
    const already = running.get(key);
    if (already) return already;
    if (!isAllowed(key)) return Promise.resolve();
    const asked = look(namespace, name).finally(() => running.delete(key));
    running.set(key, asked);
    return asked;
  };
}
