/** node.sh restarts a program of the real node when it ends, unless the program fails to start. @module */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../tempfolder.ts";

const SCRIPT = readFileSync(new URL("../../../dev/cluster/node.sh", import.meta.url), "utf8");
const RUN = /^run\(\) \{\n[\s\S]*?^\}$/m.exec(SCRIPT)?.[0] ?? "";

/** Runs a command as the node does, on a clock of its own; returns how often it ran, and whether the node has ended. */
function played(lives: readonly number[]): { starts: number; hasEnded: boolean } {
  const folder = makeTempFolder();
  mkdirSync(join(folder, "logs"));
  const script = `
set -eu
NOW=0; STARTS=0; LIVES="${lives.join(" ")}"
date() { echo "$NOW"; }
kill() { echo "ended $STARTS"; exit 0; }
sleep() { :; }
program() {
  STARTS=$((STARTS + 1))
  set -- $LIVES
  # The last life lasts for ever: nothing more is to be seen.
  [ $# -gt 0 ] || { echo "up $STARTS" >"$STATE/up"; cat "$STATE/up" >&3; exit 0; }
  NOW=$((NOW + $1)); shift; LIVES="$*"
  return 1
}
${RUN}
run kubelet program
`;
  const env = { PATH: process.env["PATH"] ?? "", STATE: folder };
  const output = execFileSync("sh", ["-c", `exec 3>&1; ${script}`], { env, encoding: "utf8" });
  const [, how, starts] = /^(up|ended) (\d+)$/m.exec(output) ?? [];
  return { starts: Number(starts), hasEnded: how === "ended" };
}

test.for([
  { name: "what stays up is started once", lives: [], want: { starts: 1, hasEnded: false } },
  {
    name: "what has run a while is started again, however often",
    lives: [60, 10, 600, 60, 60, 60, 60],
    want: { starts: 8 },
  },
  {
    name: "what ends at once gets four more tries, and then the node ends",
    lives: [0, 0, 0, 0, 0],
    want: { starts: 5 },
  },
  { name: "a while in between begins the count anew", lives: [0, 1, 9, 0, 30, 1, 1, 1, 1], want: { starts: 10 } },
])("$name", ({ lives, want }) => {
  expect(played(lives)).toMatchObject({ hasEnded: want.starts <= lives.length, ...want });
});
