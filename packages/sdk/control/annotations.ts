/** Options of a new sandbox that are annotations of its claim: values of Secrets, a start command, CPU and memory. @module */
import { lateContents } from "../../api/claims/latebinding.ts";
import { claimAmounts } from "../../api/claims/resources.ts";
import {
  RESOURCES_ANNOTATION,
  SECRET_ENV_ANNOTATION,
  SECRET_FILES_ANNOTATION,
  START_COMMAND_ANNOTATION,
} from "../../api/objects/keys.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { CreateOptions } from "../options.ts";

/** Returns the annotations of the claim for these options. */
export function optionAnnotations(options: CreateOptions): Record<string, string> {
  return { ...lateAnnotations(options), ...resourcesAnnotation(options) };
}

/** Returns the amounts that are set, by resource. */
export function amountsOf({ resources: { cpu, memory } = {} }: CreateOptions): Record<string, string> {
  return { ...cpu === undefined ? {} : { cpu }, ...memory === undefined ? {} : { memory } };
}

/** Checks these options. @throws {@link InvalidArgumentError} if one is invalid, or `metadata` has the same annotation */
export function checkAnnotations(options: CreateOptions): void {
  checkLate(options);
  checkResources(options);
  const twice = Object.keys(optionAnnotations(options)).find((key) => options.metadata?.[key] !== undefined);
  if (twice !== undefined) throw new InvalidArgumentError(`Cannot create a sandbox: \`metadata\` sets ${twice}, too`);
}

const LATE_REMEDY = "See docs/howto/secrets.md for what the template needs.";

function checkLate(options: CreateOptions): void {
  const annotations = lateAnnotations(options);
  if (Object.keys(annotations).length === 0) return;
  const set = "secrets, secretFiles or startCommand";
  if (options.image !== undefined) {
    throw new InvalidArgumentError(`Cannot create a sandbox from an image with ${set}: they need a template`, {
      remedy: LATE_REMEDY,
    });
  }
  const { secrets = {}, secretFiles = {} } = options;
  const split = [...Object.entries(secrets), ...Object.entries(secretFiles)].flat().find((text) => /[,=]/.test(text));
  const contents = lateContents({ metadata: { name: "", annotations } });
  const problem = split === undefined ? contents : `"${split}" has a comma or an equals sign`;
  if (typeof problem !== "string") return;
  throw new InvalidArgumentError(`Cannot create a sandbox with ${set}: ${problem}`, { remedy: LATE_REMEDY });
}

function lateAnnotations({ secrets, secretFiles, startCommand }: CreateOptions): Record<string, string> {
  const listed = (values: Record<string, string> | undefined) =>
    Object.entries(values ?? {}).map(([name, value]) => `${name}=${value}`).join();
  const [env, files] = [listed(secrets), listed(secretFiles)];
  return {
    ...env === "" ? {} : { [SECRET_ENV_ANNOTATION]: env },
    ...files === "" ? {} : { [SECRET_FILES_ANNOTATION]: files },
    ...startCommand === undefined ? {} : { [START_COMMAND_ANNOTATION]: startCommand },
  };
}

const AMOUNT_EXAMPLES = { cpu: '"2", "0.5" or "500m"', memory: '"4Gi" or "512Mi"' };

function checkResources(options: CreateOptions): void {
  for (const resource of ["cpu", "memory"] as const) {
    const amount = options.resources?.[resource];
    if (amount === undefined) continue;
    try {
      claimAmounts({ metadata: { name: "", annotations: { [RESOURCES_ANNOTATION]: `${resource}=${amount}` } } });
      if (!amount.includes(",")) continue;
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
    }
    const problem = `${resource} ${JSON.stringify(amount)} is not an amount like ${AMOUNT_EXAMPLES[resource]}`;
    throw new InvalidArgumentError(`Cannot create a sandbox: ${problem}`);
  }
}

function resourcesAnnotation(options: CreateOptions): Record<string, string> {
  const text = Object.entries(amountsOf(options)).map(([resource, amount]) => `${resource}=${amount}`).join();
  return text === "" ? {} : { [RESOURCES_ANNOTATION]: text };
}
