/** CPU profiles of the measured part: kube-apiserver's and Metacontroller's over HTTP, the Node processes' at their end. @module */
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Cluster } from "../../cluster/cluster.ts";
import { freePorts } from "../../cluster/ports.ts";

export interface Profiler {
  apiServerArgs: string[];
  /** Of the real Metacontroller; the stand-in takes none. */
  engineArgs: string[];
  /** For a Node process: it writes its profile when it ends. */
  nodeArgs(name: string): string[];
  /** Profiles kube-apiserver and Metacontroller for {@link SECONDS}, and Metacontroller's memory after that. */
  take(cluster: Cluster): Promise<void>;
}

/** How long a profile lasts: one has to say beforehand. */
const SECONDS = 30;

/**
 * Prepares profiles that go to a folder: `<process>.pb.gz` for `go tool pprof`, also of Metacontroller's memory, and
 * `<process>.cpuprofile` of Node's.
 */
export async function startProfiler(folder: string): Promise<Profiler> {
  mkdirSync(folder, { recursive: true });
  const [port = 0] = await freePorts(1);
  return {
    apiServerArgs: ["--profiling=true"],
    engineArgs: [`--pprof-address=127.0.0.1:${port}`],
    nodeArgs: (name) => ["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`],
    async take(cluster) {
      const path = `/debug/pprof/profile?seconds=${SECONDS}`;
      const ofEngine = (url: string, file: string) =>
        fetch(`http://127.0.0.1:${port}${url}`).then(
          async (answer) => writeFileSync(join(folder, file), new Uint8Array(await answer.arrayBuffer())),
          () => {},
        );
      const apiServer = fetchProfile(cluster, path, join(folder, "kube-apiserver.pb.gz"));
      await Promise.all([ofEngine(path, "engine.pb.gz"), apiServer]);
      await ofEngine("/debug/pprof/heap", "engine-heap.pb.gz");
    },
  };
}

async function fetchProfile({ kubectl, kubeconfig }: Cluster, path: string, file: string): Promise<void> {
  const child = spawn(kubectl, ["--kubeconfig", kubeconfig, "get", "--raw", path], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  await pipeline(child.stdout, createWriteStream(file));
}
