/** Runs hookbox's runtime in this process for the fake Pods, each with its own folder. @module */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RUNTIME_PORT } from "../api/router/protocol.ts";
import type { KubeObject } from "../api/objects/objects.ts";
import { assemble } from "../runtime/assemble.ts";
import { readOptions, type RuntimeOptions } from "../runtime/options.ts";
import type { PodPlace, PodWay } from "../sdk/transport/direct.ts";

/** Starts, reaches and ends the runtimes of fake Pods. */
export interface PodRuntimes extends PodWay {
  /** Ends the runtime of a deleted Pod, and removes its files unless the Pod had a volume. */
  end(pod: KubeObject): void;
  /** Ends all runtimes, and removes all files. */
  stop(): Promise<void>;
}

type Assembled = Awaited<ReturnType<typeof assemble>>;

/** Makes the runtimes; each starts with the first request to its Pod. */
export function createPodRuntimes(): PodRuntimes {
  const folder = mkdtempSync(join(tmpdir(), "hookbox-testing-"));
  const runtimes = new Map<string, { runtime: Promise<Assembled>; ending: AbortController }>();
  const rootOf = (key: string) => join(folder, key.replace("/", "."));
  const begin = (key: string) => {
    const ending = new AbortController();
    const root = rootOf(key);
    mkdirSync(root, { recursive: true });
    const signals = { stop: new AbortController().signal, kill: ending.signal };
    const runtime = assemble(readOptions(["--root", root]) as RuntimeOptions, () => {}, signals);
    runtimes.set(key, { runtime, ending });
    return runtime;
  };
  const end = async (key: string) => {
    const running = runtimes.get(key);
    runtimes.delete(key);
    running?.ending.abort();
    const { processes, contexts } = await running?.runtime ?? {};
    processes?.killAll();
    contexts?.killAll();
  };
  return {
    reach: (_, port) => Promise.resolve(new URL(`http://127.0.0.1:${port}`)),
    async send(pod, port, url, { signal, ...request }) {
      const init = { ...request, ...signal && { signal }, duplex: "half" } as RequestInit;
      if (port !== RUNTIME_PORT) return await fetch(url, init);
      const key = keyOf(pod);
      const { apps } = await (runtimes.get(key)?.runtime ?? begin(key));
      return await apps.rest.fetch(new Request(url, init));
    },
    end(pod) {
      const key = keyOf(pod.metadata);
      void end(key);
      if (!hasVolume(pod)) rmSync(rootOf(key), { recursive: true, force: true });
    },
    async stop() {
      await Promise.all([...runtimes.keys()].map(end));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function keyOf({ namespace = "", name }: { namespace?: string | undefined; name: string } | PodPlace): string {
  return `${namespace}/${name}`;
}

function hasVolume({ spec }: KubeObject): boolean {
  const { volumes = [] } = spec as { volumes?: { persistentVolumeClaim?: object }[] };
  return volumes.some(({ persistentVolumeClaim }) => persistentVolumeClaim !== undefined);
}
