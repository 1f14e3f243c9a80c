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
  const node = readRecord(stateDir)?.realNode;
  if (!node?.container) throw new Error(`Cannot import images into ${stateDir}: its cluster has no real node`);
  const folder = mkdtempSync(join(tmpdir(), "hookbox-images-"));
  try {
    for (const image of images) {
      options.signal?.throwIfAborted();
      options.progress?.(`importing image ${image.name} …`);
      const archive = join(folder, "image.tar");
      writeFileSync(archive, await buildImageArchive(image, imageArchitecture()));
      await importArchive(node.container, archive, image.name);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function importArchive(
  { first, ctr }: NonNullable<RealNodeRecord["container"]>,
  archive: string,
  name: string,
): Promise<void> {
  // The node's namespaces hold containerd's socket, and what the import mounts goes with them.
  const inside = ["--target", String(first.pid), "--mount", "--pid", "--"];
  const args = ["--namespace", "k8s.io", "images", "import", "--local", archive];
  try {
    await promisify(execFile)("nsenter", [...inside, ctr, ...args]);
  } catch (error) {
    // The import fails a moment before the node has wholly ended.
    await sleep(500);
    if (!isRunning(first)) throw new Error(`Cannot start the real node: it has ended${logTail(first)}`);
    throw new Error(`Cannot import image ${name}: ${(error as { stderr?: string }).stderr ?? error}`);
  }
}

/** This machine's processor as images name it. */
function imageArchitecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}
