/** Imports locally built images into the real node of a running cluster. @module */
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
 * Imports images into the real node of the cluster in a folder. Pods with imagePullPolicy IfNotPresent can use them. An
 * image of the same name is replaced.
 *
 * @throws {Error} if the cluster has no real node, or the node refuses an image
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
 * Adds another name to an image of the real node.
 *
 * @throws {Error} if the cluster has no real node, or the node does not have the image
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

/** Runs `ctr` in the real node. @param what what the command does, for the error */
async function runCtr({ first, ctr }: Container, args: string[], what: string): Promise<void> {
  // containerd's socket is only in the node's namespaces, and mounts by an import are removed together with them.
  const inside = ["--target", String(first.pid), "--mount", "--pid", "--"];
  try {
    await promisify(execFile)("nsenter", [...inside, ctr, "--namespace", "k8s.io", ...args]);
  } catch (error) {
    // The command can fail a moment before the node has completely ended.
    await sleep(500);
    if (!isRunning(first)) throw new Error(`Cannot start the real node: it has ended${logTail(first)}`);
    throw new Error(`Cannot ${what}: ${(error as { stderr?: string }).stderr ?? error}`);
  }
}

/** Returns this machine's processor architecture as it is named in images. */
function imageArchitecture(): string {
  return process.arch === "x64" ? "amd64" : process.arch;
}
