/**
 * Cases of e2bmethods.ts: what methods of E2B's JavaScript SDKs return, git, and the builder of templates. A case may use
 * several methods.
 * @module
 */
import { type Sandbox as CodeInterpreter } from "@e2b/code-interpreter";
import {
  defaultBuildLogger,
  E2B,
  getSignature,
  Sandbox,
  Secret,
  Template,
  Volume,
  waitForFile,
  waitForPort,
  waitForProcess,
  waitForTimeout,
  waitForURL,
} from "e2b";
import { expect } from "vitest";

/** What the cases share. */
export interface Scene {
  /** One that each case may use, and that none may end. */
  sandbox: CodeInterpreter;
  options: { apiUrl: string; sandboxUrl: string; apiKey: string };
}

export type Case = (scene: Scene) => Promise<unknown>;

const commands: Case = async ({ sandbox }) => {
  const command = await sandbox.commands.run("cat", { background: true, stdin: true });
  await command.sendStdin("typed\n");
  await command.closeStdin();
  expect((await command.wait()).stdout).toBe("typed\n");
  const other = await sandbox.commands.run("sleep 600", { background: true });
  expect(await other.kill()).toBe(true);
  await (await sandbox.commands.run("true", { background: true })).disconnect();
};

const git: Case = async ({ sandbox: { commands, files, git } }) => {
  const home = (await commands.run("pwd")).stdout.trim();
  const here = { path: "repository", scope: "local" } as const;
  await git.init("repository", { initialBranch: "main" });
  await git.configureUser("One", "one@example.com", here);
  await git.setConfig("pull.rebase", "false", here);
  expect(await git.getConfig("user.name", here)).toBe("One");
  await files.write("repository/file", "1");
  expect((await git.status("repository")).hasUntracked).toBe(true);
  await git.add("repository");
  await git.commit("repository", "First");
  expect((await git.status("repository")).isClean).toBe(true);
  await git.createBranch("repository", "other");
  expect((await git.branches("repository")).currentBranch).toBe("other");
  await git.checkoutBranch("repository", "main");
  await git.deleteBranch("repository", "other");
  await files.write("repository/file", "2");
  await git.reset("repository", { mode: "hard" });
  await files.write("repository/file", "2");
  await git.restore("repository", { paths: ["file"] });
  expect(await files.read("repository/file")).toBe("1");
  await git.init("bare", { bare: true, initialBranch: "main" });
  await git.remoteAdd("repository", "origin", `${home}/bare`);
  expect(await git.remoteGet("repository", "origin")).toBe(`${home}/bare`);
  await git.push("repository", { remote: "origin", branch: "main" });
  await git.pull("repository", { remote: "origin", branch: "main" });
  await git.clone(`${home}/bare`, { path: "cloned" });
  expect(await files.read("cloned/file")).toBe("1");
  await git.dangerouslyAuthenticate({ username: "user", password: "password" });
};

const GIT = [
  ...["add", "branches", "checkoutBranch", "clone", "commit", "configureUser", "createBranch"],
  ...["dangerouslyAuthenticate", "deleteBranch", "getConfig", "init", "pull", "push", "remoteAdd", "remoteGet"],
  ...["reset", "restore", "setConfig", "status"],
];

/** Methods that describe a template, by their arguments. */
const BUILDING: Record<string, unknown[]> = {
  ...Object.fromEntries(
    ["Debian", "Ubuntu", "Fedora", "Alpine", "Arch", "Python", "Node", "Bun", "Base"].map((
      os,
    ) => [`from${os}Image`, []]),
  ),
  fromImage: ["a"],
  fromTemplate: ["base"],
  fromDockerfile: ["FROM a"],
  fromAWSRegistry: ["a", { accessKeyId: "a", secretAccessKey: "a", region: "a" }],
  fromGCPRegistry: ["a", { serviceAccountJSON: {} }],
  skipCache: [],
  addMcpServer: ["a"],
  aptInstall: ["a"],
  betaDevContainerPrebuild: ["a"],
  betaSetDevContainerStart: ["a"],
  bunInstall: ["a"],
  copy: ["*.none", "b"],
  copyItems: [[{ src: "*.none", dest: "b" }]],
  gitClone: ["https://example.com/a.git"],
  makeDir: ["a"],
  makeSymlink: ["a", "b"],
  npmInstall: ["a"],
  pipInstall: ["a"],
  remove: ["a"],
  rename: ["a", "b"],
  runCmd: ["a"],
  setEnvs: [{ A: "a" }],
  setReadyCmd: ["a"],
  setStartCmd: ["a", "b"],
  setUser: ["a"],
  setWorkdir: ["/a"],
};
/** The templates that these methods need to start from. */
const FROM: Record<string, string> = {
  addMcpServer: "mcp-gateway",
  betaDevContainerPrebuild: "devcontainer",
  betaSetDevContainerStart: "devcontainer",
};

function building(name: string, args: unknown[]): Case {
  return () => {
    const template = name.startsWith("from") ? Template() : Template().fromTemplate(FROM[name] ?? "base");
    const method: (...args: unknown[]) => unknown = Reflect.get(template, name);
    return Promise.resolve(expect(method.apply(template, args)).toBeInstanceOf(Object));
  };
}

/** The cases of the methods that work, by name. */
export const PARTS_WORKING: Record<string, Case> = {
  E2B: async ({ sandbox, options }) => {
    const client = new E2B(options);
    expect((await client.Sandbox.getInfo(sandbox.sandboxId)).sandboxId).toBe(sandbox.sandboxId);
  },
  ...Object.fromEntries(
    ["closeStdin", "disconnect", "kill", "sendStdin", "wait"].map((name) => [`command.${name}`, commands]),
  ),
  ...Object.fromEntries(GIT.map((name) => [`git.${name}`, git])),
  ...Object.fromEntries(Object.entries(BUILDING).map(([name, args]) => [`Template().${name}`, building(name, args)])),
  "sandboxes.nextItems": async ({ options }) =>
    expect((await Sandbox.list(options).nextItems()).length).toBeGreaterThan(0),
  "watch.stop": async ({ sandbox }) => {
    const watch = await sandbox.files.watchDir("/tmp", () => {});
    expect(await watch.stop()).toBeUndefined();
  },
  "ready.getCmd": () => Promise.resolve(expect(waitForPort(1).getCmd()).toBeTypeOf("string")),
  waitForFile: () => Promise.resolve(expect(waitForFile("a").getCmd()).toContain("a")),
  waitForPort: () => Promise.resolve(expect(waitForPort(81).getCmd()).toContain("81")),
  waitForProcess: () => Promise.resolve(expect(waitForProcess("a").getCmd()).toContain("a")),
  waitForTimeout: () => Promise.resolve(expect(waitForTimeout(1000).getCmd()).toContain("1")),
  waitForURL: () => Promise.resolve(expect(waitForURL("http://a").getCmd()).toContain("http://a")),
  defaultBuildLogger: () => Promise.resolve(expect(defaultBuildLogger()).toBeTypeOf("function")),
  getSignature: async () => {
    const given = { path: "a", operation: "read", user: "user", envdAccessToken: "token" } as const;
    expect((await getSignature(given)).signature).toMatch(/^v1_/);
  },
};

const ofVolume = (use: (volume: Volume) => Promise<unknown>): Case => async ({ options }) =>
  use(await Volume.connect("a", options));

/** The cases of the methods that hookbox refuses. */
export const PARTS_REFUSED: Record<string, Case> = {
  "snapshots.nextItems": ({ options }) => Sandbox.listSnapshots(options).nextItems(),
  "secrets.nextItems": ({ options }) => Secret.list(options).nextItems(),
  "volume.list": ofVolume((volume) => volume.list("/")),
  "volume.makeDir": ofVolume((volume) => volume.makeDir("a")),
  "volume.getInfo": ofVolume((volume) => volume.getInfo("a")),
  "volume.exists": ofVolume((volume) => volume.exists("a")),
  "volume.updateMetadata": ofVolume((volume) => volume.updateMetadata("a", {})),
  "volume.readFile": ofVolume((volume) => volume.readFile("a")),
  "volume.writeFile": ofVolume((volume) => volume.writeFile("a", "a")),
  "volume.remove": ofVolume((volume) => volume.remove("a")),
};

/** Exported classes that only hold data or settings. */
const DATA = ["ApiClient", "ConnectionConfig", "LogEntry", "LogEntryEnd", "LogEntryStart"];

/** Names the classes and functions of a module that are neither errors nor only hold data. */
export function exportsOf(module: object): string[] {
  const isError = (value: { prototype?: unknown }) => value.prototype instanceof Error;
  return Object.entries(module).filter(([name, value]) =>
    typeof value === "function" && !isError(value) && !DATA.includes(name) && name !== "default"
  ).map(([name]) => name);
}

/** The objects that methods return, by their names in the cases. */
export async function returned({ sandbox, options }: Scene): Promise<Record<string, object>> {
  const command = await sandbox.commands.run("true", { background: true });
  const watch = await sandbox.files.watchDir("/tmp", () => {});
  await Promise.all([command.wait(), watch.stop()]);
  return {
    // Their own fields are functions, too.
    ...{ command: Object.getPrototypeOf(command), watch: Object.getPrototypeOf(watch) },
    ...{ ready: waitForPort(1), "Template()": Template() },
    sandboxes: Sandbox.list(options),
    snapshots: Sandbox.listSnapshots(options),
    secrets: Secret.list(options),
    volume: Volume.prototype,
  };
}
