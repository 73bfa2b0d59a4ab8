// The frames of errors in the program's own text.

import { exec, inspect, substring, text, weakMap } from "./own.js";

const PROGRAM = /^program(?:-\d+)?\.[jt]s$/;

const NO_MEMORY = "Array buffer allocation failed";
const MAX_FRAMES = 20;
const MAX_TYPE_CHARACTERS = 200;
const MAX_MESSAGE_CHARACTERS = 8000;

/** The frames of errors, the innermost first. */
export const frames = weakMap();

/** The line of the program for one of the text that runs, where that is another. */
export const lines = { of: (_name, line) => line };

/** Makes the text of stacks: of the program's own frames alone. */
function prepared(error, sites) {
  const found = [];
  let text = "";
  for (let at = 0; at < sites.length; at++) {
    const site = sites[at];
    const place = site.getScriptNameOrSourceURL();
    if (typeof place !== "string" || !exec(PROGRAM, place)) continue;
    const line = lines.of(place, site.getLineNumber(), site.getColumnNumber());
    const name = site.getFunctionName() || "<program>";
    found[found.length] = { line, function: name };
    text += `\n    at ${name} (${place}:${line}:${site.getColumnNumber()})`;
  }
  frames.set(error, found);
  return error.name ? `${error.name}: ${error.message}${text}` : text;
}

Error.prepareStackTrace = prepared;
Error.stackTraceLimit = 50;

/** The frames of an error or a trace: its stack is made when it is asked for. */
export function framesOf(error) {
  if (!frames.has(error)) void error.stack;
  return frames.get(error) ?? [];
}

/** What the host is told of whatever a program threw; `line` is where that is, if there are no frames. */
export function failure(error, line) {
  const told = { __proto__: null, type: "Error", message: "the error has no message that can be shown", line, frames: [] };
  try {
    if (error instanceof Error) {
      const name = error.name === "Error" ? error.constructor.name : error.name;
      told.type = error.message === NO_MEMORY ? "MemoryError" : cut(name || "Error", MAX_TYPE_CHARACTERS);
      told.message = cut(error.message, MAX_MESSAGE_CHARACTERS);
      const found = framesOf(error);
      for (let at = 0; at < found.length && at < MAX_FRAMES; at++) told.frames[at] = found[at];
      told.frames.reverse();
      if (found.length) told.line = found[0].line;
    } else {
      told.message = cut(typeof error === "object" ? inspect(error) : error, MAX_MESSAGE_CHARACTERS);
    }
  } catch { // a hostile error keeps what was found
  }
  return told;
}

function cut(said, most) {
  return substring(text(said), 0, most);
}
