/** Builds images with buildah, in its own image store. @module */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages, supportsOverlayMounts } from "../cluster/machine.ts";

/** An image store and its operations. Each method throws if buildah fails. */
export interface Buildah {
  has(image: string): boolean;
  /** Creates an image from a folder. */
  commit(image: string, folder: string, entrypoint: readonly string[]): void;
  /** Builds an image from a Containerfile. @param args further arguments of `buildah build` */
  build(image: string, args: readonly string[]): void;
  /** Pushes an image. @param to a destination as in containers-transports(5) */
  push(image: string, to: string): void;
  /** Mounts an image, and calls `use` with the folder of its files. */
  mounted(image: string, use: (folder: string) => void): void;
}

/**
 * Opens the store in a folder. The folder is created if it does not exist.
 *
 * @param root folder of the build contexts
 * @param log file descriptor for buildah's output
 * @throws {Error} if buildah is not installed and cannot be installed
 */
export function openBuildah(folder: string, root: string, log: number): Buildah {
  ensurePackages({ buildah: "/usr/bin/buildah" });
  mkdirSync(folder, { recursive: true });
  const policyFile = join(folder, "policy.json");
  writeFileSync(policyFile, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
  const policy = ["--signature-policy", policyFile];
  // Without overlays, each layer is a copy of all files.
  const driver = supportsOverlayMounts(folder) ? "overlay" : "vfs";
  const store = ["--root", join(folder, driver), "--runroot", join(folder, "run"), "--storage-driver", driver];
  const run = (...args: string[]) =>
    execFileSync("buildah", [...store, ...args], { cwd: root, stdio: ["ignore", "pipe", log], encoding: "utf8" });
  return {
    has: (image) => run("images", "--format", "{{.Name}}").split("\n").includes(image),
    commit(image, from, entrypoint) {
      const container = run("from", "scratch").trim();
      run("add", container, from, "/");
      run("config", "--entrypoint", JSON.stringify(entrypoint), "--cmd", "", container);
      run("commit", ...policy, "--rm", container, image);
    },
    build: (image, args) =>
      void run("build", "--isolation", "chroot", "--pull=never", "--layers", ...policy, "--tag", image, ...args, "."),
    push: (image, to) => void run("push", ...policy, "--tls-verify=false", image, to),
    mounted(image, use) {
      const container = run("from", ...policy, "--pull=never", image).trim();
      try {
        use(run("mount", container).trim());
      } finally {
        run("rm", container);
      }
    },
  };
}
