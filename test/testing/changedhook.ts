/** A hook that decides otherwise, to see whether that is noticed. @module */
import type { HookCalls } from "../../packages/webhook/hook.ts";
import { DEFAULT_SETTINGS, makeHooks } from "../../hooks/all.ts";

/** Returns the hooks of a test cluster, one of which has `to` in its answers where ours has `from`, as JSON. */
export function changedHook(name: string, from: string, to: string): Record<string, () => HookCalls> {
  const [hook] = makeHooks([name], DEFAULT_SETTINGS);
  if (!hook) throw new RangeError(`Cannot change hook ${name}: there is none`);
  const sync: typeof hook.sync = (...call) => JSON.parse(JSON.stringify(hook.sync(...call)).replaceAll(from, to));
  return { [name]: () => ({ ...hook, sync }) };
}
