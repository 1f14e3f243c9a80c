/** Runtimes to be tried, one that asks for a token and one that does not, each over a folder with something in it. @module */
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log } from "../../packages/process/log.ts";
import { variable } from "../../packages/process/runprocess.ts";
import { readOptions } from "../../packages/runtime/options.ts";
import { type Runtime, startRuntime } from "../../packages/runtime/start.ts";
import { CANARY } from "./secrets.ts";
import { FREE_PORTS } from "../runtime/freeports.ts";

/** Runtimes that listen, and what they log. */
export interface Runtimes {
  runtimes: Runtime[];
  /** Opens the first of them. */
  token: string;
  /** Of their logs; reading a line removes it. */
  lines: string[];
  /** What is outside of their folders, where no request may reach. */
  outside(): string;
  stop(): Promise<void>;
}

/** Starts them. @param folder for what they need */
export async function startRuntimes(folder: string): Promise<Runtimes> {
  const token = `${CANARY}-token`;
  const lines: string[] = [];
  const log: Log = (...said) => lines.push(JSON.stringify(said));
  writeFileSync(join(folder, "token"), token);
  writeFileSync(join(folder, "outside.txt"), OUTSIDE);
  const start = async (name: string, ...flags: string[]) => {
    const root = join(folder, name);
    mkdirSync(join(root, "folder"), { recursive: true });
    writeFileSync(join(root, "a.txt"), "hello");
    writeFileSync(join(root, "folder", "b.txt"), "world");
    symlinkSync("../outside.txt", join(root, "link"));
    const ports = [...FREE_PORTS, "--shutdown-timeout", "100ms"];
    const args = ["--root", root, "--host", "127.0.0.1", ...ports, "--exec-timeout", "5s", "--max-upload", "64Ki"];
    return await startRuntime(readOptions([...args, ...flags], variable)!, log);
  };
  const runtimes = [await start("guarded", "--token-file", join(folder, "token")), await start("open")];
  return {
    runtimes,
    token,
    lines,
    outside: () => readFileSync(join(folder, "outside.txt"), "utf8"),
    stop: async () => void await Promise.all(runtimes.map((runtime) => runtime.stop())),
  };
}

/** What must stay as it is. */
export const OUTSIDE = "must not change";
