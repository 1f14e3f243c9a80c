/** Completion: what a line wants, where names come from, and that a real bash shows them. @module */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { namesNeeded } from "../../packages/cli/commands/completion.ts";
import { buildProgram } from "../../packages/cli/program.ts";
import type { Api } from "../../packages/kube/api.ts";
import { makeTempFolder } from "../tempfolder.ts";
import { fakeApi, fakeContext, listOf, run } from "./fakecontext.ts";

const MAIN = fileURLToPath(new URL("../../packages/cli/main.ts", import.meta.url));
const named = (...names: string[]) => names.map((name) => ({ metadata: { name } }));
const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/default";
const api = () =>
  fakeApi({
    [`GET ${EXTENSIONS}/sandboxclaims`]: listOf("v1", "C", ...named("session", "other")),
    [`GET ${EXTENSIONS}/sandboxwarmpools`]: listOf("v1", "P", ...named("python")),
    [`GET ${EXTENSIONS}/sandboxtemplates`]: listOf("v1", "T", ...named("tall")),
    "GET /apis/agents.x-k8s.io/v1beta1/namespaces/default/sandboxes": listOf("v1", "S", ...named("own"), {
      metadata: { name: "python-x1", ownerReferences: [{ kind: "SandboxWarmPool", controller: true }] },
    }),
    "GET /api/v1/namespaces": listOf("v1", "N", ...named("default", "kube-system")),
  });

test.for([
  ["exec |", "other own session :4"],
  ["exec s|", "session :4"],
  ["exec -it s|", "session :4"],

  ["rm session o|", "other own :4"],
  ["exec -n |", "default kube-system :4"],
  ["get --namespace=k|", "kube-system :4"],
  ["create --pool |", "python :4"],
  ["create --template=t|", "tall :4"],
  ["get |", "sandboxes claims pools templates :4"],
  ["get swp |", "python :4"],
  ["get claim s|", "session :4"],
  ["pool simulate |", "python :4"],
  ["why |", "other own python python-x1 session :4"],
  ["ls s|", "session: :6"],
  ["cp s|", "session: :2"],
  ["cp ./x s|", "session: :2"],
] as [string, string][])("%s completes to %s", async ([line, want]) => {
  const words = line.slice(0, -1).split(" ");
  const { code, stdout, stderr } = await run(["complete", "--", ...words], { api: api() });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.replaceAll("\t\n", " ").trim()).toBe(want);
});

test.for(["", "exec session ", "get --", "exec s -- l", "nonsense a", "url box ", "exec -C "])(
  "%j asks no cluster",
  async (line) => {
    const { context } = fakeContext();
    expect(namesNeeded(await buildProgram(context, line.split(" ")), line.split(" "))).toBeUndefined();
  },
);

test("the cluster and namespace that the line names are the ones that are asked", async () => {
  const { context } = fakeContext();
  const words = ["-n", "a", "exec", "--context=c", "--kubeconfig", "f", ""];
  expect(namesNeeded(await buildProgram(context, words), words)).toMatchObject({
    what: "sandboxes",
    where: { context: "c", kubeconfig: "f" },
  });
});

test("commands and options come from the program", async () => {
  const said: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: string) => void said.push(line));
  await run(["complete", "--", "sus"], {});
  await run(["complete", "--", "exec", "--cw"], {});
  vi.restoreAllMocks();
  expect(said.map((line) => line.split("\t")[0])).toEqual(["suspend", ":4", "--cwd", ":4"]);
});

test("what fails is silent, and nobody waits long for it", async () => {
  const refused: Api = { ...fakeApi({}), send: () => Promise.reject(new Error("refused")) };
  expect(await run(["complete", "--", "exec", ""], { api: refused })).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
  const silent: Api = {
    ...fakeApi({}),
    send: ({ signal }) => new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
  };
  expect(await run(["complete", "--", "exec", ""], { api: silent })).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
});

test("contexts are those of the kubeconfigs", async () => {
  const folder = makeTempFolder();
  const files = ["a", "b"].map((name) => {
    const file = join(folder, name);
    writeFileSync(file, JSON.stringify({ contexts: [{ name: `${name}-1` }, { name: `${name}-2` }] }));
    return file;
  });
  const env = { KUBECONFIG: `${files.join(":")}:/nowhere` };
  expect((await run(["complete", "--", "get", "--context", "b"], { env })).stdout).toBe("b-1\t\nb-2\t\n:4\n");
});

test.for(["bash", "zsh", "fish"])("there is a script for %s", (shell) => {
  const { stdout, status } = spawnSync(process.execPath, [MAIN, "completion", shell], { encoding: "utf8" });
  expect(status).toBe(0);
  expect(stdout).toMatch(/hookbox/);
  expect(stdout).toMatch(/complete/);
});

test.for([
  ["without bash-completion", ""],
  ["with it", '_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=t; prev=get; }'],
])("bash shows what the command completes, %s", ([, installed]) => {
  const script = `
    hookbox() { "${process.execPath}" "${MAIN}" "$@"; }
    ${installed}
    source <(hookbox completion bash)
    COMP_WORDS=(hookbox get t); COMP_CWORD=2; COMP_LINE="hookbox get t"; COMP_POINT=\${#COMP_LINE}
    __hookbox_complete 2>/dev/null; echo "\${COMPREPLY[@]}"`;
  const { stdout } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
  expect(stdout.trim()).toMatch(/^templates\b/);
});
