/** Lists the files of images: busybox, Node and other programs of this machine with their shared libraries. @module */
import { execFileSync, spawnSync } from "node:child_process";
import process from "node:process";
import type { ImageFile, ImageSpec } from "./images.ts";
import { PAUSE_IMAGE } from "./nodeconfig.ts";

/** Names under which Pods can use busybox. */
const BUSYBOX_IMAGES = ["docker.io/library/busybox:1.37", "docker.io/library/busybox:latest"];

/** Path of Node in images that are built from this machine's files. */
export const NODE = "/usr/local/bin/node";

/**
 * Lists the files of a small root file system: busybox with its applets, users, and the usual empty folders. Other
 * images can be based on it.
 *
 * @param busybox path of a busybox that needs no libraries
 */
export function busyboxFiles(busybox: string): ImageFile[] {
  const applets = execFileSync(busybox, ["--list"], { encoding: "utf8" }).split("\n");
  const links = applets.filter((applet) => applet !== "" && applet !== "busybox");
  return [
    { path: "/bin/busybox", from: busybox, mode: 0o755 },
    ...links.map((applet) => ({ path: `/bin/${applet}`, link: "busybox" })),
    { path: "/etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n" },
    { path: "/etc/group", content: "root:x:0:\nnogroup:x:65534:\n" },
    { path: "/root", folder: true, mode: 0o700 },
    { path: "/tmp", folder: true, mode: 0o1777 },
    { path: "/var/tmp", folder: true, mode: 0o1777 },
  ];
}

/** The images to import before the first Pod starts. */
export function nodeImages(busybox: string): ImageSpec[] {
  const files = busyboxFiles(busybox);
  const pause: ImageSpec = {
    name: PAUSE_IMAGE,
    files: [{ path: "/bin/busybox", from: busybox, mode: 0o755 }],
    entrypoint: ["/bin/busybox", "sleep", "infinity"],
  };
  return [pause, ...BUSYBOX_IMAGES.map((name) => ({ name, files, command: ["sh"], env: { PATH: "/bin" } }))];
}

/** The files of the Node that runs this process, with its libraries. */
export function nodeFiles(): ImageFile[] {
  return [{ path: NODE, from: process.execPath, mode: 0o755 }, ...librariesFor(process.execPath)];
}

/** Lists the shared libraries that a program needs; none if it is statically linked. */
export function librariesFor(program: string): ImageFile[] {
  // ldd fails for a statically linked program.
  const { stdout } = spawnSync("ldd", [program], { encoding: "utf8" });
  return librariesOf(stdout).map((path) => ({ path, from: path, mode: 0o755 }));
}

/** Reads the paths of the libraries, including the loader, from the output of `ldd`. */
export function librariesOf(ldd: string): string[] {
  return [...ldd.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].map(([, path = ""]) => path);
}
