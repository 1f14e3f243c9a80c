/**
 * Takes CPU profiles of the measured part: from kube-apiserver and Metacontroller over HTTP, from Node processes when
 * they end. @module
 */
import { spawn } from "node:child_process";
import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Cluster } from "../../cluster/cluster.ts";
import { freePorts } from "../../cluster/ports.ts";

export interface Profiler {
  apiServerArgs: string[];
  /** Arguments for the real Metacontroller. The fake Metacontroller does not accept them. */
  engineArgs: string[];
  /** Arguments for a Node process, which then writes its profile when it ends. */
  nodeArgs(name: string): string[];
  /** Profiles kube-apiserver and Metacontroller for {@link SECONDS}, and Metacontroller's memory after that. */
  take(cluster: Cluster): Promise<void>;
}

/** Length of a profile in seconds. It must be known when the profile begins. */
const SECONDS = 30;

/**
 * Prepares profiles in a folder: `<process>.pb.gz` for `go tool pprof`, one of Metacontroller's memory too, and
 * `<process>.cpuprofile` for Node processes.
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
