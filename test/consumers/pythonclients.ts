/** The published Python client, in each of its versions that we support, and in each way to connect. @module */
import { fileURLToPath } from "node:url";
import { CLIENT, type Packages, pythonWith } from "../clients/python.ts";
import type { Checks, Consumer } from "./consumer.ts";
import { OPEN_POOL, POOL, programOf, say, type Stage } from "./stage.ts";

const OLD: Packages = {
  name: "pythonclient-0.5.6",
  label: "the published Python client 0.5.6",
  requirements: fileURLToPath(new URL("requirements-0.5.6.txt", import.meta.url)),
};

const VERSIONS = { "1.0.8": CLIENT, "0.5.6": OLD };

interface Way {
  name: string;
  /** The class of the client's configuration, and its fields. */
  config: string;
  settings?: (stage: Stage) => object;
  /** Whether the client runs in a Pod. */
  isInside?: true;
  /** Versions that have it. @default all */
  since?: "1.0.8";
  /** Whether the asynchronous client has it. @default true */
  async?: false;
  note?: (version: string) => string | undefined;
  quick?: true;
}

const WAYS: Way[] = [
  {
    name: "through the router, with a bearer token",
    config: "SandboxDirectConnectionConfig",
    settings: ({ router, token }) => ({ api_url: router, extra_headers: { Authorization: `Bearer ${token}` } }),
    since: "1.0.8",
    quick: true,
  },
];

/** The rows of the client. */
export const PYTHON_CLIENTS: Consumer[] = Object.entries(VERSIONS).flatMap(([version, packages]) =>
  WAYS.filter(({ since = version }) => since === version).flatMap((way) =>
    [false, true].filter((isAsync) => !isAsync || way.async !== false).map((isAsync) => ({
      client: "k8s-agent-sandbox",
      version,
      way: `${isAsync ? "asynchronous" : "synchronous"}, ${way.name}`,
      runs: way.quick ? "npm test" as const : "npm run soak -- consumers" as const,
      ...noteOf(way, version),
      run: (stage: Stage) => work(stage, packages, way, isAsync),
    }))
  )
);

function noteOf({ note }: Way, version: string): { note?: string } {
  const text = note?.(version);
  return text === undefined ? {} : { note: text };
}

async function work(stage: Stage, packages: Packages, way: Way, asynchronous: boolean): Promise<Checks> {
  const { config, settings, isInside } = way;
  const python = await pythonWith(packages, say);
  const options = JSON.stringify({
    namespace: stage.ns.name,
    pool: isInside ? OPEN_POOL : POOL,
    asynchronous,
    config,
    settings: settings?.(stage) ?? {},
    sandboxd: config.startsWith("Sandboxd"),
  });
  const args = [programOf("client.py"), options];
  return JSON.parse(await (isInside ? stage.inside(python, args) : stage.here(python, args)));
}
