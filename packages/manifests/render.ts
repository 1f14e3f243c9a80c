/** The YAML stream that installs hookbox' APIs and controllers. Reads the repository's own files, writes nothing. @module */
import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";

/** Each stands here whole: that is how a bundler finds the files that belong to a bundle. */
const CONTROLLERS = [
  new URL("../../compositecontrollers/sandbox.yaml", import.meta.url),
  new URL("../../compositecontrollers/sandboxwarmpool.yaml", import.meta.url),
  new URL("../../decoratorcontrollers/sandboxclaim.yaml", import.meta.url),
  new URL("../../decoratorcontrollers/sandboxtemplate.yaml", import.meta.url),
];
const CRDS = [
  new URL("../../crds/agents.x-k8s.io_sandboxes.yaml", import.meta.url),
  new URL("../../crds/extensions.agents.x-k8s.io_sandboxclaims.yaml", import.meta.url),
  new URL("../../crds/extensions.agents.x-k8s.io_sandboxtemplates.yaml", import.meta.url),
  new URL("../../crds/extensions.agents.x-k8s.io_sandboxwarmpools.yaml", import.meta.url),
];

/**
 * Renders CRDs, then controllers, in order of file name.
 *
 * @param hooksURL base URL of the hooks: hook `h` answers at `<hooksURL>/h/sync`; a function gives each hook a base of
 * its own; undefined keeps the files' own URLs
 * @param withCRDs false: controllers alone
 * @throws {RangeError} if `hooksURL` is not an absolute http or https URL
 */
export function renderManifests(
  hooksURL: string | ((hook: string) => string) | undefined,
  withCRDs = true,
): string {
  const base = typeof hooksURL === "string" ? () => hooksURL : hooksURL;
  const controllers = readControllers().map((text) => pointed(text, base));
  return [...withCRDs ? readCRDs() : [], ...controllers].map((text) => text.startsWith("---") ? text : `---\n${text}`)
    .join("");
}

/** Reads the controllers of hookbox as their files have them, one text each. */
export function readControllers(): string[] {
  return CONTROLLERS.map((file) => readFileSync(file, "utf8"));
}

/** Reads the CRDs of hookbox, one text each. */
export function readCRDs(): string[] {
  return CRDS.map((file) => readFileSync(file, "utf8"));
}

/** Points every hook of a controller at its URL below `base`; undefined leaves the text as it is. */
function pointed(text: string, base: ((hook: string) => string) | undefined): string {
  if (base === undefined) return text;
  return parseAllDocuments(text).map((document) => {
    const name = String(document.getIn(["metadata", "name"]));
    for (const endpoint of ["sync", "customize", "finalize"]) {
      const webhook = ["spec", "hooks", endpoint, "webhook"];
      if (document.hasIn(webhook)) document.setIn([...webhook, "url"], `${baseURL(base(name))}/${name}/${endpoint}`);
    }
    return document.toString({ lineWidth: 0 });
  }).join("---\n");
}

function baseURL(text: string): string {
  const url = URL.parse(text);
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw new RangeError(`Cannot use hooks URL "${text}": it is not an absolute http or https URL`);
  }
  return url.href.replace(/\/+$/, "");
}
