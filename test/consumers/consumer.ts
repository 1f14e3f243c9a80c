/** What a row of the table in docs/integrations.md is made of: a client that people install, and its result. @module */
import type { Row } from "../../dev/docs/integrations.ts";
import type { Stage } from "./stage.ts";

/** A client in one of its ways to connect, installed at one version. */
export interface Consumer {
  client: string;
  version: string;
  /** Which of its interfaces, and how it connects. */
  way: string;
  /** The command that runs it. */
  runs: "npm test" | "npm run soak -- consumers" | "npm run soak -- e2bintegrations";
  /** What a user must know. */
  note?: string;
  /** Uses the client on an installation. Absent: the client was not run, and `note` says why. */
  run?: (stage: Stage) => Promise<Checks>;
}

/** The result of each check, in order: `ok`, or what came instead. */
export type Checks = Record<string, string>;

/** Returns the row of a consumer. Addresses and names that differ each time are left out of what came instead. */
export function rowOf({ client, version, way, runs, note }: Consumer, checks: Checks | undefined): Row {
  const row = { client, version, way, runs, ...note === undefined ? {} : { note } };
  if (checks === undefined) return row;
  const failed = Object.entries(checks).filter(([, result]) => result !== "ok");
  const byResult = Map.groupBy(failed, ([, result]) => result.replaceAll(/https?:\/\/[^\s/]+[^\s'"]*/g, "URL"));
  const count = Object.keys(checks).length;
  return {
    ...row,
    passed: count - failed.length,
    checks: count,
    ...failed.length === 0
      ? {}
      : { failed: Object.fromEntries([...byResult].map(([result, list]) => [result, list.map(([name]) => name)])) },
  };
}

/** Names the file of a row. */
export function fileOf({ client, version, way }: Pick<Consumer, "client" | "version" | "way">): string {
  return `${[client, version, way].join(" ").toLowerCase().replaceAll(/[^a-z0-9.]+/g, "-")}.json`;
}
