"""Attacks in JavaScript on the runner, the channel, the limits, and the next client."""

from ..attack import Script, contained, dead, either, failed, full, late, nothing, nothing_or_dead, ran, stopped, valued

_any_end = either(ran, failed(), dead, late, full)
_DENIED = "a call that policy denies is refused"

ATTACKS = [
    # The deadline
    Script("a loop", "for (;;);", late, timeout=0.4),
    Script("a promise that never ends", "await new Promise(() => {});", late, timeout=0.4),
    Script("microtasks without end", "const f = () => Promise.resolve().then(f); await f();", either(late, full), timeout=0.4),
    Script("timers without end", "setInterval(() => {}, 0); await new Promise(() => {});", late, timeout=0.4),
    Script("a blocked thread", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);", late, timeout=0.4),
    Script("a regular expression that never ends", "/^(a+)+$/.test('a'.repeat(60) + 'b');", late, timeout=0.4),
    Script("a number that never ends", "9n ** (9n ** 9n) ** 9n;", either(late, full, failed()), timeout=0.4),
    Script("every error is swallowed", "for (;;) try { for (;;) null.x; } catch { continue; }", late, timeout=0.4),
    Script("signals are listened to", "for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) try { Deno.addSignalListener(s, () => {}); } catch {}\nfor (;;);", late, timeout=0.4),
    Script("web assembly that never ends", """
const code = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 9, 1, 7, 0, 3, 64, 12, 0, 11, 11]);
(await WebAssembly.instantiate(code)).instance.exports.f();""", late, timeout=0.4),
    Script("a value that never ends", "globalThis.result = { get a() { for (;;); } };", late, timeout=0.4),
    Script("a value that is never there", "globalThis.result = { then() {} };", late, timeout=0.4),
    Script("an error that never ends", "throw { get message() { for (;;); }, [Symbol.for('nodejs.util.inspect.custom')]() { for (;;); } };", either(late, failed()), timeout=0.4),
    Script("a call that takes long", 'import { slow } from "vault";\nawait slow();', late, timeout=0.4),
    # Limits
    Script("memory", "const a = []; for (;;) a.push(new Array(1e5).fill(Math.random()));", full),
    Script("buffers", "const a = []; for (;;) a.push(new Uint8Array(4 << 20).fill(1));", full),
    Script("shared memory", "const a = []; for (;;) a.push(new Uint8Array(new SharedArrayBuffer(4 << 20)).fill(1));", full),
    Script("memory of web assembly", "const a = []; for (;;) { const m = new WebAssembly.Memory({ initial: 1000 }); new Uint8Array(m.buffer).fill(1); a.push(m); }", either(full, failed())),
    Script("text", "const a = []; for (;;) a.push(new TextDecoder().decode(new Uint8Array(4e6).fill(97)));", full),
    Script("promises", "for (let p = Promise.resolve();;) { const held = new Array(1000).fill(1); p = p.then(() => held); }", full),
    Script("threads", "const { Worker } = await node('worker_threads'); for (;;) new Worker('for (;;);', { eval: true });", either(full, dead, late, failed()), timeout=1),
    Script("a recursion", "const f = () => f() + 1; f();", failed("RangeError")),
    Script("a recursion of texts", "JSON.parse('['.repeat(1e6));", failed()),
    Script("calls without end", 'import { read } from "vault";\nfor (;;) await read().catch(() => {});', stopped("calls", " s"), timeout=20),
    Script("calls that nobody awaits", 'import { read } from "vault";\nfor (;;) read().catch(() => {});', either(stopped("calls", " s", "memory", "unread"), dead), timeout=20),
    Script("a large call", 'import { read } from "vault";\nawait read({ x: "x".repeat(2e7) });', either(failed(), dead)),
    Script("a call of many parts", 'import { read } from "vault";\nawait read({ x: new Array(2e6).fill(1) });', either(failed(), dead, stopped("parts"))),
    Script("a flood of prints", "for (;;) console.log('x'.repeat(1e5));", either(stopped("printed", " s"), dead), timeout=20),
    Script("a flood past the console", "for (;;) Deno.stderr.writeSync(new Uint8Array(1e6));", either(stopped("printed", " s"), dead), timeout=20),
    # The channel
    Script("garbage", "for (let n = 0; n < 20; n++) await send(crypto.getRandomValues(new Uint8Array(1000)));", contained, timeout=2),
    Script("text that is no frame", "await send(new TextEncoder().encode('{\"done\": {\"value\": 1}}\\n'));\nawait new Promise(() => {});", contained, timeout=2),
    Script("a giant length", "await send(new Uint8Array([255, 255, 255, 255]));\nawait new Promise(() => {});", dead, timeout=5),
    Script("half a frame", "await send(new Uint8Array([0, 0, 4, 0, 123]));\nawait new Promise(() => {});", either(late, dead), timeout=0.4),
    Script("a forged end", "await send(frame({ done: { value: 'forged' } }));", ran),
    Script("many ends", "for (let n = 0; n < 1000; n++) await send(frame({ done: { value: n } }));", contained),
    Script("an end in odd lines", "await send(frame({ done: { error: { type: 5, message: [], line: -1, frames: [{ line: 1e99, function: {} }] } } }));\nawait new Promise(() => {});", contained, timeout=5),
    Script("a call that policy denies", 'import * as vault from "vault";\nawait attempt("forbidden", () => vault.forbidden());\nimport { call } from "doorward";\nawait attempt("by its name", () => call("vault.forbidden"));'),
    Script("a call that policy denies, by frames", "await send(frame({ id: 9e6, call: 'vault.forbidden', args: [], kwargs: {} }));\nawait new Promise((d) => setTimeout(d, 300));", contained),
    Script("odd names of functions", """
for (const call of ["", ".", "vault", "vault.", "__proto__.x", "vault.constructor", "doorward.__class__", "vault.read.x", "a".repeat(1e5), 5, null]) {
  await send(frame({ id: 8e6, call, args: [], kwargs: {} }));
}
await new Promise((d) => setTimeout(d, 300));""", contained),
    Script("questions for others' results", "await send(frame({ id: 7e6, file: 'doorward://results/../../etc/passwd' }));\nawait new Promise((d) => setTimeout(d, 200));", contained),
    Script("artefacts without end", "for (let n = 0; n < 5000; n++) await send(frame({ artefact: 'x' + n }, new Uint8Array(10)));", contained),
    Script("names of files that lead away", "for (const name of ['../../x', '/etc/x', 'x'.repeat(1e5), '\\0', '.']) await send(frame({ artefact: name }, [1]));", contained),
    Script("answers are stolen", "const fs = await node('fs');\nconst data = new Uint8Array(10);\nimport { read } from 'vault';\nconst asked = read();\ntry { fs.readSync(0, data); } catch {}\nawait soon(asked, 1000).catch(() => {});", contained, timeout=1),
    Script("the channel is closed", "const fs = await node('fs');\nfor (const n of [0, 1, 2]) try { fs.closeSync(n); } catch {}", either(_any_end), timeout=5),
    # The runner, and values
    Script("prototypes of objects", "for (const name of ['toJSON', 'then', 'id', 'error', 'result', 'call', 'get', 'value', 'enumerable']) Object.prototype[name] = () => 'x';\nthrow 1;", _any_end, timeout=3),
    Script("prototypes of everything", "for (const of of [Array, String, Map, Set, Promise, Uint8Array, Error, RegExp, Function]) for (const name of Object.getOwnPropertyNames(of.prototype)) try { of.prototype[name] = () => { throw 1; }; } catch {}", _any_end, timeout=3),
    Script("functions of the language", "JSON.stringify = () => '{\"done\":{}}'; JSON.parse = () => ({ run: 1 }); globalThis.Promise = class {}; globalThis.Error = 1; Object.keys = null; TextEncoder.prototype.encode = () => new Uint8Array();", _any_end, timeout=3),
    Script("the runner's own name", "__doorward__.import = 1; try { __doorward__.bound.length = 1e9; } catch {}\nawait attempt('import', () => { throw 0; });", _any_end, timeout=3),
    Script("stacks", "Error.prepareStackTrace = (error, sites) => { for (const site of sites) { const f = site.getFunction?.(); if (f) reached.push(String(f)); const t = site.getThis?.(); if (t && t !== globalThis) reached.push('this'); } return 'x'; };\nvoid new Error().stack;", nothing),
    Script("callers", "const f = function () { return f.caller; };\nif (f()?.toString?.().includes('evaluate')) reached.push('caller');"),
    Script("events of the runner", "globalThis.addEventListener('unhandledrejection', (e) => { e.stopImmediatePropagation(); });\nfor (const type of ['error', 'unhandledrejection']) dispatchEvent(new Event(type));", _any_end, timeout=3),
    Script("it leaves", "Deno.exit(7);", failed("Exit")),
    Script("it leaves by Node", "(await node('process')).reallyExit?.(0); (await node('process')).abort?.();", either(dead, failed(), ran)),
    Script("it kills itself", "Deno.kill(Deno.pid, 'SIGKILL'); for (;;);", either(dead, late), timeout=2),
    Script("a cycle", "const a = {}; a.a = a; globalThis.result = a;", failed("TypeError")),
    Script("deep nesting", "let a = []; for (let n = 0; n < 1e5; n++) a = [a]; globalThis.result = a;", _any_end),
    Script("a giant text", "globalThis.result = 'x'.repeat(20 << 20);", either(full, stopped("bytes"))),
    Script("a giant list", "globalThis.result = new Array(2e6).fill(0);", either(full, stopped("parts", "bytes"), dead)),
    Script("one list many times", "let a = new Array(100).fill('x'); for (let n = 0; n < 6; n++) a = new Array(100).fill(a); globalThis.result = a;", either(full, failed(), stopped("parts", "bytes"), late), timeout=1),
    Script("half characters", "globalThis.result = ['\\ud800', { '\\udfff': '\\0' }];", ran),
    Script("the key that stands for bytes", "globalThis.result = { '\\0bytes': 'x'.repeat(99), y: { '\\0bytes': 'AA==' } };", ran),
    Script("numbers that JSON does not know", "globalThis.result = [NaN, -Infinity, 1e308 * 10, -0, 10n ** 400n];", _any_end),
    Script("an object that lies", "globalThis.result = new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, getPrototypeOf() { throw 3; } });", failed()),
    Script("an error that lies", "class E extends Error { get message() { throw 1; } get name() { throw 2; } get stack() { throw 3; } }\nthrow new E();", failed()),
    Script("an error of giant text", "throw new Error('x'.repeat(2e7));", failed()),
    Script("keys of results", "globalThis.result = { artefact: 'doorward://results/x', ok: true, error: null, value: 1 };", ran),
    # The next client
    Script("names and objects", "globalThis.dw = 1; Array.prototype.dw = 1; Deno.dw = 1; const dwConst = 1;",
           contained, then="for (const it of [globalThis.dw, [].dw, Deno.dw, typeof dwConst === 'undefined' ? undefined : 1]) if (it) reached.push(it);"),
    Script("storage", "for (const it of ['localStorage', 'sessionStorage']) try { globalThis[it].setItem('dw', 'x'); } catch {}\ntry { const c = await caches.open('dw'); await c.put('http://dw/', new Response('x')); } catch {}\ntry { const kv = await Deno.openKv(':memory:'); await kv.set(['dw'], 1); } catch {}",
           contained, then="for (const it of ['localStorage', 'sessionStorage']) try { if (globalThis[it].getItem('dw')) reached.push(it); } catch {}\ntry { if (await caches.has('dw')) reached.push('caches'); } catch {}"),
    Script("files of scratch", "for (const path of ['/tmp/dw', '/work/dw', '/dev/shm/dw']) try { Deno.writeTextFileSync(path, 'x'); } catch {}",
           contained, then="for (const path of ['/tmp/dw', '/work/dw', '/dev/shm/dw']) try { Deno.statSync(path); reached.push(path); } catch {}"),
    Script("timers at the end", "setInterval(() => console.log('still there'), 1);", contained),
    Script("channels between programs", "const c = new BroadcastChannel('dw'); setInterval(() => c.postMessage('x'), 1); await new Promise((d) => setTimeout(d, 50));",
           contained, then="await attempt('a broadcast', () => soon(new Promise((done) => { new BroadcastChannel('dw').onmessage = done; }), 300));"),
    Script("a value that is only data", "globalThis.result = ['<script>', '${1}', '__import__(\"os\")'];", valued(["<script>", "${1}", '__import__("os")'])),
    Script("secrets in memory", "const secret = 'dw-secret'; globalThis.kept = secret.repeat(1000);", nothing_or_dead),
]  # fmt: skip
