/**
 * Answers a ConversionReview of the API server with all objects in the requested version, or with the reason why they
 * cannot be converted. @module
 */
import * as z from "zod";
import type { KubeObject } from "../../packages/api/objects/objects.ts";
import { convertObject } from "../../packages/api/v1alpha1/convert.ts";

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string().default("") }),
});

/** The request of the API server: a ConversionReview of apiextensions.k8s.io/v1. */
export const reviewSchema = z.object({
  apiVersion: z.literal("apiextensions.k8s.io/v1"),
  kind: z.literal("ConversionReview"),
  request: z.object({ uid: z.string(), desiredAPIVersion: z.string(), objects: z.array(objectSchema) }),
});
export type ConversionReview = z.infer<typeof reviewSchema>;

/**
 * The answer. If one object cannot be converted, the whole answer is a failure, because the API server accepts all
 * objects or none.
 */
export interface ReviewAnswer {
  apiVersion: "apiextensions.k8s.io/v1";
  kind: "ConversionReview";
  response: {
    uid: string;
    result: { status: "Success" } | { status: "Failure"; message: string };
    convertedObjects: KubeObject[];
  };
}

/**
 * Converts the objects of a review. If an object cannot be converted, the answer is a failure. An exception is a bug in
 * hookbox.
 */
export function answerReview({ apiVersion, request }: ConversionReview): ReviewAnswer {
  const { uid, desiredAPIVersion, objects } = request;
  const answer = (result: ReviewAnswer["response"]["result"], convertedObjects: KubeObject[] = []): ReviewAnswer => {
    return { apiVersion, kind: "ConversionReview", response: { uid, result, convertedObjects } };
  };
  try {
    const converted = objects.map((object) => convertedTo(desiredAPIVersion, object as unknown as KubeObject));
    return answer({ status: "Success" }, converted);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return answer({ status: "Failure", message: error.message });
  }
}

function convertedTo(apiVersion: string, object: KubeObject): KubeObject {
  const [group = "", version = ""] = apiVersion.split("/");
  if (object.apiVersion.split("/")[0] === group) return convertObject(object, version);
  throw new RangeError(`Cannot convert ${object.kind} of ${object.apiVersion} to ${apiVersion}: the groups differ`);
}
