// What the runner uses of the language, taken before any program runs: a program that changes a built-in object changes
// it for itself, not for the runner. Nothing here protects the host: that do the walls around this process, and the host
// trusts no message.

const bound = (method) => Function.prototype.call.bind(method);

export const { parse, stringify, rawJSON } = JSON;
export const { isArray, from } = Array;
export const { isSafeInteger } = Number;
export const { imul } = Math;
export const { construct } = Reflect;
export const hexadecimal = (digits) => Number(`0x${digits || 0}`);
export const { create, defineProperty, getPrototypeOf, keys, fromEntries } = Object;
export const { captureStackTrace } = Error;
export const plainPrototype = Object.prototype;
export const exponential = bound(Number.prototype.toExponential);
export const includes = bound(Array.prototype.includes);
export const split = bound(String.prototype.split);
export const set = bound(Uint8Array.prototype.set);
export const subarray = bound(Uint8Array.prototype.subarray);
export const test = bound(RegExp.prototype.test);
export const exec = bound(RegExp.prototype.exec);
export const replace = bound(String.prototype.replace);
export const substring = bound(String.prototype.substring);
export const slice = bound(Array.prototype.slice);
export const encode = TextEncoder.prototype.encode.bind(new TextEncoder());
export const decode = TextDecoder.prototype.decode.bind(new TextDecoder());
export const inspect = Deno.inspect;
export const Whole = BigInt;
export const text = String;
export const Later = Promise;

/** A `WeakMap` whose methods are its own. */
export function weakMap() {
  const map = new WeakMap();
  return { get: map.get.bind(map), set: map.set.bind(map), has: map.has.bind(map) };
}
