/** Functions of the binder in another form, each while its switch is on. For `vi.mock`. @module */
import type * as writes from "../../../packages/binder/writes.ts";
import type { Switch } from "./mutant.ts";

/** The one that is on; undefined: none is, and all is as in the product. */
export const switched: { on: Switch | undefined } = { on: undefined };

/** Looks for nothing where no answer comes. */
export function rashWrites(actual: typeof writes): typeof writes {
  return {
    ...actual,
    async putSandbox(api, sandbox, claim) {
      if (switched.on !== "rash") return await actual.putSandbox(api, sandbox, claim);
      const send = (request: Parameters<typeof api.send>[0]) =>
        api.send(request).catch(() => ({ status: 409, body: {} }));
      return await actual.putSandbox({ ...api, send }, sandbox, claim);
    },
    findOwn: (...look) => switched.on === "rash" ? Promise.resolve(undefined) : actual.findOwn(...look),
  };
}
