// Values on their way through the door, in both directions: JSON, with whole numbers of any size and bytes.

import {
  exponential, from, fromEntries, inspect, isSafeInteger, parse, rawJSON, replace, test, text, weakMap, Whole,
} from "./own.js";

const BYTES_KEY = "\0bytes";
const LONG_NUMBER = /\d{16}/;
const WHOLE = /^-?\d+$/;
const NO_JSON = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g;
const BYTES_AT_ONCE = 0x8000;

/** Functions and modules of the catalog, with the text that stands for each. */
export const named = weakMap();

/** The value of a JSON text. A whole number that a `number` cannot hold exactly is a `bigint`. */
export function incoming(json) {
  const long = test(LONG_NUMBER, json) ? exactly : undefined;
  try {
    return parse(json, long);
  } catch { // what an API calls JSON may hold NaN
    return parse(replace(json, NO_JSON, (one) => one[0] === '"' ? one : "null"), long);
  }
}

function exactly(_key, value, context) {
  const isLong = typeof value === "number" && !isSafeInteger(value) && test(WHOLE, context.source);
  return isLong ? Whole(context.source) : value;
}

/** What `JSON.stringify` calls for each part: of an argument, which must be JSON, and of a program's value, of which the
 * reader gets as much as can be said. */
export const outgoing = {
  argument(key, value) {
    return said(this[key], value, refused);
  },
  value(key, value) {
    return said(this[key], value, described);
  },
};

function said(part, json, otherwise) {
  switch (typeof part) {
    case "bigint":
      return rawJSON(text(part));
    case "number":
      if (part - part !== 0) return otherwise(part);
      // A large one is written as what it is: not exact.
      return part % 1 !== 0 || isSafeInteger(part) ? json : rawJSON(exponential(part));
    case "function":
      return named.get(part) ?? (json === part ? otherwise(part) : json);
    case "symbol":
      return otherwise(part);
    case "object":
      return part === null ? null : object(part, json, otherwise);
    default:
      return json;
  }
}

function object(part, json, otherwise) {
  if (named.has(part)) return named.get(part);
  if (part instanceof Uint8Array) return { [BYTES_KEY]: base64(part) };
  if (part instanceof ArrayBuffer) return { [BYTES_KEY]: base64(new Uint8Array(part)) };
  if (part instanceof Promise) throw new TypeError("a promise cannot be sent: await it");
  if (part instanceof Date && json === null) throw new TypeError("an invalid date cannot be sent");
  if (json !== part) return json;
  if (part instanceof Map) return fromEntries(from(part, ([key, value]) => [text(key), value]));
  if (part instanceof Set || ArrayBuffer.isView(part)) return from(part);
  if (part instanceof Error) return { name: part.name, message: part.message };
  if (part instanceof RegExp) return text(part);
  return json;
}

function refused(part) {
  const what = typeof part === "number" ? text(part) : `a ${typeof part}`;
  throw new TypeError(`${what} cannot be sent: JSON has no word for it`);
}

function described(part) {
  return typeof part === "number" ? null : inspect(part);
}

function base64(bytes) {
  let binary = "";
  for (let at = 0; at < bytes.length; at += BYTES_AT_ONCE) {
    binary += String.fromCharCode.apply(null, bytes.subarray(at, at + BYTES_AT_ONCE));
  }
  return btoa(binary);
}
