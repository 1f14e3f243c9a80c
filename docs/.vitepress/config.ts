/** How VitePress makes a site of docs/: `npm run site`. @module */
import { cpSync, globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import type { UserConfig } from "vitepress";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DOCS = join(ROOT, "docs");
/** What pages lead to outside docs/ and the site has, too, file by file. */
const BESIDE = "examples";

/** The first headline of a page. */
function titleOf(file: string): string {
  const [, title = file] = /^# (.+)$/m.exec(readFileSync(join(DOCS, file), "utf8")) ?? [];
  return title.replaceAll("`", "");
}

const page = (file: string) => ({ text: titleOf(file), link: `/${file.replace(/(^index)?\.md$/, "")}` });
const pages = (...names: string[]) => names.map((name) => page(`${name}.md`));
const decisions = globSync("decisions/*.md", { cwd: DOCS }).sort();

/**
 * Returns where a link of a page leads on the site.
 * @param href as the page has it
 * @param from the page, as a path below docs/
 * @returns `href` itself where it stays within docs/; undefined where the site has nothing of the kind
 */
export function placeOf(href: string, from: string): string | undefined {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const path = normalize(join(dirname(from), href));
  if (!path.startsWith("..")) return href;
  return path.startsWith(`../${BESIDE}/`) ? path.slice("..".length) : undefined;
}

const config: UserConfig = {
  title: "hookbox",
  description: "Sandboxes for AI agents on Kubernetes",
  cleanUrls: true,
  outDir: join(ROOT, "dist/site"),
  cacheDir: join(ROOT, ".hookbox/site"),
  markdown: {
    config(md) {
      md.core.ruler.push("links-out", ({ tokens, env }) => {
        for (const { children } of tokens) {
          let isText = false;
          for (const token of children ?? []) {
            if (token.type === "link_open") {
              const place = placeOf(token.attrGet("href") ?? "", env.relativePath ?? "");
              isText = place === undefined;
              if (place !== undefined) token.attrSet("href", place);
            }
            if (!isText || !token.type.startsWith("link_")) continue;
            token.type = "text";
            token.tag = token.content = "";
          }
        }
      });
    },
  },
  // The index of the search is one chunk, loaded when somebody searches.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  buildEnd: ({ outDir }) => cpSync(join(ROOT, BESIDE), join(outDir, BESIDE), { recursive: true }),
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: [
      { text: "Start", items: pages("index", "howto/quickstart", "concepts", "install", "migration", "comparison") },
      { text: "Use", items: pages("examples", "sdk", "cli", "dashboard", "mcp", "router", "runtime", "why") },
      {
        text: "How to",
        items: pages(...["isolation", "egress", "storage", "pools", "teams"].map((name) => `howto/${name}`)),
      },
      {
        text: "Operate",
        items: pages("reliability", "security", "tracing", "cloudevents", "performance", "measuring"),
      },
      { text: "Develop", items: pages("hooks", "testing", "replay") },
      { text: "Reference", items: pages("reference/kubernetes", "reference/flags", "reference/README") },
      { text: "Decisions", collapsed: true, items: decisions.map(page) },
    ],
  },
};

export default config;
