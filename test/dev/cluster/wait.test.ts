/** @module */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { logTail, thisProcess, waitUntil } from "../../../dev/cluster/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "hookbox-wait-"));
afterAll(() => rmSync(folder, { recursive: true }));
const logFile = join(folder, "etcd.log");
writeFileSync(logFile, Array.from({ length: 40 }, (_, index) => `line ${index}\n`).join(""));
const gone = { name: "etcd", pid: thisProcess().pid, startTime: "1", logFile };

test("waitUntil() asks again until it is there, whatever went wrong before", async () => {
  let asked = 0;
  const probe = () => ++asked < 3 ? Promise.reject(new Error("refused")) : Promise.resolve(true);
  await waitUntil({ what: "x", probe, needs: [thisProcess()], timeoutSeconds: 10, everyMilliseconds: 1 });
  expect(asked).toBe(3);
});

test("waitUntil() says first what failed, then shows the end of the log of the process that ended", async () => {
  const probe = () => Promise.resolve(false);
  const waiting = waitUntil({ what: "kube-apiserver", probe, needs: [thisProcess(), gone], timeoutSeconds: 10 });
  const error = await waiting.catch((error: Error) => error.message);
  expect(error).toMatch(/^Cannot start kube-apiserver: etcd has ended\nLast lines of .*etcd\.log:\n {2}line 25\n/);
  expect(error).toMatch(/line 39$/);
});

test("waitUntil() names the last error when the time is up", async () => {
  const probe = () => Promise.reject(new Error("connection refused"));
  const waiting = waitUntil({ what: "etcd", probe, needs: [], timeoutSeconds: 0.05, everyMilliseconds: 5 });
  await expect(waiting).rejects.toThrow("Cannot start etcd: not ready after 0.05 s (connection refused)");
});

test("waitUntil() ends with the signal", async () => {
  const abort = new AbortController();
  const probe = () => {
    abort.abort(new Error("enough"));
    return Promise.resolve(false);
  };
  const waiting = waitUntil({ what: "x", probe, needs: [], timeoutSeconds: 10, signal: abort.signal });
  await expect(waiting).rejects.toThrow();
  expect(abort.signal.aborted).toBe(true);
});

test("logTail() is empty where there is no log", () => {
  expect(logTail({ ...gone, logFile: join(folder, "none.log") })).toBe("");
  expect(logTail(thisProcess())).toBe("");
});
