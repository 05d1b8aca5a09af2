import { describe, expect, test } from "vitest";
import { mutantOf } from "./guards.ts";
import { locked, type Payload, plain, slow } from "./jobs.ts";
import {
  begins,
  copied,
  dies,
  ends,
  hears,
  interleave,
  makes,
  produces,
  reaches,
  receives,
  type Step,
  type Story,
  says,
  stops,
  sweeps,
  waits,
  works,
} from "./script.ts";

/*
 * Faults that other systems have had, each as two lists of steps. The flows are the real ones, stopped at a call;
 * the twin takes the one guard out that stands against the fault, and sees it happen.
 */

const job = (version = 1): Payload => ({ entity: "e", version, nature: "good" });
const long: Payload = { entity: "e", version: 1, nature: "long", seconds: 90 };

const broken = ({ violations }: Story) => [...new Set(violations.map(({ invariant }) => invariant))];
const states = ({ fleet }: Story) => fleet.store.rows().map(({ state }) => state);

describe("B10 an owner is killed and never says so", () => {
  const lists = (receivesFirst: Step): Record<string, readonly Step[]> => ({
    A: [
      ...produces(plain, job()),
      receivesFirst,
      makes("store.write claim"),
      says("A has claimed"),
      hears("B has looked"),
      dies,
      says("A is dead"),
    ],
    B: [hears("A has claimed"), copied, receives, ends, says("B has looked")],
    C: [hears("A is dead"), waits("7m"), receives, ends],
  });
  const withoutTime = begins((fleet) => fleet.invoke(fleet.receive(10), 0));

  test.each([
    ["with a minute left", receives, ["A", "C"]],
    ["with no time left at all (0 is a time)", withoutTime, ["C"]],
  ])(
    "B10 %s: its copy is busy until its lease ends, and then another has the job",
    async (_, receivesFirst, starts) => {
      const story = await interleave(lists(receivesFirst));
      expect(story.said("B")).toEqual(["busy"]);
      expect(story.starts).toEqual(starts);
      expect(states(story)).toEqual(["succeeded"]);
      expect(broken(story)).toEqual([]);
    },
  );

  test("twin: where nobody looks at the lease, the copy takes the job from a living owner", async () => {
    const story = await interleave(lists(receives), mutantOf("owner's lease"));
    expect(story.starts).toContain("B");
    expect(broken(story)).toContain("I2");
  });
});

describe("B18 look, then write", () => {
  // Both have received the message, and neither has written, when the first one writes.
  const lists: Record<string, readonly Step[]> = {
    A: [
      ...produces(plain, job()),
      receives,
      reaches("store.write claim"),
      says("A is about to claim"),
      hears("so is B"),
      makes("store.write claim"),
      says("A has claimed"),
      hears("B is done"),
      ends,
    ],
    B: [
      hears("A is about to claim"),
      copied,
      receives,
      reaches("store.write claim"),
      says("so is B"),
      hears("A has claimed"),
      ends,
      says("B is done"),
    ],
  };

  test("B18 of two that take one job within milliseconds one runs it", async () => {
    const story = await interleave(lists);
    expect(story.starts).toEqual(["A"]);
    expect(story.said("B")).toEqual(["busy"]);
    expect(broken(story)).toEqual([]);
  });

  test("twin: without the condition of the claim both run", async () => {
    const story = await interleave(lists, mutantOf("condition of the claim"));
    expect(story.starts).toEqual(["A", "B"]);
    expect(broken(story)).toContain("I2");
  });
});

describe("B22 a holder pauses past its lease and writes after another has taken over", () => {
  const lists: Record<string, readonly Step[]> = {
    A: [
      ...produces(locked, job(1)),
      receives,
      reaches("store.write succeed"),
      says("A has acted"),
      hears("B has written"),
      ends,
    ],
    B: [hears("A has acted"), ...produces(locked, job(2)), waits("75s"), receives, ends, says("B has written")],
  };
  const fences = ({ fleet }: Story) =>
    fleet.ledger.entries.flatMap((entry) =>
      entry.kind === "handler" && entry.what === "started" ? [entry.fence] : [],
    );

  test("B22 its fence is the lower one, and its write is refused", async () => {
    const story = await interleave(lists);
    const [first = 0, second = 0] = fences(story);
    expect(second).toBeGreaterThan(first);
    expect(story.said("A")).toEqual(["started", "lock-lost", "lease-lost"]);
    expect(story.said("B")).toContain("owner-broken");
    expect(states(story)).toEqual(["skipped", "succeeded"]);
    expect(broken(story)).toEqual([]);
  });

  test("twin: where the holder's row is not broken first, its late success stands", async () => {
    const story = await interleave(lists, mutantOf("break of the holder"));
    expect(states(story)).toEqual(["succeeded", "succeeded"]);
    expect(broken(story)).toContain("I5");
  });

  // The row is running all the while: its state alone would let the first one's write through.
  const sameJob: Record<string, readonly Step[]> = {
    A: [
      ...produces(plain, job()),
      receives,
      reaches("store.write succeed"),
      says("A has acted"),
      hears("B has the job"),
      ends,
      says("A is done"),
    ],
    B: [
      hears("A has acted"),
      waits("7m"),
      receives,
      reaches("provider good"),
      says("B has the job"),
      hears("A is done"),
      ends,
    ],
  };

  test("B22 of one job the former owner ends nothing while the new one is at work", async () => {
    const story = await interleave(sameJob);
    expect(story.starts).toEqual(["A", "B"]);
    expect(story.said("A")).toEqual(["started", "lease-lost"]);
    expect(story.said("B")).toContain("succeeded");
    expect(broken(story)).toEqual([]);
  });

  test("twin: without the token in a settle the former owner's success stands", async () => {
    const story = await interleave(sameJob, mutantOf("token on settle"));
    expect(story.said("A")).toContain("succeeded");
    expect(broken(story)).toContain("I2");
  });
});

describe("B25 a process that is too busy for its heartbeat", () => {
  const other: readonly Step[] = [
    hears("A is busy"),
    waits("3m"),
    works,
    reaches("provider long"),
    says("B has the job"),
    hears("A is done"),
    stops,
    ends,
  ];
  const busy = (call: string): Record<string, readonly Step[]> => ({
    A: [
      ...produces(slow, long),
      works,
      reaches(call),
      says("A is busy"),
      hears("B has the job"),
      stops,
      ends,
      says("A is done"),
    ],
    B: other,
  });

  test("B25 the first to finish does not end the job of the second", async () => {
    const story = await interleave(busy("store.write succeed"));
    expect(story.starts).toEqual(["A", "B"]);
    expect(story.said("A")).toContain("lease-lost");
    expect(story.said("A")).not.toContain("succeeded");
    expect(story.said("B")).toContain("succeeded");
    expect(broken(story)).toEqual([]);
  });

  test("twin: without the token in a settle it does", async () => {
    const story = await interleave(busy("store.write succeed"), mutantOf("token on settle"));
    expect(broken(story)).toContain("I2");
  });

  test("B25 a beat that comes late does not bring the lease back", async () => {
    const story = await interleave(busy("store.write extend"));
    expect(story.said("A")).toContain("lease-lost");
    expect(story.said("B")).toContain("succeeded");
    expect(broken(story)).toEqual([]);
  });

  test("twin: without the token in an extension it does", async () => {
    const story = await interleave(busy("store.write extend"), mutantOf("token on extend"));
    expect(broken(story)).toContain("I2");
  });
});

describe("B26 freshness is looked at early and the old version applied late", () => {
  // 9 and 10, which text would put the other way round.
  const lists: Record<string, readonly Step[]> = {
    A: [
      ...produces(locked, job(9)),
      receives,
      reaches("locks.acquire"),
      says("A is about to start version 9"),
      hears("version 10 is applied"),
      ends,
    ],
    B: [
      hears("A is about to start version 9"),
      ...produces(locked, job(10)),
      receives,
      ends,
      says("version 10 is applied"),
    ],
  };

  test("B26 the version is asked in the very write that takes the lock: the old one is skipped", async () => {
    const story = await interleave(lists);
    expect(story.starts).toEqual(["B"]);
    expect(story.said("A")).toEqual(["skipped"]);
    expect(states(story)).toEqual(["skipped", "succeeded"]);
    expect(broken(story)).toEqual([]);
  });

  test("twin: without that question the older version follows the newer one", async () => {
    const story = await interleave(lists, mutantOf("version test"));
    expect(story.starts).toEqual(["B", "A"]);
    expect(broken(story)).toEqual(["I6"]);
  });
});

describe("B47 stale is judged by age alone", () => {
  // The job was sent more than fifteen minutes ago and began a minute ago.
  const lists: Record<string, readonly Step[]> = {
    A: [
      ...produces(slow, long),
      waits("870s"),
      works,
      makes("store.write claim"),
      says("A has begun"),
      makes("store.write extend"),
      makes("store.write extend"),
      makes("store.write extend"),
      says("A is a minute in"),
      hears("the sweep has run"),
      makes("store.write succeed"),
      stops,
      ends,
    ],
    S: [hears("A is a minute in"), sweeps, ends, says("the sweep has run")],
  };
  const sends = ({ fleet }: Story) =>
    fleet.ledger.entries.filter(
      (entry) => entry.kind === "written" && entry.edge === "touch" && entry.before?.wait !== entry.after.wait,
    ).length;

  test("B47 a job with a live lease is left alone, however old it is", async () => {
    const story = await interleave(lists);
    expect(sends(story)).toBe(0);
    expect(story.starts).toEqual(["A"]);
    expect(broken(story)).toEqual([]);
  });

  test("twin: whoever overlooks the lease sends it again", async () => {
    const story = await interleave(lists, mutantOf("owner's lease"));
    expect(sends(story)).toBeGreaterThan(0);
    expect(broken(story)).toContain("I10");
  });
});

describe("B49 the index lags behind the rows", () => {
  const waiting = [...produces(plain, job()), waits("16m")];
  const messages = ({ fleet }: Story) => fleet.ledger.entries.filter((entry) => entry.kind === "acknowledged").length;

  test("B49 what has ended since the index named it is not sent", async () => {
    const story = await interleave({
      S: [...waiting, sweeps, reaches("store.read"), says("the index has named it"), hears("A is done"), ends],
      A: [hears("the index has named it"), receives, ends, says("A is done")],
    });
    expect(story.starts).toEqual(["A"]);
    expect(messages(story)).toBe(1);
    expect(broken(story)).toEqual([]);
  });

  // Two sweeps at once: what one has just sent, and a consumer just received, is still in the other's page.
  const twoSweeps: Record<string, readonly Step[]> = {
    S: [...waiting, sweeps, reaches("store.read"), says("the index has named it"), hears("A has received it"), ends],
    T: [hears("the index has named it"), sweeps, ends, says("T has sent it")],
    A: [hears("T has sent it"), receives, reaches("store.write claim"), says("A has received it"), waits("30s"), ends],
  };

  test("B49 the row itself says that nobody need look any more", async () => {
    const story = await interleave(twoSweeps);
    expect(messages(story)).toBe(2);
    expect(broken(story)).toEqual([]);
  });

  test("twin: where the row is not asked, it is sent once more", async () => {
    const story = await interleave(twoSweeps, mutantOf("base-row due check"));
    expect(messages(story)).toBe(3);
    expect(broken(story)).toContain("I10");
  });

  const readEarly: Record<string, readonly Step[]> = {
    S: [...waiting, sweeps, reaches("store.write touch"), says("S has decided"), hears("A is done"), ends],
    A: [hears("S has decided"), receives, ends, says("A is done")],
  };

  test("B49 what ends between the look and the write is not sent", async () => {
    const story = await interleave(readEarly);
    expect(story.starts).toEqual(["A"]);
    expect(messages(story)).toBe(1);
    expect(broken(story)).toEqual([]);
  });

  test("twin: without the condition of the touch it is sent, and has succeeded", async () => {
    const story = await interleave(readEarly, mutantOf("touch condition"));
    expect(messages(story)).toBeGreaterThan(1);
    expect(broken(story)).toContain("I10");
  });
});
