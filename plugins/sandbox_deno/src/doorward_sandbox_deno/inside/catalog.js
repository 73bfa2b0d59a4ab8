// What a program imports: servers as modules, whose functions are made when they are named, and `doorward`.

import { ask } from "./channel.js";
import { create, defineProperty, includes, keys, slice } from "./own.js";
import { frames, framesOf } from "./frames.js";
import { named } from "./values.js";

/** A call was refused or failed; the message says why, and `hint` what to do. */
export class DoorwardError extends Error {
  constructor(message, { hint = null } = {}) {
    super(message);
    this.hint = hint;
  }
}

/** An API answered with an error: its HTTP `status`, the decoded `body`, and the seconds to wait (`retry_after`). */
export class ApiError extends DoorwardError {
  constructor(message, { status = 0, body = null, retry_after = null, hint = null } = {}) {
    super(message, { hint });
    this.status = status;
    this.body = body;
    this.retry_after = retry_after;
  }
}

/** A tool of an MCP server says that it failed; the message is its text. */
export class ToolError extends DoorwardError {}

/** The arguments do not fit the function. */
export class InvalidArguments extends DoorwardError {}

const ERRORS = { __proto__: null, DoorwardError, ApiError, ToolError, InvalidArguments };
for (const name of keys(ERRORS)) {
  defineProperty(ERRORS[name].prototype, "name", { value: name, writable: true, configurable: true });
}

/** Names that a module does not have, or `await` and JSON would take it for something else. */
const NO_NAMES = { __proto__: null, then: 1, toJSON: 1, constructor: 1, prototype: 1, __esModule: 1 };

const modules = create(null);

/** The module of a server, or `doorward`. `members` are the names that it lists. */
export function module(server, members) {
  const made = modules[server] ??= server_(server);
  if (members) made.members = members;
  return made.proxy;
}

function server_(server) {
  const functions = create(null);
  const made = { members: [], proxy: null };
  if (server === "doorward") {
    for (const name of keys(ERRORS)) functions[name] = ERRORS[name];
    functions.server = async (name) => module(await call("doorward.server", [name]));
  }
  made.proxy = new Proxy(create(null), {
    get(_, name) {
      if (name === Symbol.toStringTag) return "Module";
      if (typeof name === "symbol" || name in NO_NAMES) return undefined;
      return name === "default" ? made.proxy : functions[name] ??= function_(server, name);
    },
    has: (_, name) => typeof name === "string" && includes(made.members, name),
    ownKeys: () => slice(made.members),
    getOwnPropertyDescriptor: (_, name) =>
      includes(made.members, name) ? { value: made.proxy[name], enumerable: true, configurable: true } : undefined,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
  });
  named.set(made.proxy, server);
  return made;
}

function function_(server, name) {
  const full = `${server}.${name}`;
  const made = { [name]: (...args) => call(full, args) }[name];
  named.set(made, full);
  return made;
}

/** Makes a call. The host finds the named arguments: an object in the last place. */
function call(name, args) {
  return ask({ __proto__: null, call: name, args, kwargs: {} }, answered);
}

/** The value of an answer, or its bytes. Throws: its error, as of the place of the call. */
export function answered(message, blob, trace) {
  if (!("error" in message)) return "value" in message ? message.value : blob;
  const { type, message: said, ...more } = message.error;
  const error = new (ERRORS[type] ?? DoorwardError)(said, more);
  const at = trace.stack; // which also tells its frames
  frames.set(error, framesOf(trace));
  defineProperty(error, "stack", { value: `${error.name}: ${said}${at}`, writable: true, configurable: true });
  throw error;
}
