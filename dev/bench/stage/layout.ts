/** Defines how hookbox is divided into processes. @module */

/** A way to run hooks, keeper, binder and Metacontroller. */
export interface Layout {
  about: string;
  /** The runtime of the hooks, the keeper and the binder. */
  runtime: "node" | "deno";
  /** Whether one process serves all hooks. */
  together: boolean;
  /** Whether the keeper's process also runs the binder. */
  keeperBinds: boolean;
  /** Environment of Metacontroller. */
  engineEnv?: Record<string, string>;
  /**
   * The number of Metacontrollers: `one`; or two that divide the controllers (`by-controller`: one has the pools, the
   * other the rest); or two that divide the objects (`by-shard`: Sandboxes and pools by their label).
   */
  engines: "one" | "by-controller" | "by-shard";
}

/** The shard labels of objects, if there are two Metacontrollers. */
export const SHARDS = ["a", "b"] as const;

/** The default layout: as deploy/ installs hookbox, but with one replica of each process. */
export const PLAIN: Layout = {
  runtime: "deno",
  together: false,
  keeperBinds: false,
  // Metacontroller's heap is small. With Go's defaults, its garbage collector and threads that search for work take a
  // seventh of its CPU time.
  engineEnv: { GOGC: "200", GOMAXPROCS: "1" },
  engines: "one",
  about: "each hook in a Deno process of its own, Metacontroller on one processor",
};

/** All layouts by name. The first is the default. */
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
    about: "as little memory as possible: all hooks in one Deno process, binder and keeper in another",
  },
  split: { ...PLAIN, engines: "by-controller", about: "two Metacontrollers: one for pools, one for the rest" },
  sharded: {
    ...PLAIN,
    engines: "by-shard",
    about: "two Metacontrollers: the second has every other pool and its Sandboxes",
  },
};
