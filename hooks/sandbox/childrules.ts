/** What an answer of the Sandbox hook may make of Pod, Service and volumes: everything else the guard refuses. @module */
import type { Sandbox } from "../../packages/api/sandbox.ts";
import type { ChildRules } from "../../packages/webhook/childrules.ts";
import { podRule } from "./podrules.ts";
import { serviceRule } from "./servicerules.ts";
import { volumeRule } from "./volumerules.ts";

export const childRules: ChildRules<Sandbox> = {
  "Pod.v1": podRule,
  "Service.v1": serviceRule,
  "PersistentVolumeClaim.v1": volumeRule,
};
