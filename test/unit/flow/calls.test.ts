import { expect, test } from "vitest";
import { createCalls } from "../../../src/flow/calls.ts";

const late = () => new Error("late");
const failing = () => Promise.reject(new Error("no"));
const unheard: readonly (readonly [string, (call: Promise<unknown>) => unknown])[] = [
  ["nobody listens", () => undefined],
  ["it is only kept", (call) => [call]],
];
const heard: readonly (readonly [string, (call: Promise<unknown>) => unknown])[] = [
  ["await", async (call) => await call],
  ["then", (call) => call.then(() => {})],
  ["catch", (call) => call.catch(() => {})],
  ["finally", (call) => call.finally(() => {})],
  ["Promise.all", (call) => Promise.all([call])],
  ["Promise.race", (call) => Promise.race([call])],
  ["Promise.allSettled", (call) => Promise.allSettled([call])],
  ["an async return", async (call) => call],
];

test.each(unheard)("a failure is unheard where %s, and ends no process", async (_, use) => {
  const calls = createCalls(late);
  use(calls.follow(failing));
  expect(await calls.close()).toEqual([new Error("no")]);
});

test.each(heard)("a failure is heard by %s", async (_, use) => {
  const calls = createCalls(late);
  await Promise.resolve(use(calls.follow(failing))).catch(() => {});
  expect(await calls.close()).toEqual([]);
});

test("a success is answered as it is, heard or not", async () => {
  const calls = createCalls(late);
  expect(await calls.follow(async () => 7)).toBe(7);
  void calls.follow(async () => 8);
  expect(await calls.close()).toEqual([]);
});

test("what is asked for by the end of another is waited for as well", async () => {
  const calls = createCalls(late);
  const ended: number[] = [];
  const work = async (n: number) => {
    for (let turn = 0; turn < 5; turn++) await undefined;
    ended.push(n);
  };
  void calls.follow(() => work(1)).then(() => calls.follow(() => work(2)).then(() => void calls.follow(() => work(3))));
  await calls.close();
  expect(ended).toEqual([1, 2, 3]);
});

test("after the end nothing is begun: the caller is refused, and the refusal ends no process", async () => {
  const told: Error[] = [];
  const calls = createCalls(() => {
    told.push(late());
    return late();
  });
  await calls.close();
  let begun = 0;
  const work = async () => ++begun;
  void calls.follow(work);
  await expect(calls.follow(work)).rejects.toThrow("late");
  expect({ begun, told: told.length }).toEqual({ begun: 0, told: 2 });
});
