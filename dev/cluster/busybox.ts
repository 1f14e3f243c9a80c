/** The images that every real node has: a pause image for Pods and busybox to run in them. @module */
import { execFileSync } from "node:child_process";
import type { ImageFile, ImageSpec } from "./images.ts";
import { PAUSE_IMAGE } from "./nodeconfig.ts";

/** Names under which Pods can use busybox. */
export const BUSYBOX_IMAGES = ["docker.io/library/busybox:1.37", "docker.io/library/busybox:latest"];

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
