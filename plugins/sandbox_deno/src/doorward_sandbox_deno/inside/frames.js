// The frames of errors in the program's own text.

import { exec, slice, weakMap } from "./own.js";

const PROGRAM = /^program(?:-\d+)?\.[jt]s$/;

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

/** What the host is told of whatever a program threw. `line` is where the engine says that it is, if there are no frames. */
export function failure(error, line) {
  const isError = error instanceof Error;
  let type = "Error", message = "the error has no message that can be shown", found = [];
  try {
    type = isError ? String(error.name || error.constructor.name) : typeof error === "object" ? "Error" : typeof error;
    message = isError ? String(error.message) : String(error);
    found = isError ? framesOf(error) : [];
  } catch { // a hostile error keeps what was found
  }
  const told = slice(found, 0, 20).reverse();
  return {
    type: type.slice(0, 200),
    message: message.slice(0, 8000),
    line: found.length ? found[0].line : line,
    frames: told,
  };
}
