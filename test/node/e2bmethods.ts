/** Every exported method of E2B's JavaScript SDKs, and what hookbox makes of it: the rows of docs/e2b.md. @module */
import * as interpreter from "@e2b/code-interpreter";
import * as e2b from "e2b";
import { expect } from "vitest";
import { eventually } from "../eventually.ts";
import { type Case, exportsOf, PARTS_REFUSED, PARTS_WORKING, returned, type Scene } from "./e2bparts.ts";

const { Sandbox } = interpreter;
const { Secret, Template, Volume } = e2b;
type Sandbox = interpreter.Sandbox;

/** What a method does on hookbox. */
export interface Outcome {
  method: string;
  result: "works" | "differs" | "refused";
  /** The difference, or the sentence with which it is refused. */
  note?: string;
}

const NARROWS = "can only narrow what the template's egress proxy allows";
const differs: Record<string, string> = {
  "Sandbox.pause": "keeps files, and no processes; needs a template with a volume",
  "sandbox.pause": "keeps files, and no processes; needs a template with a volume",
  "sandbox.betaPause": "keeps files, and no processes; needs a template with a volume",
  "Sandbox.betaPause": "keeps files, and no processes; needs a template with a volume",
  "sandbox.getMetrics": "one measurement, of this moment",
  "Sandbox.getMetrics": "one measurement, of this moment",
  "Sandbox.updateNetwork": NARROWS,
  "sandbox.updateNetwork": NARROWS,
  "sandbox.getHost": "the host needs --domain of the router",
  "sandbox.getMcpUrl": "the host needs --domain of the router, and a server in the sandbox",
  "sandbox.getMcpToken": "needs a server in the sandbox that writes it",
  "Secret.fill": "only a text: hookbox replaces no placeholders",
  "Secret.iamToken": "only an object: hookbox replaces no placeholders",
  "Template.toDockerfile": "only a text: hookbox builds no templates",
  "Template.toJSON": "only a text: hookbox builds no templates",
  "sandbox.uploadUrl": "the URL needs --domain of the router",
  "sandbox.downloadUrl": "the URL needs --domain of the router",
};

/** Returns how a method differs from E2B's; undefined: it does not. */
export function differenceOf(method: string): string | undefined {
  return method.startsWith("Template().") ? "only describes a template: hookbox builds none" : differs[method];
}

/** Pauses one sandbox in both ways, and ends it. */
const paused: Case = async ({ options }) => {
  const sandbox = await Sandbox.create(options);
  expect(await sandbox.pause()).toBe(true);
  expect(await sandbox.betaPause()).toBe(false);
  expect(await sandbox.kill()).toBe(true);
};
const pausedByName: Case = async ({ options }) => {
  const { sandboxId } = await Sandbox.create(options);
  expect(await Sandbox.betaPause(sandboxId, options)).toBe(true);
  expect(await Sandbox.pause(sandboxId, options)).toBe(false);
  expect(await Sandbox.kill(sandboxId, options)).toBe(true);
};

/** The cases of the methods that work, by name. */
const WORKING: Record<string, Case> = {
  "Sandbox.create": ({ sandbox }) => Promise.resolve(expect(sandbox.sandboxId).toMatch(/^[a-z0-9]{20}$/)),
  "Sandbox.connect": async ({ sandbox, options }) =>
    expect((await Sandbox.connect(sandbox.sandboxId, options)).sandboxId).toBe(sandbox.sandboxId),
  "Sandbox.list": async ({ options }) => expect((await Sandbox.list(options).nextItems()).length).toBeGreaterThan(0),
  "Sandbox.getInfo": async ({ sandbox, options }) =>
    expect((await Sandbox.getInfo(sandbox.sandboxId, options)).state).toBe("running"),
  "Sandbox.getFullInfo": async ({ sandbox, options }) =>
    expect(await Sandbox.getFullInfo(sandbox.sandboxId, options)).toMatchObject({ sandboxId: sandbox.sandboxId }),
  "Sandbox.getMetrics": async ({ sandbox, options }) =>
    expect(await Sandbox.getMetrics(sandbox.sandboxId, options)).toHaveLength(1),
  "Sandbox.setTimeout": ({ sandbox, options }) => Sandbox.setTimeout(sandbox.sandboxId, 600_000, options),
  "Sandbox.pause": pausedByName,
  "Sandbox.betaPause": pausedByName,
  "Sandbox.kill": pausedByName,
  "Sandbox.updateNetwork": ({ sandbox, options }) => Sandbox.updateNetwork(sandbox.sandboxId, {}, options),
  "sandbox.updateNetwork": async ({ sandbox }) => {
    await sandbox.updateNetwork({});
    await expect(sandbox.updateNetwork({ allowInternetAccess: false })).rejects.toThrow("agents.x-k8s.io/egress-allow");
  },
  "sandbox.connect": ({ sandbox }) => sandbox.connect(),
  "sandbox.getHost": ({ sandbox }) => Promise.resolve(expect(sandbox.getHost(3000)).toContain(sandbox.sandboxId)),
  "sandbox.getMcpUrl": ({ sandbox }) => Promise.resolve(expect(sandbox.getMcpUrl()).toContain("50005-")),
  "sandbox.getMcpToken": async ({ sandbox }) => {
    await sandbox.files.write("/etc/mcp-gateway/.token", "t", { user: "root" });
    expect(await sandbox.getMcpToken()).toBe("t");
  },
  "sandbox.isRunning": async ({ sandbox }) => expect(await sandbox.isRunning()).toBe(true),
  "sandbox.setTimeout": ({ sandbox }) => sandbox.setTimeout(600_000),
  "sandbox.kill": paused,
  "sandbox.pause": paused,
  "sandbox.betaPause": paused,
  "sandbox.uploadUrl": async ({ sandbox }) => expect(await sandbox.uploadUrl("a")).toContain("signature="),
  "sandbox.downloadUrl": async ({ sandbox }) => expect(await sandbox.downloadUrl("a")).toContain("signature="),
  "sandbox.getInfo": async ({ sandbox }) => expect((await sandbox.getInfo()).state).toBe("running"),
  "sandbox.getMetrics": async ({ sandbox }) => expect(await sandbox.getMetrics()).toHaveLength(1),
  "sandbox.runCode": async ({ sandbox }) => expect((await sandbox.runCode("6 * 7")).text).toBe("42"),
  "sandbox.createCodeContext": async ({ sandbox }) => {
    const context = await sandbox.createCodeContext({ language: "javascript" });
    expect((await sandbox.runCode("6 * 7", { context })).text).toBe("42");
  },
  "sandbox.listCodeContexts": async ({ sandbox }) =>
    expect((await sandbox.listCodeContexts()).length).toBeGreaterThan(0),
  "sandbox.restartCodeContext": async ({ sandbox }) => {
    const context = await sandbox.createCodeContext();
    await sandbox.runCode("x = 1", { context });
    await sandbox.restartCodeContext(context);
    expect((await sandbox.runCode("x", { context })).error?.name).toBe("NameError");
  },
  "sandbox.removeCodeContext": async ({ sandbox }) => {
    const context = await sandbox.createCodeContext();
    await sandbox.removeCodeContext(context);
    expect((await sandbox.listCodeContexts()).map(({ id }) => id)).not.toContain(context.id);
  },
  "commands.run": async ({ sandbox }) => expect((await sandbox.commands.run("echo a")).stdout).toBe("a\n"),
  "commands.list": async ({ sandbox }) => {
    const running = await sandbox.commands.run("sleep 60", { background: true });
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(running.pid);
    await running.kill();
  },
  "commands.connect": async ({ sandbox }) => {
    const { pid } = await sandbox.commands.run("head -1", { background: true, stdin: true });
    const again = await sandbox.commands.connect(pid);
    await sandbox.commands.sendStdin(pid, "late\n");
    expect((await again.wait()).stdout).toBe("late\n");
  },
  "commands.sendStdin": async ({ sandbox }) => {
    const running = await sandbox.commands.run("head -1", { background: true, stdin: true });
    await sandbox.commands.sendStdin(running.pid, "typed\n");
    expect((await running.wait()).stdout).toBe("typed\n");
  },
  "commands.closeStdin": async ({ sandbox }) => {
    const running = await sandbox.commands.run("wc -c", { background: true, stdin: true });
    await sandbox.commands.closeStdin(running.pid);
    expect((await running.wait()).stdout.trim()).toBe("0");
  },
  "commands.kill": async ({ sandbox }) => {
    const { pid } = await sandbox.commands.run("sleep 60", { background: true });
    expect(await sandbox.commands.kill(pid)).toBe(true);
  },
  "files.write": async ({ sandbox }) => expect((await sandbox.files.write("w.txt", "w")).name).toBe("w.txt"),
  "files.writeFiles": async ({ sandbox }) =>
    expect(await sandbox.files.writeFiles([{ path: "m/a", data: "a" }, { path: "m/b", data: "b" }])).toHaveLength(2),
  "files.read": async ({ sandbox }) => {
    await sandbox.files.write("r.txt", "r");
    expect(await sandbox.files.read("r.txt")).toBe("r");
  },
  "files.list": async ({ sandbox }) => {
    await sandbox.files.write("l/a", "a");
    expect((await sandbox.files.list("l")).map(({ name }) => name)).toEqual(["a"]);
  },
  "files.makeDir": async ({ sandbox }) => expect(await sandbox.files.makeDir(`d${Date.now()}`)).toBe(true),
  "files.rename": async ({ sandbox }) => {
    await sandbox.files.write("old", "x");
    expect((await sandbox.files.rename("old", "new")).name).toBe("new");
  },
  "files.remove": async ({ sandbox }) => {
    await sandbox.files.write("gone", "x");
    await sandbox.files.remove("gone");
    expect(await sandbox.files.exists("gone")).toBe(false);
  },
  "files.exists": async ({ sandbox }) => expect(await sandbox.files.exists("/")).toBe(true),
  "files.getInfo": async ({ sandbox }) => {
    await sandbox.files.write("i.txt", "abc");
    expect(await sandbox.files.getInfo("i.txt")).toMatchObject({ size: 3, name: "i.txt" });
  },
  "files.watchDir": async ({ sandbox }) => {
    await sandbox.files.makeDir("watched");
    const names: string[] = [];
    const watch = await sandbox.files.watchDir("watched", ({ name }) => void names.push(name));
    await sandbox.files.write("watched/x", "x");
    await eventually(() => names).toContain("x");
    await watch.stop();
  },
  "pty.create": async ({ sandbox }) => {
    const { text } = await terminal(sandbox);
    await eventually(text).not.toBe("");
  },
  "pty.sendInput": async ({ sandbox }) => {
    const { pid, text } = await terminal(sandbox);
    await sandbox.pty.sendInput(pid, new TextEncoder().encode("echo $((6 * 7))\n"));
    await eventually(text).toContain("42");
  },
  "pty.resize": async ({ sandbox }) => {
    const { pid, text } = await terminal(sandbox);
    await sandbox.pty.resize(pid, { cols: 91, rows: 20 });
    await sandbox.pty.sendInput(pid, new TextEncoder().encode("stty size\n"));
    await eventually(text).toContain("20 91");
  },
  "pty.connect": async ({ sandbox }) => {
    const { pid } = await terminal(sandbox);
    let seen = "";
    await sandbox.pty.connect(pid, { onData: (data) => void (seen += new TextDecoder().decode(data)) });
    await sandbox.pty.sendInput(pid, new TextEncoder().encode("echo again\n"));
    await eventually(() => seen).toContain("again");
  },
  "pty.kill": async ({ sandbox }) => expect(await sandbox.pty.kill((await terminal(sandbox)).pid)).toBe(true),
  "Template.exists": async ({ options }) => {
    expect(await Template.exists("base", options)).toBe(true);
    expect(await Template.exists("nothing", options)).toBe(false);
  },
  "Template.aliasExists": async ({ options }) => expect(await Template.aliasExists("base", options)).toBe(true),
  "Template.toJSON": async () => expect(await Template.toJSON(Template().fromBaseImage())).toContain("fromImage"),
  "Template.toDockerfile": () =>
    Promise.resolve(expect(Template.toDockerfile(Template().fromImage("a"))).toContain("FROM a")),
  "Secret.iamToken": () => Promise.resolve(expect(Secret.iamToken).toBeTypeOf("function")),
  "Secret.fill": () => Promise.resolve(expect(String(Secret.fill("a"))).toContain("a")),
  ...PARTS_WORKING,
};

/** The cases of the methods that hookbox refuses. Each must fail with a sentence of hookbox. */
const REFUSED: Record<string, Case> = {
  "Sandbox.fork": ({ sandbox, options }) => Sandbox.fork(sandbox.sandboxId, options),
  "Sandbox.createSnapshot": ({ sandbox, options }) => Sandbox.createSnapshot(sandbox.sandboxId, options),
  "Sandbox.listSnapshots": ({ options }) => Sandbox.listSnapshots(options).nextItems(),
  "Sandbox.deleteSnapshot": ({ options }) => Sandbox.deleteSnapshot("a", options),
  "sandbox.fork": ({ sandbox }) => sandbox.fork(),
  "sandbox.createSnapshot": ({ sandbox }) => sandbox.createSnapshot(),
  "sandbox.listSnapshots": ({ sandbox }) => sandbox.listSnapshots().nextItems(),
  "Template.build": ({ options }) => Template.build(Template().fromImage("a"), "mine", options),
  "Template.buildInBackground": ({ options }) => Template.buildInBackground(Template().fromImage("a"), "mine", options),
  "Template.getBuildStatus": ({ options }) =>
    Template.getBuildStatus({ templateId: "a", buildId: "b" } as never, options),
  "Template.assignTags": ({ options }) => Template.assignTags("base", ["v1"], options),
  "Template.removeTags": ({ options }) => Template.removeTags("base", ["v1"], options),
  "Template.getTags": ({ options }) => Template.getTags("base", options),
  "Volume.create": ({ options }) => Volume.create("a", options),
  "Volume.connect": ({ options }) => Volume.connect("a", options),
  "Volume.getInfo": ({ options }) => Volume.getInfo("a", options),
  "Volume.list": ({ options }) => Volume.list(options),
  "Volume.destroy": ({ options }) => Volume.destroy("a", options),
  "Secret.create": ({ options }) => Secret.create("a", "b", options as never),
  "Secret.update": ({ options }) => Secret.update("a", "b", options as never),
  "Secret.getInfo": ({ options }) => Secret.getInfo("a", options),
  "Secret.list": ({ options }) => Secret.list(options).nextItems(),
  "Secret.exists": ({ options }) => Secret.exists("a", options),
  "Secret.destroy": ({ options }) => Secret.destroy("a", options),
  ...PARTS_REFUSED,
};

async function terminal(sandbox: Sandbox): Promise<{ pid: number; text: () => string }> {
  let seen = "";
  const decoder = new TextDecoder();
  const { pid } = await sandbox.pty.create({
    cols: 80,
    rows: 24,
    onData: (data) => void (seen += decoder.decode(data, { stream: true })),
  });
  return { pid, text: () => seen };
}

/** Parts of the SDK that are no methods for users: they prepare requests, or compose commands for others. */
const INTERNAL = new RegExp(`^(${
  [
    ...["constructor", "resolve\\w*Opts", "(create|fork|connect)Sandbox", "fileUrl", "checkHealth", "start"],
    ...["handleRequestError", "getJupyterRequestUrl", "updatePagination", "runGit", "runShell", "getRemoteUrl"],
    ...["resolveRemoteName", "withRemoteCredentials", "hasUpstream", "collectStackTrace", "instructionsWithHashes"],
    ...["serialize", "handleEvents", "iterateEvents", "flushDecoders"],
  ].join("|")
})$`);
/** The builder of a template has these for its class. */
const OF_CLASS = ["Template().build", "Template().toJSON", "Template().toDockerfile"];

/** Names all methods of the SDKs, as the cases name them. */
async function methodsOf(scene: Scene): Promise<string[]> {
  const { commands, files, pty, git } = scene.sandbox;
  const exported = new Set([...exportsOf(e2b), ...exportsOf(interpreter)]);
  const classes = { Sandbox, Template, Volume, Secret };
  const places = { ...classes, sandbox: Sandbox.prototype, commands, files, pty, git, ...await returned(scene) };
  for (const name of [...Object.keys(classes), "Git", "ReadyCmd", "SecretPaginator", "TemplateBase"]) {
    exported.delete(name);
  }
  const methods = Object.entries(places).flatMap(([name, object]) => {
    const found = new Set<string>();
    const isRoot = (one: object) => one === Object.prototype || one === Function.prototype;
    for (let one: object = object; one && !isRoot(one); one = Object.getPrototypeOf(one)) {
      for (const [key, { value }] of Object.entries(Object.getOwnPropertyDescriptors(one))) {
        if (typeof value === "function" && !INTERNAL.test(key)) found.add(`${name}.${key}`);
      }
    }
    return [...found];
  });
  return [...exported, ...methods].filter((name) => !OF_CLASS.includes(name)).sort();
}

/**
 * Uses every method, and returns what came of it, sorted by name.
 *
 * @throws {AssertionError} if a method has no case, or does other than its case says
 */
export async function useMethods(scene: Scene): Promise<Outcome[]> {
  const methods = await methodsOf(scene);
  expect(Object.keys({ ...WORKING, ...REFUSED }).sort()).toEqual(methods);
  const outcomes: Outcome[] = [];
  const used = new Map<Case, Promise<unknown>>();
  for (const method of methods) {
    const working = WORKING[method];
    const difference = differenceOf(method);
    if (!working) {
      const note = await REFUSED[method]?.(scene).then(() => "not refused", (error: Error) => sentenceOf(error));
      outcomes.push({ method, result: "refused", note: note ?? "" });
      continue;
    }
    if (!used.has(working)) used.set(working, working(scene));
    await used.get(working)?.catch((error: Error) => {
      throw new Error(`${method} does not work: ${error.message}`, { cause: error });
    });
    outcomes.push(
      difference === undefined ? { method, result: "works" } : { method, result: "differs", note: difference },
    );
  }
  return outcomes;
}

/** Returns the sentence of hookbox in what an SDK or a command says about it. */
export function sentenceOf({ message }: Error): string {
  return /[A-Z][^:\]\n]* not supported by hookbox: docs\/e2b\.md lists what is/.exec(message)?.[0] ?? message;
}
