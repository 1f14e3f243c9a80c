/** Global setup of the tests on clusters: answers test files that ask for what they share, and ends it all. @module */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import type { TestProject } from "vitest/node";
import { importRuntimeImage } from "../../dev/cluster/runtimeimage.ts";
import type { Shared } from "./shared.ts";
import { installPacked, packAndInstall, startBare, startSuite, type Surroundings } from "./start.ts";

type Start<Name extends keyof Shared> = (around: Surroundings, share: Share) => Promise<Shared[Name]>;
type Share = <Name extends keyof Shared>(name: Name) => Promise<Shared[Name]>;

const STARTS: { readonly [Name in keyof Shared]: Start<Name> } = {
  suite: startSuite,
  bare: startBare,
  consumer: ({ directory }) => packAndInstall(join(directory, "consumer")),
  sdkConsumer: async ({ directory }, share) =>
    installPacked(join(directory, "sdkconsumer"), join((await share("consumer")).folder, "hookbox-[0-9]*.tgz")),
  runtimeImage: async (_, share) => {
    await importRuntimeImage(dirname((await share("suite")).kubeconfig));
    return {};
  },
};

export default async function setup({ vitest }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const root = vitest.getRootProject();
  // What is shared lives until all projects have ended: the second uses what the first has.
  if (root.getProvidedContext().sharedURL !== undefined) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "hookbox-test-"));
  const logs = process.env["HOOKBOX_TEST_LOGS"] ?? join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const stops: (() => Promise<void>)[] = [];
  const around: Surroundings = {
    directory,
    logs,
    say: (line) => process.stdout.write(`tests: ${line}\n`),
    atEnd: (stop) => void stops.push(stop),
  };
  const started = new Map<string, Promise<unknown>>();
  const share: Share = (name) => {
    const start = STARTS[name] as Start<typeof name>;
    if (!started.has(name)) started.set(name, start(around, share));
    return started.get(name) as Promise<Shared[typeof name]>;
  };
  const server = createServer(async ({ url = "" }, response) => {
    const name = url.slice(1) as keyof Shared;
    try {
      const value = await share(name);
      if (name === "suite") tellReport(root, value as Shared["suite"]);
      response.end(JSON.stringify(value));
    } catch (error) {
      response.writeHead(500).end((error as Error).message);
    }
  });
  // A first start takes minutes, in which nothing is said.
  server.requestTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  root.provide("sharedURL", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return async () => {
    server.closeAllConnections();
    server.close();
    await Promise.allSettled(started.values());
    for (const stop of stops.reverse()) await stop();
    rmSync(directory, { recursive: true, force: true });
  };
}

function tellReport(root: TestProject, { engine, nodes }: Shared["suite"]): void {
  root.provide("engine", engine);
  root.provide("nodes", nodes);
}
