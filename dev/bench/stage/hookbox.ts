/** Starts hookbox from a checkout: its CRDs, hooks, Metacontrollers, keeper and binder. @module */
import { type StartedMetacontroller } from "../../metacontroller/start.ts";
import { startEngines } from "./engines.ts";
import { partOf, startHooks, startKeeperAndBinder } from "./hooks.ts";
import type { Layout } from "./layout.ts";
import type { Controllers } from "./local.ts";

/**
 * Returns hookbox as an implementation. @param checkout root of the checkout whose hooks, controllers and keeper run;
 * its packages must be installed
 */
export function hookboxControllers(checkout: string, layout: Layout): Controllers {
  return {
    async crds() {
      return (await partOf<typeof import("../../crds.ts")>(checkout, "dev/crds.ts")).localCRDs();
    },
    async start({ cluster, stops, ...ground }) {
      const start = { ...ground, checkout, layout };
      const { urls: hookURLs, urlOf } = await startHooks(start);
      const engines: StartedMetacontroller[] = [];
      stops.push(() => Promise.all(engines.map((engine) => engine.stop())));
      await startEngines(start, cluster, urlOf, engines);
      startKeeperAndBinder(start, cluster.kubeconfig);
      return {
        hookURLs,
        engines: engines.map(({ pid }, index) => ({ name: index === 0 ? "engine" : `engine ${index + 1}`, pid })),
        engine: engineName(engines),
      };
    },
  };
}

function engineName([engine]: StartedMetacontroller[]): string {
  return `${engine?.kind === "real" ? "Metacontroller" : "the fake Metacontroller"} ${engine?.version}`;
}
