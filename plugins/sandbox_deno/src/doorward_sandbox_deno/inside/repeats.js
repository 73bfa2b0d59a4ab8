// What a program sees of time and chance. Random numbers are made from the seed of its run; what it reads from its clocks is
// kept and told to the host. So it sees the same if it is run again.

import process from "node:process";
import { construct, defineProperty, hexadecimal, imul, set, substring } from "./own.js";

const MOST = 10_001; // times of one run are told; the host wants 10,000
const SHARE = 2 ** -53;

const RealDate = Date;
const { now: day } = Date;
const steady = performance.now.bind(performance);
const chance = Math.random;
const filled = crypto.getRandomValues.bind(crypto);
const uuid = crypto.randomUUID.bind(crypto);
const builtin = process.getBuiltinModule.bind(process);

let given = [], next = 0, read = [], room = 0, ahead = 0;
let seed = "", drawn = 0;
const words = new Uint32Array(4);

/** Begins a run, which reads these times first. The first one of a sandbox also gets its seed; without, numbers are the system's. */
export function begin(times, newSeed) {
  given = times;
  next = 0;
  read = [];
  room = MOST - times.length;
  if (newSeed === undefined) return;
  seed = newSeed;
  drawn = 0;
  for (let at = 0; at < 4; at++) words[at] = hexadecimal(substring(seed, 8 * at, 8 * at + 8));
}

/** The times that were read since the last time, to be told now. */
export function untold() {
  const told = read;
  read = [];
  return told;
}

/** Tells them another time: they could not be told. */
export function notTold(times) {
  for (const one of read) times[times.length] = one;
  read = times;
}

function kept(now) {
  if (room-- > 0) read[read.length] = now;
  return now;
}

function time() {
  return next < given.length ? given[next++] : kept(day());
}

/** A steady clock goes on from the last time that was given, and never back. */
function ticks() {
  if (next >= given.length) return kept(steady() + ahead);
  ahead = given[next] - steady();
  return given[next++];
}

/** xoshiro128**, twice for 53 bits. Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators". */
function random() {
  return seed ? ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) * SHARE : chance();
}

function word() {
  const scrambled = imul(turned(imul(words[1], 5), 7), 9);
  const shifted = words[1] << 9;
  words[2] ^= words[0];
  words[3] ^= words[1];
  words[1] ^= words[2];
  words[0] ^= words[3];
  words[2] ^= shifted;
  words[3] = turned(words[3], 11);
  return scrambled;
}

function turned(bits, by) {
  return (bits << by) | (bits >>> (32 - by));
}

/** Bytes that nobody can tell from random ones who does not know the seed. */
function bytes(size) {
  drawn++;
  const hash = builtin("node:crypto").createHash("shake256", { outputLength: size });
  return hash.update(`${seed} ${drawn}`).digest();
}

function getRandomValues(array) {
  filled(array); // it also says what is wrong with an array
  if (seed) set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), bytes(array.byteLength));
  return array;
}

function randomUUID() {
  if (!seed) return uuid();
  const part = bytes(16);
  part[6] = (part[6] & 15) | 64;
  part[8] = (part[8] & 63) | 128;
  let found = "";
  for (let at = 0; at < 16; at++) {
    if (at === 4 || at === 6 || at === 8 || at === 10) found += "-";
    found += (part[at] < 16 ? "0" : "") + part[at].toString(16);
  }
  return found;
}

function Dated(...parts) {
  if (!new.target) return new RealDate(time()).toString();
  return construct(RealDate, parts.length ? parts : [time()], new.target);
}

/** Temporal, where the engine has it. */
function temporal({ Instant, Now }) {
  const instant = () => Instant.fromEpochMilliseconds(time());
  const zoned = (zone = Now.timeZoneId()) => instant().toZonedDateTimeISO(zone);
  replace(Now, {
    instant,
    zonedDateTimeISO: zoned,
    plainDateTimeISO: (zone) => zoned(zone).toPlainDateTime(),
    plainDateISO: (zone) => zoned(zone).toPlainDate(),
    plainTimeISO: (zone) => zoned(zone).toPlainTime(),
  });
}

function replace(place, functions) {
  for (const name in functions) {
    defineProperty(place, name, { value: functions[name], writable: true, configurable: true });
  }
}

/** Takes the places of the engine's own. */
export function install() {
  defineProperty(Dated, "name", { value: "Date" });
  defineProperty(Dated, "length", { value: 7 });
  defineProperty(Dated, "prototype", { value: RealDate.prototype, writable: false });
  replace(Dated, { now: time, parse: RealDate.parse, UTC: RealDate.UTC });
  replace(RealDate.prototype, { constructor: Dated });
  replace(globalThis, { Date: Dated });
  replace(Math, { random });
  replace(Performance.prototype, { now: ticks });
  replace(Crypto.prototype, { getRandomValues, randomUUID });
  if (globalThis.Temporal) temporal(globalThis.Temporal);
}
