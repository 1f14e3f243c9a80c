/** Builds images by buildah, with a store of images of its own. @module */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { needPackages } from "../cluster/apt.ts";
import { takesOverlays } from "../cluster/machine.ts";

/** A store of images, and what is done with it; each method throws if buildah fails. */
export interface Buildah {
  has(image: string): boolean;
  /** Makes an image of a folder. */
  commit(image: string, folder: string, entrypoint: readonly string[]): void;
  /** Builds an image from a Containerfile. @param args further arguments of `buildah build` */
  build(image: string, args: readonly string[]): void;
  /** @param to as containers-transports(5) has it */
  push(image: string, to: string): void;
  /** Has something done with the image's files. */
  mounted(image: string, use: (folder: string) => void): void;
}

/**
 * Opens the store in a folder, which is made if it is not there.
 *
 * @param root where build contexts are
 * @param log file descriptor that takes what buildah says
 * @throws {Error} if there is no buildah, and it cannot be installed
 */
export function openBuildah(folder: string, root: string, log: number): Buildah {
  needPackages({ buildah: "/usr/bin/buildah" });
  mkdirSync(folder, { recursive: true });
  const policyFile = join(folder, "policy.json");
  writeFileSync(policyFile, JSON.stringify({ default: [{ type: "insecureAcceptAnything" }] }));
  const policy = ["--signature-policy", policyFile];
  // Where overlays cannot be, each layer is a copy of all files.
  const driver = takesOverlays(folder) ? "overlay" : "vfs";
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
