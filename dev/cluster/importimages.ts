/** Brings images made on the spot into the real node of a running cluster. @module */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { buildImageArchive, type ImageSpec } from "./images.ts";
import { isRunning } from "./processes.ts";
import { readRecord, type RealNodeRecord } from "./state.ts";
import { logTail } from "./wait.ts";

/**
 * Imports images into the real node of the cluster in a folder; Pods with imagePullPolicy IfNotPresent can use them.
 * An image of the same name is replaced.
 *
 * @throws {Error} if the cluster has no real node or the node refuses an image
 */
export async function importImages(
  stateDir: string,
  images: ImageSpec[],
  options: { progress?: (line: string) => void; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const container = containerOf(stateDir);
  const folder = mkdtempSync(join(tmpdir(), "hookbox-images-"));
  try {
    for (const image of images) {
      options.signal?.throwIfAborted();
      options.progress?.(`importing image ${image.name} …`);
      const archive = join(folder, "image.tar");
      writeFileSync(archive, await buildImageArchive(image, imageArchitecture()));
      await runCtr(container, ["images", "import", "--local", archive], `import image ${image.name}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Gives an image of the real node another name, too.
 *
 * @throws {Error} if the cluster has no real node, or the node no such image
 */
export async function tagImage(stateDir: string, name: string, other: string): Promise<void> {
  await runCtr(containerOf(stateDir), ["images", "tag", "--force", name, other], `tag image ${name}`);
}

type Container = NonNullable<RealNodeRecord["container"]>;

function containerOf(stateDir: string): Container {
  const { container } = readRecord(stateDir)?.realNode ?? {};
  if (!container) throw new Error(`Cannot use the images of ${stateDir}: its cluster has no real node`);
  return container;
}

/** @param what it does, for the error */
async function runCtr({ first, ctr }: Container, args: string[], what: string): Promise<void> {
  // The node's namespaces hold containerd's socket, and what an import mounts goes with them.
  const inside = ["--target", String(first.pid), "--mount", "--pid", "--"];
  try {
    await promisify(execFile)("nsenter", [...inside, ctr, "--namespace", "k8s.io", ...args]);
  } catch (error) {
    // It fails a moment before the node has wholly ended.
    await sleep(500);
    if (!isRunning(first)) throw new Error(`Cannot start the real node: it has ended${logTail(first)}`);
    throw new Error(`Cannot ${what}: ${(error as { stderr?: string }).stderr ?? error}`);
  }
}

/** This machine's processor as images name it. */
function imageArchitecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}
