/** @module */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { extract, type Header } from "tar-stream";
import { afterAll, describe, expect, test } from "vitest";
import { buildImageArchive, type ImageSpec } from "../../../dev/cluster/images.ts";

const folder = mkdtempSync(join(tmpdir(), "hookbox-images-"));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, "tree/inner"), { recursive: true });
writeFileSync(join(folder, "tree/inner/run"), "#!/bin/sh\n", { mode: 0o755 });
writeFileSync(join(folder, "tree/text"), "text", { mode: 0o640 });
symlinkSync("inner/run", join(folder, "tree/link"));

const SPEC: ImageSpec = {
  name: "docker.io/library/example:1",
  files: [
    { path: "/etc/conf", content: "x=1\n" },
    { path: "/bin/tool", from: join(folder, "tree/inner/run") },
    { path: "/bin/alias", link: "tool" },
    { path: "/tmp", folder: true, mode: 0o1777 },
    { path: "/srv", from: join(folder, "tree") },
  ],
  entrypoint: ["/bin/tool"],
  env: { A: "1" },
  user: "1000:1000",
};

interface File extends Header {
  content: Buffer;
}

async function untar(tar: Uint8Array): Promise<File[]> {
  const files: File[] = [];
  const reader = extract();
  reader.end(tar);
  for await (const entry of reader) {
    const parts: Buffer[] = [];
    for await (const part of entry) parts.push(part as Buffer);
    files.push({ ...entry.header, content: Buffer.concat(parts) });
  }
  return files;
}

/** Follows the archive from its index to the layer, checking every digest and size on the way. */
async function open(archive: Uint8Array) {
  const files = new Map((await untar(archive)).map((file) => [file.name, file.content]));
  const blob = ({ digest, size }: { digest: string; size: number }) => {
    const content = files.get(`blobs/${digest.replace(":", "/")}`) ?? Buffer.alloc(0);
    expect([`sha256:${createHash("sha256").update(content).digest("hex")}`, content.length]).toEqual([digest, size]);
    return content;
  };
  const json = (content: Buffer | undefined) => JSON.parse(content?.toString() ?? "null");
  const index = json(files.get("index.json"));
  const manifest = json(blob(index.manifests[0]));
  const layer = blob(manifest.layers[0]);
  return { files, index, config: json(blob(manifest.config)), manifest, layer: await untar(layer) };
}

describe("buildImageArchive()", async () => {
  const image = await open(await buildImageArchive(SPEC, "arm64"));
  const entry = (name: string) => image.layer.find((file) => file.name.replace(/\/$/, "") === name);

  test("makes an OCI layout with the image's name and platform", () => {
    expect(image.files.get("oci-layout")?.toString()).toBe('{"imageLayoutVersion":"1.0.0"}');
    expect(image.index.manifests[0].annotations["io.containerd.image.name"]).toBe(SPEC.name);
    expect(image.config).toMatchObject({ architecture: "arm64", os: "linux" });
    expect(image.config.rootfs.diff_ids).toEqual([image.manifest.layers[0].digest]);
  });

  test("says how to run it, and only what was asked for", () => {
    expect(image.config.config).toEqual({ Entrypoint: ["/bin/tool"], Env: ["A=1"], User: "1000:1000" });
  });

  test("holds contents, copies, links and folders with their modes", () => {
    expect([entry("etc/conf")?.content.toString(), entry("etc/conf")?.mode]).toEqual(["x=1\n", 0o644]);
    expect([entry("bin/tool")?.content.toString(), entry("bin/tool")?.mode]).toEqual(["#!/bin/sh\n", 0o755]);
    expect([entry("bin/alias")?.type, entry("bin/alias")?.linkname]).toEqual(["symlink", "tool"]);
    expect([entry("tmp")?.type, entry("tmp")?.mode]).toEqual(["directory", 0o1777]);
  });

  test("copies a folder with everything in it, links as links", () => {
    expect([entry("srv/text")?.content.toString(), entry("srv/text")?.mode]).toEqual(["text", 0o640]);
    expect(entry("srv/inner/run")?.mode).toBe(0o755);
    expect([entry("srv/link")?.type, entry("srv/link")?.linkname]).toEqual(["symlink", "inner/run"]);
  });

  test("has every folder once, before what is in it, and belongs to root", () => {
    const names = image.layer.map((file) => file.name.replace(/\/$/, ""));
    expect(new Set(names).size).toBe(names.length);
    for (const name of names.filter((name) => name.includes("/"))) {
      expect(names.indexOf(name.slice(0, name.lastIndexOf("/")))).toBeLessThan(names.indexOf(name));
      expect(names).toContain(name.slice(0, name.lastIndexOf("/")));
    }
    expect(image.layer.every((file) => file.uid === 0 && file.gid === 0)).toBe(true);
    expect(image.layer.every((file) => file.mtime.getTime() === 0)).toBe(true);
  });

  test("gives the same bytes for the same files", async () => {
    expect(await buildImageArchive(SPEC, "arm64")).toEqual(await buildImageArchive(SPEC, "arm64"));
  });
});
