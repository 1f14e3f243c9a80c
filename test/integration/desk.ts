/**
 * A desk with what the reader of a page has at hand: a checkout, which may be changed, a cluster, and commands. Commands
 * are typed into bash. @module
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Cluster } from "../../dev/cluster/cluster.ts";
import { startBash, type Typed, typed } from "../bash.ts";
import { DOCKER, KUSTOMIZE, makeEngineRepository, makeRepository } from "./standins.ts";
import { PATIENCE_MS } from "../patience.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** What a test's own environment would tell those whom a reader starts. */
const OURS = /^(VITEST|HOOKBOX|KUBE|GIT_(?!SSL))/;

/** The desk. */
export interface Desk {
  /** The checkout, where commands are typed. */
  folder: string;
  /** Types commands; bash ends at the first that fails. */
  type(text: string): Promise<Typed>;
  /**
   * Types a command that stays, and resolves when its output says that it is up, with what ends it.
   *
   * @throws {Error} with its output if it ends before that, or takes too long
   */
  keep(line: string, isUp: RegExp): Promise<() => Promise<void>>;
}

/**
 * Sets it up in an empty folder: a copy of this checkout with a repository of its own, the commands, and a home with the
 * cluster's kubeconfig. Nobody reaches a network from it but the cluster's; what github.com has of Metacontroller is
 * next to the checkout.
 */
export function makeDesk(root: string, { kubectl, kubeconfig }: Cluster, helm: string): Desk {
  const [folder = "", bin = "", home = ""] = ["checkout", "bin", "home"].map((name) => join(root, name));
  copyCheckout(folder);
  mkdirSync(bin);
  const programs = { kubectl, helm, deno: join(ROOT, "node_modules/.bin/deno") };
  for (const [name, path] of Object.entries(programs)) symlinkSync(path, join(bin, name));
  const hookbox = `#!/bin/sh\nexec "${process.execPath}" "${join(ROOT, "packages/cli/main.ts")}" "$@"\n`;
  for (const [name, text] of Object.entries({ hookbox, docker: DOCKER, kustomize: KUSTOMIZE })) {
    writeFileSync(join(bin, name), text, { mode: 0o755 });
  }
  mkdirSync(join(home, ".kube"), { recursive: true });
  copyFileSync(kubeconfig, join(home, ".kube/config"));
  const kustomization = readFileSync(join(ROOT, "deploy/metacontroller/kustomization.yaml"), "utf8");
  const [, owner = "", tag = ""] = /(https:\/\/github\.com\/[^/]+\/).*\?ref=(\S+)/.exec(kustomization) ?? [];
  const github = join(root, "github");
  makeEngineRepository(github, tag);
  writeFileSync(join(home, ".gitconfig"), `[url "file://${github}/"]\n\tinsteadOf = ${owner}\n`);
  const env = {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !OURS.test(name))),
    HOME: home,
    PATH: `${bin}:${process.env["PATH"]}`,
    // Nobody listens there; the cluster is on the loopback address, which needs no proxy.
    HTTPS_PROXY: "http://127.0.0.1:1",
  };
  return {
    folder,
    type: (text) => typed(text, folder, env),
    async keep(line, isUp) {
      const { output, ended, stop } = startBash(line, folder, env);
      let hasEnded = false;
      void ended.then(() => hasEnded = true);
      const deadline = Date.now() + PATIENCE_MS;
      while (!isUp.test(output())) {
        if (hasEnded || Date.now() > deadline) {
          stop();
          throw new Error(`Cannot keep "${line}": ${hasEnded ? "it has ended" : "it is not up"}\n${output()}`);
        }
        await sleep(20);
      }
      return async () => {
        stop();
        await ended;
      };
    },
  };
}

/** Copies all files that git tracks or could add, as they are now, and makes a repository of them with one commit. */
function copyCheckout(folder: string): void {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: ROOT });
  // Where it is a symlink it is a file to git.
  const files = listed.toString().split("\0").filter((file) => file !== "" && file !== "node_modules");
  for (const file of files.filter((name) => existsSync(join(ROOT, name)))) {
    cpSync(join(ROOT, file), join(folder, file), { recursive: true, verbatimSymlinks: true });
  }
  makeRepository(folder, "before");
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}
