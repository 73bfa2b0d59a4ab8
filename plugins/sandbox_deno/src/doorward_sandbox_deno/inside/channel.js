// The sandbox's end of its channel, at its standard input and output: frames of four bytes of length, a line of JSON, and
// raw bytes if there are any. What a program prints goes to the standard error.

import { captureStackTrace, create, decode, encode, Later, replace, set, stringify, subarray, test } from "./own.js";
import { notTold, untold } from "./repeats.js";
import { incoming, outgoing } from "./values.js";

const read = Deno.stdin.read.bind(Deno.stdin);
const write = Deno.stdout.writeSync.bind(Deno.stdout);
const shown = Deno.stderr.writeSync.bind(Deno.stderr);

const HEADER_BYTES = 4;
const CHUNK_BYTES = 65536;
const NEWLINE = 10;
const HALF = /\\ud[89a-f]/;
const HALVES = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
const MANY_PARTS = 1_000_000;
const ESCAPES = { __proto__: null, ",": "\\u002c", "[": "\\u005b", "{": "\\u007b" };

export const limits = { most: 2 ** 31 };

let last = 0;
let open = 0;
const asked = create(null);
let settled = () => {};

/** Hands the messages that are no answer to `heard`, until the host is gone. */
export async function listen(heard) {
  const chunk = new Uint8Array(CHUNK_BYTES);
  let frame = new Uint8Array(HEADER_BYTES), filled = 0, isHeader = true;
  for (;;) {
    const count = await read(chunk);
    if (count === null) return;
    for (let at = 0; at < count;) {
      const size = Math.min(count - at, frame.length - filled);
      set(frame, subarray(chunk, at, at + size), filled);
      at += size;
      filled += size;
      if (filled < frame.length) continue;
      filled = 0;
      if (isHeader) {
        frame = new Uint8Array(((frame[0] * 256 + frame[1]) * 256 + frame[2]) * 256 + frame[3]);
      } else {
        take(frame, heard);
        frame = new Uint8Array(HEADER_BYTES);
      }
      isHeader = !isHeader;
    }
  }
}

function take(body, heard) {
  let end = 0;
  while (end < body.length && body[end] !== NEWLINE) end++;
  const message = incoming(decode(subarray(body, 0, end)));
  const blob = end < body.length ? subarray(body, end + 1) : new Uint8Array();
  if (!("id" in message)) {
    heard(message, blob);
    return;
  }
  const waiting = asked[message.id];
  delete asked[message.id];
  if (waiting) {
    open--;
    waiting(message, blob);
    settled();
  }
}

/** A message as a frame. `how` is what `JSON.stringify` calls for each part. Throws: TypeError for what JSON cannot say. */
export function framed(message, blob, how) {
  const text = encode(sparing(whole(stringify(message, how))));
  const size = text.length + (blob ? 1 + blob.length : 0);
  const frame = new Uint8Array(HEADER_BYTES + size);
  for (let at = 0; at < HEADER_BYTES; at++) frame[at] = (size >>> (24 - 8 * at)) & 255;
  set(frame, text, HEADER_BYTES);
  if (blob) {
    frame[HEADER_BYTES + text.length] = NEWLINE;
    set(frame, blob, HEADER_BYTES + text.length + 1);
  }
  return frame;
}

/** Sends a frame. */
export function sendFrame(frame) {
  writeAll(write, frame);
}

/** Sends a message. Throws: TypeError for values that JSON cannot express; RangeError if it is too large. */
export function send(message, blob) {
  const seen = untold();
  let frame;
  try {
    frame = framed(seen.length ? { seen, ...message } : message, blob, outgoing.argument);
    if (frame.length > limits.most) { // for which the host would end the sandbox
      throw new RangeError(`${frame.length} bytes are more than can be sent at once (${limits.most}): send less`);
    }
  } catch (error) {
    notTold(seen);
    throw error;
  }
  sendFrame(frame);
}

/** A text without halves of characters, which the host would not read: `JSON.stringify` escapes these alone. */
function whole(json) {
  return test(HALF, json) ? replace(json, HALVES, "$1\\ufffd") : json;
}

/** Escapes commas and brackets in texts where they are very many: the host counts them to bound the number of values. */
function sparing(json) {
  let parts = 0;
  for (let at = 0; at < json.length && parts < MANY_PARTS; at++) {
    const one = json[at];
    if (one === "," || one === "[" || one === "{") parts++;
  }
  if (parts < MANY_PARTS) return json;
  return replace(json, /"[^"\\]*(?:\\.[^"\\]*)*"/g, (text) => replace(text, /[,[{]/g, (one) => ESCAPES[one]));
}

function writeAll(to, bytes) {
  for (let at = 0; at < bytes.length;) at += to(subarray(bytes, at));
}

/** Asks the host. The promise has what `made` makes of the answer, of its bytes, and of the place of the call. */
export function ask(question, made) {
  const id = ++last;
  const trace = {};
  captureStackTrace(trace);
  return new Later((resolve, reject) => {
    send({ id, ...question });
    open++;
    asked[id] = (answer, blob) => {
      try {
        resolve(made(answer, blob, trace));
      } catch (error) {
        reject(error);
      }
    };
  });
}

/** Waits until all questions are answered, also those whose answers nobody awaits. */
export async function allAnswered() {
  while (open > 0) {
    await new Later((resolve) => {
      settled = resolve;
    });
  }
  settled = () => {};
}

/** Prints a text. */
export function print(text) {
  writeAll(shown, encode(text));
}
