/** Schemas of field types that several kinds share, with their descriptions in the CRD. @module */
import * as z from "zod";

/**
 * Describes an object whose type has only the named fields. The parser keeps unknown fields: a newer CRD may have more
 * of them, and a hook that copies a blueprint must not lose them.
 */
export function openObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape, z.core.$strip>;
}

/**
 * A time as the API server stores it: RFC 3339 with any offset, and optionally with fractions of a second.
 *
 * The parser accepts every string, because the API server's own check accepts some that `Date` cannot read.
 */
export const dateTimeSchema = z.string().meta({ format: "date-time" });

/** An integer from 0 to the largest int32. */
export const countSchema = z.int32().min(0).meta({ format: "int32" });

/** A `metadata.generation`. An `observedGeneration` is absent until a controller has observed the object. */
export const generationSchema = z.int().min(0).meta({ format: "int64" });

/**
 * Describes a field that contains the name of another object.
 *
 * Only the CRD limits its length. The parser accepts longer names, because hookbox must report names that an older CRD
 * has accepted.
 */
export function referenceName(description: string): z.ZodString {
  return z.string().meta({ description, maxLength: 253 });
}

/** A map of strings, such as labels. */
export const stringMapSchema = z.record(z.string(), z.string());
