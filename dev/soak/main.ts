/**
 * `npm run soak`: runs the random tests and the endurance tests at full length. `npm run soak -- flakes` runs the ordinary
 * tests many times under CPU load. `npm run soak -- e2b-latest` runs those of E2B's SDKs with the newest versions. All other arguments go to vitest. @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const [first, ...rest] = process.argv.slice(2);

if (first === "flakes") {
  const { findFlakes } = await import("./flakes.ts");
  process.exitCode = await findFlakes(rest, ROOT);
} else if (first === "e2b-latest") {
  const { tryLatest } = await import("./e2blatest.ts");
  process.exitCode = await tryLatest(rest, ROOT);
} else {
  const env = { ...process.env, HOOKBOX_TEST_SOAK: "1" };
  const args = ["run", ...process.argv.slice(2)];
  const child = spawn("vitest", args, { cwd: ROOT, env, stdio: "inherit" });
  // A terminal sends Ctrl-C to this process and to vitest. This process waits until vitest has ended.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => void child.kill(signal));
  const [code] = await once(child, "exit");
  process.exitCode = typeof code === "number" ? code : 1;
}
