/** How hookbox is laid out over processes. Data, no behaviour. @module */

/** A way to run hooks, keeper and engine. */
export interface Layout {
  about: string;
  /** What runs the hooks, the keeper and the binder. */
  runtime: "node" | "deno";
  /** Whether one process serves all hooks. */
  together: boolean;
  /** Whether the keeper's process runs the binder, too. */
  keeperBinds: boolean;
  /** Environment of the engine. */
  engineEnv?: Record<string, string>;
  /**
   * How many engines there are: `one`; two that share the controllers out (`by-controller`: pools beside the rest); or
   * two that share the objects out (`by-shard`: Sandboxes and pools by their label).
   */
  engines: "one" | "by-controller" | "by-shard";
}

/** Labels of the objects of either engine, where there are two. */
export const SHARDS = ["a", "b"] as const;

/** What hookbox is laid out as unless something else is asked for: as deploy/ installs it, but one of each. */
export const PLAIN: Layout = {
  runtime: "deno",
  together: false,
  keeperBinds: false,
  // Metacontroller's heap is small: its collector, and threads that look for work, take a seventh of its processor time.
  engineEnv: { GOGC: "200", GOMAXPROCS: "1" },
  engines: "one",
  about: "each hook in a Deno process of its own, Metacontroller on one processor",
};

/** The layouts there are, by name; the first is the default. */
export const LAYOUTS: Readonly<Record<string, Layout>> = {
  deno: PLAIN,
  node: { ...PLAIN, runtime: "node", about: "the same, but in Node" },
  defaults: { ...PLAIN, engineEnv: {}, about: "the same, but Metacontroller as Go runs it by default" },
  together: { ...PLAIN, runtime: "node", together: true, about: "all hooks in one Node process" },
  "deno-together": { ...PLAIN, together: true, about: "all hooks in one Deno process" },
  "keeper-binds": { ...PLAIN, keeperBinds: true, about: "as `deno`, but the keeper runs the binder, too" },
  lean: {
    ...PLAIN,
    together: true,
    keeperBinds: true,
    engineEnv: { GOGC: "50", GOMAXPROCS: "1" },
    about: "as little memory as may be: all hooks in one Deno process, binder and keeper in another",
  },
  split: { ...PLAIN, engines: "by-controller", about: "two engines: one for pools, one for the rest" },
  sharded: {
    ...PLAIN,
    engines: "by-shard",
    about: "two engines: every other pool, and its Sandboxes, is the second's",
  },
};
