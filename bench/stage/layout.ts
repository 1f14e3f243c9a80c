/** How hookbox is laid out over processes. Data, no behaviour. @module */

/** A way to run hooks, keeper and engine. */
export interface Layout {
  about: string;
  /** What runs the hooks and the keeper. */
  runtime: "node" | "deno";
  /** Whether one process serves all hooks. */
  together: boolean;
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

/** What hookbox is laid out as unless something else is asked for. */
export const PLAIN: Layout = {
  runtime: "node",
  together: false,
  engines: "one",
  about: "each hook in a Node process of its own",
};

/** The layouts there are, by name; the first is the default. */
export const LAYOUTS: Readonly<Record<string, Layout>> = {
  node: PLAIN,
  deno: { ...PLAIN, runtime: "deno", about: "each hook in a Deno process of its own" },
  together: { ...PLAIN, together: true, about: "all hooks in one Node process" },
  "deno-together": { ...PLAIN, runtime: "deno", together: true, about: "all hooks in one Deno process" },
  lean: {
    ...PLAIN,
    runtime: "deno",
    together: true,
    engineEnv: { GOGC: "50" },
    about: "the same, and an engine that collects its garbage twice as often",
  },
  split: { ...PLAIN, engines: "by-controller", about: "two engines: one for pools, one for the rest" },
  sharded: {
    ...PLAIN,
    engines: "by-shard",
    about: "two engines: every other pool, and its Sandboxes, is the second's",
  },
};
