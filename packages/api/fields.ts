/** Kinds of field that the APIs share, each with what the CRD says of it. No field of any one kind. @module */
import * as z from "zod";

/**
 * Describes an object whose type shows the named fields only, while unknown ones pass through the parser untouched:
 * a newer CRD may serve more, and a hook that copies a blueprint must not lose them.
 */
export function openObject<Shape extends z.ZodRawShape>(shape: Shape): z.ZodObject<Shape, z.core.$strip> {
  return z.looseObject(shape) as unknown as z.ZodObject<Shape, z.core.$strip>;
}

/**
 * An instant as the API server stores it: RFC 3339, any offset, fractions allowed.
 *
 * The parser takes every string: the API server's own check also lets through some that `Date` cannot read.
 */
export const dateTimeSchema = z.string().meta({ format: "date-time" });

/** A whole number of at least 0 that fits an int32. */
export const countSchema = z.int32().min(0).meta({ format: "int32" });

/** A `metadata.generation`: absent until the first look. */
export const generationSchema = z.int().min(0).meta({ format: "int64" });

/**
 * Describes the name of an object that another one names.
 *
 * The bound is the CRD's alone: the parser takes longer names, since what an older CRD has let through is to be told of.
 */
export function referenceName(description: string): z.ZodString {
  return z.string().meta({ description, maxLength: 253 });
}

/** A map of strings, such as labels. */
export const stringMapSchema = z.record(z.string(), z.string());
