/** The demo on a cluster that exists: what its command line means, and how images get to the nodes. @module */
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { buildImage, loaderOf } from "../../../dev/demo/loaders.ts";
import { parseDemoOptions } from "../../../dev/demo/options.ts";
import { makeTempFolder } from "../../tempfolder.ts";

test.for([
  { args: [], want: { mode: "local", keep: false } },
  { args: ["--keep"], want: { mode: "local", keep: true } },
  { args: ["--help", "--image", "x"], want: { mode: "help" } },
])("without a context, $args is the demo on a cluster of its own", ({ args, want }) => {
  expect(parseDemoOptions(args)).toEqual(want);
});

test("a context has defaults, and a kubeconfig is relative to the folder of the user", () => {
  expect(parseDemoOptions(["--context", "kind-a", "--kubeconfig", "mine"], "/folder")).toEqual({
    mode: "context",
    context: "kind-a",
    kubeconfig: resolve("/folder/mine"),
    image: undefined,
    runtimeImage: undefined,
    namespace: "hookbox-demo",
    keep: false,
    remove: false,
  });
});

test.for([
  { args: ["--image", "x"], why: "--image needs --context" },
  { args: ["--remove"], why: "--remove needs --context" },
  { args: ["--context", ""], why: "--context is empty" },
  { args: ["--context", "a", "--keep", "--remove"], why: "Cannot use --keep and --remove together" },
  { args: ["--context", "a", "--namespace", "A_b"], why: 'Cannot create namespace "A_b"' },
  { args: ["--context", "a", "--namespace", "default"], why: "Cannot use namespace default: the demo deletes" },
  { args: ["--context", "a", "--namespace", "hookbox-system"], why: "Cannot use namespace hookbox-system" },
  { args: ["--contxt", "a"], why: "--contxt" },
])("it refuses $args", ({ args, why }) => {
  expect(() => parseDemoOptions(args)).toThrow(why);
});

test.for([
  { context: "kind-kind", want: "kind load docker-image h:1 --name kind" },
  { context: "kind-my-kind", want: "kind load docker-image h:1 --name my-kind" },
  { context: "k3d-dev", want: "k3d image import h:1 --cluster dev" },
  { context: "minikube", want: "minikube --profile minikube image load h:1" },
  { context: "second", provider: "minikube.sigs.k8s.io", want: "minikube --profile second image load h:1" },
])("an image is loaded into $context by its tool", ({ context, provider, want }) => {
  expect(loaderOf(context, provider)?.command("h:1")?.join(" ")).toBe(want);
});

test.for(["docker-desktop", "orbstack", "rancher-desktop", "colima", "colima-work"])(
  "the nodes of %s have docker's images, without a command",
  (context) => {
    const loader = loaderOf(context);
    expect(loader?.tool).toBe(context);
    expect(loader?.command("h:1")).toBeUndefined();
  },
);

test.for(["staging", "kind", "k3d", "my-kind-kind", "minikubes", "arn:aws:eks:eu-west-1:1:cluster/kind-a", "kind-"])(
  "the nodes of %s have to pull",
  (context) => {
    expect(loaderOf(context)).toBeUndefined();
  },
);

describe("buildImage()", () => {
  const { signal } = new AbortController();
  let folder: string;
  beforeEach(() => {
    folder = makeTempFolder();
    vi.stubEnv("PATH", folder);
    vi.spyOn(process.stdout, "write").mockReturnValue(true);
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.mocked(process.stdout.write).mockRestore();
  });
  const program = (name: string, code = 0) =>
    writeFileSync(join(folder, name), `#!/bin/sh\necho "${name} $*" >> ${folder}/calls\nexit ${code}\n`, {
      mode: 0o755,
    });
  const build = (context: string) =>
    buildImage("h:1", { file: "deploy/Containerfile", folder, loader: loaderOf(context)!, signal });

  test("has docker build the image, and the tool load it", async () => {
    program("docker");
    program("kind");
    await build("kind-a");
    expect(readFileSync(join(folder, "calls"), "utf8")).toBe(
      "docker build -f deploy/Containerfile -t h:1 .\nkind load docker-image h:1 --name a\n",
    );
  });

  test("loads nothing where the nodes use docker's images", async () => {
    program("docker");
    await build("orbstack");
    expect(readFileSync(join(folder, "calls"), "utf8")).not.toContain("load");
  });

  test.for([
    {
      name: "docker is not installed",
      has: [],
      why: "Cannot run docker: it is not installed. Install it, or name an image",
    },
    {
      name: "docker fails",
      has: [["docker", 3]],
      why: '-t h:1 .": exit code 3. If docker does not run, start it',
    },
    {
      name: "kind is not installed",
      has: [["docker", 0]],
      why: "Cannot run kind: it is not installed",
    },
  ] as { name: string; has: [string, number][]; why: string }[])("says what to do if $name", async ({ has, why }) => {
    for (const [name, code] of has) program(name, code);
    await expect(build("kind-a")).rejects.toThrow(why);
  });
});
