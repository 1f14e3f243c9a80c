/** The page docs/cli.md: a story on a real node, typed into a real shell. `-u` writes it anew; CI fails when it is stale. @module */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { makeTempFolder } from "../tempfolder.ts";
import { makeNamespace, type Namespace } from "../integration/namespace.ts";
import { needsRuntime } from "./runtimepods.ts";
import { kubeconfigOf, MAIN } from "./transcript/hookbox.ts";
import { filled, normal, type Replacement } from "./transcript/normal.ts";
import { type Step, STORY, TITLE } from "./transcript/story.ts";
import { hasRealNode } from "../integration/suite.ts";
import { PATIENCE_MS } from "../patience.ts";

const EXAMPLE = new URL("../../examples/python.yaml", import.meta.url);
const PAGE = "../../docs/cli.md";

interface Typed {
  code: number;
  output: string;
}

/** Types a line into bash, where `hookbox` is this checkout's. Both outputs come as they would on a screen. */
function typed(line: string, folder: string, kubeconfig: string): Promise<Typed> {
  const script = `hookbox() { "${process.execPath}" "${MAIN}" "$@"; }\nexec 2>&1\n${line}`;
  const env = { ...process.env, KUBECONFIG: kubeconfig, HOOKBOX_ROUTER_PATH_PREFIX: "/s" };
  return new Promise((resolve, reject) => {
    const child = spawn("bash", ["-c", script], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (part) => output += part);
    child.once("error", reject).once("close", (code) => resolve({ code: code ?? -1, output }));
  });
}

function writeProject(folder: string): void {
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "main.py"), 'open("result.txt", "w").write("42\\n")\nprint("done")\n', { mode: 0o644 });
}

/** What only looks may be typed again: a cluster that is still getting there shows the page's words in the end. */
const LOOKS = /^hookbox (get|pool|top|why|doctor|describe)\b/;

/** Types a step and returns what the page is to show of it; `written` is what it shows now. */
async function told(
  { prose, line, after }: Step,
  written: string | undefined,
  type: (line: string) => Promise<string>,
  ns: Namespace,
) {
  await after?.(ns);
  const look = async () => `$ ${line}\n${await type(line)}`.trimEnd();
  const late = Date.now() + PATIENCE_MS;
  let block = await look();
  while (block !== written && written !== undefined && LOOKS.test(line) && Date.now() < late) block = await look();
  return { prose, block };
}

/** Returns the blocks that a page has, one for each command line, in order. */
function blocksOf(page: string): string[] {
  const fences = [...page.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text);
  return fences.flatMap((text) => text.split(/\n\n(?=\$ )/).map((block) => block.trimEnd()));
}

describe.runIf(hasRealNode)("the transcript", () => {
  beforeAll(needsRuntime);

  test("docs/cli.md is what the command prints", async () => {
    const ns = await makeNamespace();
    const folder = makeTempFolder();
    const kubeconfig = await kubeconfigOf(ns, folder);
    writeProject(folder);
    const documents = parseAllDocuments(readFileSync(EXAMPLE, "utf8")).map((document) => document.toJS());
    await ns.apply(...documents);
    const all: Replacement[] = [
      [ns.name, "agents"],
      [kubeconfig, "~/.kube/config"],
      [/https:\/\/\d+\.\d+\.\d+\.\d+:\d+(?= \(~)/g, "https://cluster.example:6443"],
      [/127\.0\.0\.1:\d+/g, "hooks.example:8080"],
      [/\bhookbox-keeper-\S+|\S+ holds Lease/g, "keeper-0 holds Lease"],
    ];
    const blocks: { prose: string | undefined; block: string }[] = [];
    const type = async (line: string) => normal((await typed(line, folder, kubeconfig)).output, all);
    const written = blocksOf(readFileSync(new URL(PAGE, import.meta.url), "utf8"));
    // A page of other commands is stale: its words are no help.
    const isStory = written.length === STORY.length;
    for (const [i, step] of STORY.entries()) {
      blocks.push(await told(step, isStory ? written[i] : undefined, type, ns));
    }
    const page = blocks.map(({ prose, block }) => {
      return prose === undefined ? `\n${block}\n` : `\`\`\`\n\n${filled(prose)}\n\n\`\`\`console\n${block}\n`;
    }).join("");
    await expect(`${filled(TITLE)}\n${page.replace(/^```\n/, "")}\`\`\`\n`).toMatchFileSnapshot(PAGE);
  });
});
