/** How VitePress makes a site of docs/: `npm run site`. @module */
import { cpSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { UserConfig } from "vitepress";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DOCS = join(ROOT, "docs");
/** A folder outside docs/ that pages link to. The site contains its files, too. */
const BESIDE = "examples";
// Otherwise VitePress takes links to such examples for links to pages.
process.env["VITE_EXTRA_EXTENSIONS"] = "py";
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

/** Returns the first headline of a page, up to its colon: what follows explains it. */
function titleOf(file: string): string {
  const [, title = file] = /^# (.+)$/m.exec(readFileSync(join(DOCS, file), "utf8")) ?? [];
  return title.replaceAll("`", "").replace(/: .*/, "");
}

/** GitHub shows the README.md of a folder, and servers show its index.html. */
const README = /(^|\/)README\.md(?=$|#)/;
const page = (file: string) => ({
  text: titleOf(file),
  link: `/${file.replace(README, "$1index.md").replace(/((?<=^|\/)index)?\.md$/, "")}`,
});
const pages = (...names: string[]) => names.map((name) => page(`${name}.md`));
const decisions = globSync("decisions/*.md", { cwd: DOCS }).sort();
/** Folders whose README.md is the page of the folder. */
const FOLDERS = globSync("*/README.md", { cwd: DOCS }).map(dirname);

/**
 * Returns where a link of a page leads on the site.
 * @param href as the page has it
 * @param from the page, as a path below docs/
 * @returns undefined if the site has no such page
 */
export function placeOf(href: string, from: string): string | undefined {
  if (/^([a-z]+:|#|\/)/.test(href)) return href;
  const path = normalize(join(dirname(from), href));
  if (!path.startsWith("..")) return href.replace(README, "$1index.md");
  return path.startsWith(`../${BESIDE}/`) ? path.slice("..".length) : undefined;
}

/** Marks where a name may break: between its parts. Each part is a span that does not break. */
function partsOf(html: string): string {
  const words = html.split(" ").map((word) => {
    const parts = word.match(/(?:--|&\w+;|[^-./_=,&])+[-./_=,]*|.+/g) ?? [];
    return parts.length < 2 ? word : parts.map((part) => `<span class="part">${part}</span>`).join("<wbr>");
  });
  return words.join(" ");
}

/** Forwards the old address of a page to its new one. */
function forward(outDir: string, from: string, to: string): void {
  const file = join(outDir, `${from}.html`);
  mkdirSync(dirname(file), { recursive: true });
  const head = `<meta charset="utf-8"><title>${to}</title><meta http-equiv="refresh" content="0; url=${to}">`;
  writeFileSync(file, `<!doctype html>${head}<a href="${to}">${to}</a>\n`);
}

/** Pages whose tables need the space of the outline. They begin with links to their sections. */
const WIDE = /^reference\/(flags|kubernetes)\.md$/;

const config: UserConfig = {
  title: "hookbox",
  description: "Sandboxes for AI agents on Kubernetes",
  cleanUrls: true,
  outDir: join(ROOT, "dist/site"),
  cacheDir: join(ROOT, ".hookbox/site"),
  rewrites: Object.fromEntries(FOLDERS.map((folder) => [`${folder}/README.md`, `${folder}/index.md`])),
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
      // In narrow cells, long names break after their parts instead of anywhere.
      const inlineCode = md.renderer.rules.code_inline;
      md.renderer.rules.code_inline = (tokens, index, options, env, self) => {
        const html = inlineCode?.(tokens, index, options, env, self) ?? "";
        return html.replace(/(<code[^>]*>)(.*)(<\/code>)/, (_, open, text, close) => open + partsOf(text) + close);
      };
      // On a narrow screen, each row of a table is a list of its cells, and each cell shows the name of its column.
      md.core.ruler.push("table-labels", ({ tokens }) => {
        let columns: string[] = [];
        let cell = 0;
        for (const [index, token] of tokens.entries()) {
          if (token.type === "table_open") columns = [];
          else if (token.type === "tr_open") cell = 0;
          else if (token.type === "th_open") columns.push(tokens[index + 1]?.content ?? "");
          else if (token.type === "td_open") token.attrSet("data-label", columns[cell++] ?? "");
        }
      });
    },
  },
  transformPageData(page) {
    if (WIDE.test(page.relativePath)) page.frontmatter["aside"] = false;
  },
  // The index of the search is one chunk, loaded when somebody searches.
  vite: { build: { chunkSizeWarningLimit: 4000 } },
  buildEnd({ outDir }) {
    cpSync(join(ROOT, BESIDE), join(outDir, BESIDE), { recursive: true });
    for (const folder of FOLDERS) forward(outDir, `${folder}/README`, `/${folder}/`);
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Install", link: "/install" },
      { text: "Command line", link: "/cli" },
      { text: "SDK", link: "/sdk" },
      { text: "Reference", link: "/reference/" },
      { text: `v${version}`, link: "/install#upgrade" },
    ],
    sidebar: [
      { text: "Start", items: pages("index", "howto/quickstart", "concepts", "install", "migration", "comparison") },
      {
        text: "Use",
        items: pages(
          "examples",
          "sdk",
          "clients",
          "e2b",
          "integrations",
          "cli",
          "dashboard",
          "mcp",
          "router",
          "runtime",
          "why",
        ),
      },
      {
        text: "How to",
        items: pages(
          ...["e2b", "isolation", "egress", "egress-proxy", "secrets", "storage", "pools", "teams"].map((name) =>
            `howto/${name}`
          ),
        ),
      },
      {
        text: "Operate",
        items: pages("reliability", "alerts", "security", "tracing", "cloudevents", "performance", "measuring"),
      },
      { text: "Develop", items: pages("hooks", "testing", "replay") },
      { text: "Reference", items: pages("reference/README", "reference/kubernetes", "reference/flags") },
      { text: "Decisions", collapsed: true, items: decisions.map(page) },
    ],
  },
};

export default config;
