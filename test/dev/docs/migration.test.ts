/** docs/migration.md lists the settings of the Go controller, and every flag of hookbox that it names exists. @module */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (page: string) => readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8");
const TEXT = read("migration.md");
/** Made from the tables of all processes. */
const FLAGS = read("reference/flags.md");
const [, TABLE = ""] = /^(\| of the Go controller .*(?:\n\|.*)*)/m.exec(TEXT) ?? [];
const ROWS = TABLE.split("\n").slice(2).map((row) => row.split("|").slice(1, 3).map((cell) => cell.trim()));
const flagsIn = (text: string) => text.match(/--[a-z][a-z-]*/g) ?? [];
/** Of Metacontroller, and of what runs JavaScript. */
const OF_OTHERS = ["--workers", "--client-go-qps", "--client-go-burst", "--inspect"];

test.for([
  "agent-sandbox-config`, the readiness grace period",
  "agent-sandbox-config`, `allowed-label-domains",
  "--api-connections",
  "--separate-watch-connection",
  "--cache-label-selectors",
  "--sandbox-write-behind-window",
  "--sandbox-warm-pool-",
  "--disable-sandbox-events",
])("%s of the Go controller is in the table", (setting) => {
  expect(ROWS.filter(([theirs]) => theirs?.includes(setting))).toHaveLength(1);
});

test("what is to be set here can be set", () => {
  const known = new Set([...flagsIn(FLAGS), ...OF_OTHERS]);
  const same = ROWS.filter(([, ours]) => ours?.startsWith("the same")).flatMap(([theirs = ""]) => flagsIn(theirs));
  const named = [...same, ...ROWS.flatMap(([, ours = ""]) => flagsIn(ours))];
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((flag) => !known.has(flag))).toEqual([]);
});
